"""Commands that are stopped at random moments: whole files or none, one line, and no time lost.

The moment that a seed draws meets another instruction each time: a finding may need some repeats.
"""

import json
import pathlib
import random
import signal
import time

import numpy as np
import tensorflow as tf
from corpora import killed
from corpora.test_kill import write_lines
from training.letters import CONFIG

from fuzz.case import expect, made_once
from keras_elmo import Elmo
from keras_elmo.corpora.manifest import MANIFEST

_TRAIN = (
    "train --train {0}/in.txt --vocab {0}/vocab.txt --options {0}/options.json -o {1}/run --resume "
    "--steps 40 --checkpoint-every 5 --batch-size 8 --unroll-steps 5 --num-negatives 4"
)
# An output, and the command that writes it. {0} is the folder of the inputs, {1} of the outputs.
_COMMANDS = {
    "out.hdf5": "embed {0}/in.txt -m {0}/model -o {1}/out.hdf5",
    "out.npz": "embed {0}/in.txt -m {0}/model -o {1}/out.npz",
    "vectors": "embed-corpus {0}/in.txt -m {0}/model -o {1}/vectors --shard-size 50",
    "run": _TRAIN,
    "saved/1": "export {0}/model {1}/saved",
    "out.tflite": "tflite {0}/model {1}/out.tflite",
    "out.txt": "vocabulary {0}/in.txt -o {1}/out.txt",
}
_RESUMED = ("vectors", "run")  # their command resumes; the others begin again
# The rows of a log hold the mean of the steps that a process took of an epoch.
_NOT_COMPARED = {MANIFEST, "log.csv"}


def run(seed, folder):
    rng = random.Random(seed)
    name = rng.choice(list(_COMMANDS))
    inputs = made_once(folder, "kills", _make)
    whole = made_once(
        folder, f"kills-{name.partition('/')[0]}", lambda new: _run(name, inputs, new)
    )
    expected = _contents(whole / name)
    seconds = float((whole / "seconds").read_text())
    for _ in range(rng.choice([1, 1, 2]) if name in _RESUMED else 1):
        process = _start(name, inputs, folder)
        killed.wait(process, rng.random() * seconds)
        numbers = [rng.choice([signal.SIGINT, signal.SIGTERM, signal.SIGKILL])]
        if rng.random() < 0.35 and numbers[0] != signal.SIGKILL:
            numbers.append(rng.choice([signal.SIGINT, signal.SIGTERM]))
        for number in numbers:
            process.send_signal(number)
            killed.wait(process, rng.choice([0, 0.02, 0.5]) * rng.random())
        status, err = killed.finish(process)
        where = f"{name}, {'+'.join(number.name for number in numbers)}"
        # -15: the system ended it, before or after the handlers of signals were there.
        allowed = {0, *numbers, *(128 + number for number in numbers)}
        expect(abs(status) in allowed, f"a status of {sorted(allowed)}, {where}", (status, err))
        # Ctrl-C while TensorFlow is imported is Python's own, with its traceback.
        is_pythons = signal.SIGINT in numbers and "Traceback" in err
        expect(is_pythons or len(err.splitlines()) <= 1, f"one line, {where}", err)
        if len(numbers) == 1 and status >= 0 and not is_pythons:
            expect(bool(err) == (status > 0), f"a line if it is stopped, {where}", (status, err))
            _expect_nothing_else(folder, name, where)
        contents = _contents(folder / name)
        if name == "vectors":
            _expect_same(contents, {key: expected.get(key) for key in contents}, where)
        elif name != "run" and (contents or status == 0):
            _expect_same(contents, expected, where)
    if name in _RESUMED or not _contents(folder / name):
        result = killed.finish(_start(name, inputs, folder))
        expect(result == (0, ""), f"{name} resumes, or begins again", result)
        _expect_nothing_else(folder, name, "a repeat")
    _expect_same(_contents(folder / name), expected, f"{name}, after a repeat")


def _make(folder):
    """The inputs of all commands."""
    write_lines(folder / "in.txt", 1200)
    words = sorted(set((folder / "in.txt").read_text("utf-8").split()))
    (folder / "vocab.txt").write_text("\n".join(["<S>", "</S>", "<UNK>", *words]) + "\n", "utf-8")
    (folder / "options.json").write_text(json.dumps(CONFIG.to_options()))
    Elmo(CONFIG, kernel_initializer="glorot_uniform").save_pretrained(folder / "model")


def _run(name, inputs, folder):
    """A run that is not stopped, and how long it took."""
    process = _start(name, inputs, folder)
    started = time.monotonic()
    result = killed.finish(process)
    expect(result == (0, ""), f"{name} ends well", result)
    (folder / "seconds").write_text(str(time.monotonic() - started))


def _start(name, inputs, folder):
    """A process that handles signals: while Python itself starts, it cannot."""
    process = killed.start([*_COMMANDS[name].format(inputs, folder).split(), "-q"])
    maps = pathlib.Path(f"/proc/{process.pid}/maps")
    killed.wait_for(process, lambda: "numpy" in maps.read_text())
    return process


def _contents(output):
    """What an output holds, by name; nothing where there is none."""
    if output.suffix == ".npz" and output.exists():  # whose bytes hold the time
        with np.load(output) as arrays:
            return {key: (arrays[key].shape, arrays[key].tobytes()) for key in arrays.files}
    files = [path for path in [output, *output.glob("*")] if path.is_file()]
    contents = {
        path.name: path.read_bytes()
        for path in files
        if not path.name.startswith(".part.") and path.name not in _NOT_COMPARED
    }
    if (output / "variables").exists():  # the graph, and the variables' order, are never the same
        contents = dict.fromkeys(contents)
        reader = tf.train.load_checkpoint(str(output / "variables" / "variables"))
        # The other entry, the graph of objects, names the variables in their order.
        names = [n for n in reader.get_variable_to_shape_map() if n.endswith("VARIABLE_VALUE")]
        tensors = map(reader.get_tensor, names)
        contents["variables"] = sorted(np.asarray(tensor).tobytes() for tensor in tensors)
    return contents


def _expect_nothing_else(folder, name, where):
    """No temporary files, and nothing but the output."""
    found = [path.name for path in folder.rglob(".part.*")]
    found += sorted({path.name for path in folder.iterdir()} - {name.split("/")[0]})
    expect(not found, f"no temporary file, {where}", found)


def _expect_same(contents, expected, where):
    names = sorted(key for key in {*contents, *expected} if contents.get(key) != expected.get(key))
    expect(not names, f"what a run that nobody stopped writes, {where}", f"other {names[:5]}")
