"""Commands that are stopped at random moments: whole files or none, one line, and no time lost.

The moment that a seed draws meets another instruction each time: a finding may need some repeats.
"""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

import keras
import numpy as np
import tensorflow as tf
from campaign.case import Finding, expect, made_once
from corpora.test_kill import write_lines

from keras_elmo import Elmo, ElmoConfig

_CONFIG = ElmoConfig(
    units=24, projection_dim=8, num_layers=1, character_dim=4, filters=[(1, 4), (2, 8)]
)
# A command, and its output. Where the files of a training or a folder of vectors are already there,
# the same command goes on; the others do what they are to do again.
_TRAIN = (
    "train --train in.txt --vocab ../vocab.txt --options ../options.json -o out --steps 40 -q "
    "--checkpoint-every 5 --batch-size 8 --unroll-steps 5 --num-negatives 4 --resume"
)
_COMMANDS = {
    "hdf5": ("embed in.txt -m ../model -o out.hdf5 -q", "out.hdf5"),
    "npz": ("embed in.txt -m ../model -o out.npz -q", "out.npz"),
    "parquet": ("embed-corpus in.txt -m ../model -o out --shard-size 50 -q", "out"),
    "train": (_TRAIN, "out"),
    "export": ("export ../model out -q", "out/1"),
    "tflite": ("tflite ../model out.tflite -q", "out.tflite"),
    "vocabulary": ("vocabulary in.txt -o out.txt -q", "out.txt"),
}
_GOES_ON = ("parquet", "train")
_LIMIT = 200  # seconds of a process


def run(seed, folder):
    rng = random.Random(seed)
    name = rng.choice(list(_COMMANDS))
    shared = made_once(folder, "kills", _make)
    whole = made_once(folder, f"kills-{name}", lambda new: _run_whole(new, shared, name))
    expected = _contents(name, whole / "work")
    seconds, seconds_of_work = json.loads((whole / "seconds").read_text())
    work = _prepare(folder, shared)
    load = []
    if rng.random() < 0.5:
        busy = [sys.executable, "-c", "while True: pass"]
        load = [subprocess.Popen(busy) for _ in range(2 * os.cpu_count())]
    try:
        for _ in range(rng.choice([1, 1, 2]) if name in _GOES_ON else 1):
            moment = rng.random() * seconds, rng.random() * seconds_of_work
            moment = (moment[0], None) if rng.random() < 0.3 else (None, moment[1])
            _stop_once(rng, name, work, moment, expected)
    finally:
        for process in load:
            process.kill()
            process.wait()
    if _contents(name, work) is None or name in _GOES_ON:
        status, err = _finish(_start(name, work))
        expect((status, err) == (0, ""), f"{name} goes on, or begins again", (status, err))
        _expect_no_rest(name, work, "a repeat")
    _expect_same(name, _contents(name, work), expected, "after a repeat")


def _make(folder):
    """The inputs of all commands."""
    write_lines(folder / "in.txt", 1200)
    words = sorted(set((folder / "in.txt").read_text("utf-8").split()))
    (folder / "vocab.txt").write_text("\n".join(["<S>", "</S>", "<UNK>", *words]) + "\n", "utf-8")
    (folder / "options.json").write_text(json.dumps(_CONFIG.to_options()))
    keras.utils.set_random_seed(1)
    Elmo(_CONFIG).save_pretrained(folder / "model")


def _prepare(folder, shared):
    shutil.copytree(shared, folder, dirs_exist_ok=True)
    work = folder / "work"
    work.mkdir()
    (folder / "in.txt").rename(work / "in.txt")
    return work


def _run_whole(folder, shared, name):
    """A run that nobody stops, and how long it took."""
    work = _prepare(folder, shared)
    started = begun = time.monotonic()
    process = _start(name, work)
    if _wait_until_begun(process, work):
        begun = time.monotonic()
    status, err = _finish(process)
    if (status, err) != (0, ""):
        raise Finding(f"expected: {name} ends well\nreceived: {status} {err}")
    ended = time.monotonic()
    (folder / "seconds").write_text(json.dumps([ended - started, ended - begun]))


def _start(name, work):
    command = pathlib.Path(sys.executable).with_name("keras-elmo")
    arguments = [command, *_COMMANDS[name][0].split()]
    environment = {**os.environ, "PYTHONFAULTHANDLER": "1"}
    environment.pop("TF_CPP_MIN_LOG_LEVEL", None)  # which keras_elmo sets in this process
    return subprocess.Popen(
        arguments,
        cwd=work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def _finish(process):
    try:
        err = process.communicate(timeout=_LIMIT)[1]
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)  # prints where it stands
        err = process.communicate()[1]
        raise Finding(f"expected: an end within {_LIMIT} s\nreceived: {err}") from None
    return process.returncode, err


def _wait_until_begun(process, work):
    """Waits until there is more than the input: whether this came before the end."""
    while process.poll() is None:
        if len(os.listdir(work)) > 1:
            return True
        time.sleep(0.002)
    return False


def _stop_once(rng, name, work, moment, expected):
    process = _start(name, work)
    if moment[0] is not None:
        _sleep(process, moment[0])
    else:
        _wait_until_begun(process, work)
        _sleep(process, moment[1])
    numbers = [rng.choice([signal.SIGINT, signal.SIGTERM, signal.SIGKILL])]
    if rng.random() < 0.35 and numbers[0] != signal.SIGKILL:
        numbers.append(rng.choice([signal.SIGINT, signal.SIGTERM]))
    is_early = not _imports_numpy(process)  # Python itself begins, and nobody can catch a signal
    allowed = {0}
    for k, number in enumerate(numbers):
        allowed.add(128 + number)
        if k or not _catches(process, number):  # the system ends it: a shell says the same
            allowed.add(-number)
        process.send_signal(number)
        _sleep(process, rng.choice([0, 0.02, 0.5]) * rng.random())
    status, err = _finish(process)
    names = "+".join(number.name for number in numbers)
    moment = f"at {moment[0]:.2f} s" if moment[1] is None else f"{moment[1]:.2f} s after its begin"
    where = f"{name}, {names} {moment}"
    if not is_early:
        expect(status in allowed, f"a status of {sorted(allowed)}, {where}", f"{status}\n{err}")
        lines = len(err.splitlines())
        few = lines == (status > 0) if len(numbers) == 1 else lines <= 1
        expect(few and "Traceback" not in err, f"one line, {where}", f"{status}\n{err}")
    if numbers in ([signal.SIGINT], [signal.SIGTERM]) and not is_early:
        _expect_no_rest(name, work, where)
    if name not in _GOES_ON:
        contents = _contents(name, work)
        expect(contents is not None or status != 0, f"an output with status 0, {where}", err)
        if contents is not None:
            _expect_same(name, contents, expected, where)
    elif name == "parquet":
        contents = _contents(name, work) or {}
        _expect_same(name, contents, {key: expected.get(key) for key in contents}, where)


def _sleep(process, seconds):
    """Waits some time, or until the process has ended."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        pass


def _imports_numpy(process):
    try:
        return "numpy" in pathlib.Path(f"/proc/{process.pid}/maps").read_text()
    except OSError:
        return False


def _catches(process, number):
    try:
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return False
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(caught >> (number - 1) & 1)


def _expect_no_rest(name, work, where):
    """No temporary files, and nothing but the input and the output."""
    rest = [str(path.relative_to(work)) for path in work.rglob("*.part")]
    rest += sorted({*os.listdir(work)} - {"in.txt", _COMMANDS[name][1].split("/")[0]})
    expect(not rest, f"no temporary file, {name}, {where}", rest)


def _contents(name, work):
    """What the output holds, by name; `None` where there is none."""
    output = work / _COMMANDS[name][1]
    if not output.exists():
        return None
    if name == "npz":  # whose bytes hold the time
        with np.load(output) as arrays:
            return {key: (arrays[key].shape, arrays[key].tobytes()) for key in arrays.files}
    if output.is_file():
        return {output.name: output.read_bytes()}
    files = {str(path.relative_to(output)): path for path in output.rglob("*") if path.is_file()}
    if name == "train":
        files = {key: path for key, path in files.items() if "/" not in key}
    chosen = {key: path.read_bytes() for key, path in files.items() if not key.endswith(".part")}
    chosen.pop("_manifest.json", None)
    if name == "export":  # the graph, and the order of the variables, differ from run to run
        chosen = dict.fromkeys(chosen)
        reader = tf.train.load_checkpoint(str(output / "variables" / "variables"))
        shapes = reader.get_variable_to_shape_map()
        tensors = [reader.get_tensor(key) for key in shapes if "OBJECT_GRAPH" not in key]
        chosen["variables"] = sorted(tensor.tobytes() for tensor in tensors)
    return chosen


def _expect_same(name, contents, expected, where):
    if contents == expected:
        return
    contents = contents or {}
    names = sorted(key for key in {*contents, *expected} if contents.get(key) != expected.get(key))
    sizes = [(key, *(len(c.get(key) or "") for c in (expected, contents))) for key in names[:5]]
    raise Finding(
        f"expected: what a run that nobody stopped writes, {name}, {where}\nreceived: other {sizes}"
    )
