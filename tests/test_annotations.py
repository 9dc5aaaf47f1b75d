"""The type hints of the public names, as mypy reads them in a user's program."""

import importlib.util
import os
import pathlib
import re

from scripts import run_python

IMPORTS = """\
from typing import Any

import numpy as np
from typing_extensions import assert_type
"""
START = """\
import keras_elmo

elmo = keras_elmo.Elmo.from_pretrained("tiny", tokenizer="treebank")
"""
PROGRAM = """\
assert_type(elmo.embed(np.array(["a"]), layers=["top", -1]), Any)
assert_type(next(elmo.embed_stream(open("a.txt"), 1)), Any)
vectors = elmo.embed(["The cat sat.", ["Hello", "world"]])
print(vectors[0].shape, elmo(np.array(["a"]))["elmo"], elmo.tokenize(["a"])[0][0].upper())
classifier = keras_elmo.TextClassifier(elmo, labels=["bad", "good"])
classifier.fit(["a good film", "a bad film"], ["good", "bad"], epochs=3)
layer = keras_elmo.ElmoEmbedding(elmo, output=[0, -1], dropout=0.5)
with keras_elmo.read_embeddings("vectors.hdf5") as sentences:
    print(len(sentences), sentences[0].shape, layer.elmo.config.output_dim)
"""
LITE = """\
from keras_elmo_lite import Elmo, Tagger, TextClassifier

elmo = Elmo("elmo.tflite")
assert_type(elmo.tokenize(np.array(["a"])), list[list[str]])
print(elmo.embed(["a"], layers=["top", -1])[0]["top"].shape, next(elmo.embed_stream(["a"], 1)))
print(TextClassifier("c.tflite").predict("a").shape, Tagger("t.tflite").entities(["a"])[0][0].start)
"""
# In each line a checker finds a fault.
WRONG = """\
keras_elmo.Elmo.from_pretrained(3)
keras_elmo.Elmoo
keras_elmo.ElmoEmbedding("tiny", dropout="0.5")
keras_elmo.ElmoEmbedding("tiny").elmo.embed(3)
keras_elmo.strings([1])
keras_elmo.TextClassifier("tiny").classify(3)
keras_elmo.Tagger("tiny", units="64")
elmo.embed(["a"], batch_size=32)
elmo.embed(["a"], layers=1.5)
elmo.trainable_part = True
keras_elmo.BiLanguageModel.from_pretrained("tiny", vocabulary=3)
keras_elmo.export_saved_model(elmo, "elmo", storage=16)
"""


def test_a_checker_finds_only_wrong_arguments_and_names(tmp_path, request):
    specs = map(importlib.util.find_spec, ("keras_elmo", "keras_elmo_lite"))
    folders = {spec.name: pathlib.Path(spec.origin).parents[1] for spec in specs if spec}
    assert all((folder / name / "py.typed").is_file() for name, folder in folders.items())
    programs = {"right": IMPORTS + START + PROGRAM, "wrong": START + WRONG}
    if "keras_elmo_lite" in folders:
        programs["lite"] = IMPORTS + LITE
    for name, program in programs.items():
        (tmp_path / f"{name}.py").write_text(program)
    # mypy finds what is installed by itself.
    paths = [str(path) for path in folders.values() if "site-packages" not in path.parts]
    cache = request.config.cache.mkdir("mypy")  # The types of NumPy take seconds to read.
    command = ["-m", "mypy", "--strict", "--follow-imports=silent", f"--cache-dir={cache}"]
    command += [f"{name}.py" for name in programs]
    environment = {"MYPYPATH": os.pathsep.join(paths)}
    result = run_python(*command, cwd=tmp_path, env=environment, timeout=300)
    found = {name: {} for name in programs}
    for name, line, message in re.findall(r"(?m)^(\w+)\.py:(\d+): (.*)$", result.stdout):
        found[name].setdefault(programs[name].splitlines()[int(line) - 1], message)
    assert list(found.pop("wrong")) == WRONG.splitlines(), result.stderr
    assert not any(found.values()), found
