import inspect
import subprocess
import sys

import keras
import pytest
import tensorflow as tf

from keras_elmo import Elmo, ElmoEmbedding, Tagger, export_saved_model
from keras_elmo_cli import export
from keras_elmo_cli.main import main


def test_it_writes_a_version(small_folder, tmp_path, capsys):
    folder = tmp_path / "new" / "elmo"
    options = ["--pooled-only", "--ops", "core", "--tokenizer", "space", "--max-batch-size", "8"]
    assert main(["export", str(small_folder), str(folder), *options]) == 0
    out, err = capsys.readouterr()
    assert out == "" and f"{folder}/1: " in err
    assert (folder / "1/batching_params.pbtxt").exists()
    run = tf.saved_model.load(folder / "1").signatures["default"]
    expected = Elmo.from_pretrained(small_folder)(["The dog barks"])["default"]
    assert abs(run(tf.constant(["The dog barks"]))["default"] - expected).numpy().max() < 1e-6
    assert main(["export", str(small_folder), str(folder)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("keras-elmo export: error: ")
    assert line.endswith(
        "1 exists already; export to another folder (TensorFlow Serving takes the "
        "highest number), or pass --overwrite"
    )


@pytest.mark.parametrize(
    "options, needs_text",
    [([], True), pytest.param(["--ops", "core"], False, marks=pytest.mark.slow)],
)
def test_it_says_what_a_program_must_import(small_folder, tmp_path, capsys, options, needs_text):
    """As a fresh process finds it."""
    folder = tmp_path / "elmo"
    options = [*options, "--pooled-only"]
    assert main(["export", str(small_folder), str(folder), *options]) == 0
    *_, line = capsys.readouterr().err.splitlines()
    assert line.startswith("Python loads it after `import tensorflow_text`; ") == needs_text
    assert (line == "Python loads it with TensorFlow alone") == (not needs_text)
    for module, is_enough in [("tensorflow", not needs_text), ("tensorflow_text", True)]:
        code = f"import {module}, sys, tensorflow; tensorflow.saved_model.load(sys.argv[1])"
        process = subprocess.run(
            [sys.executable, "-c", code, str(folder / "1")], capture_output=True, timeout=300
        )
        assert (process.returncode == 0) == is_enough, process.stderr


@pytest.mark.parametrize(
    "options, expected",
    [
        ([], {}),
        (
            ["--version-number", "2", "--storage", "float16", "--max-tokens", "9", "--overwrite"],
            {"storage": "float16", "max_tokens": 9, "overwrite": True},
        ),
        (["--matmul-dtype", "bfloat16"], {}),
        (["--warmup"], {"warmup_texts": export._WARMUP}),
    ],
)
def test_arguments_reach_the_exporter(tmp_path, capsys, monkeypatch, options, expected):
    calls, dtypes = [], []
    monkeypatch.setattr(export, "load_any_model", lambda x: dtypes.append(x.matmul_dtype))
    monkeypatch.setattr(
        "keras_elmo.export.export_saved_model", lambda *_, **kwargs: calls.append(kwargs)
    )
    assert main(["export", "model", str(tmp_path / "elmo"), "-q", *options]) == 0
    assert capsys.readouterr() == ("", "")
    parameters = inspect.signature(export_saved_model).parameters
    assert calls == [{**{name: parameters[name].default for name in calls[0]}, **expected}]
    assert dtypes == ["bfloat16" if "bfloat16" in options else None]


def test_a_keras_file_is_exported(one_layer_folder, tmp_path, monkeypatch):
    """(What `classify train` wrote is served in test_tag.py.)"""
    models = []
    monkeypatch.setattr(
        "keras_elmo.export.export_saved_model", lambda m, *_, **__: models.append(m)
    )
    elmo = Elmo.from_pretrained(one_layer_folder)
    inputs = keras.Input((), dtype="string")
    for name, model in {
        "elmo": elmo,
        "tagger": Tagger(elmo, ["O", "B-X"]),
        "keras model": keras.Model(inputs, ElmoEmbedding(str(one_layer_folder))(inputs)),
    }.items():
        models.clear()
        model.save(tmp_path / f"{name}.keras")
        assert main(["export", str(tmp_path / f"{name}.keras"), str(tmp_path / name), "-q"]) == 0
        assert [type(found) for found in models] == [type(model)]
