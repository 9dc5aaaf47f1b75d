import inspect
import os

import pytest
import tensorflow as tf

from keras_elmo import export_saved_model
from keras_elmo_cli import export


def test_it_writes_a_version(one_layer_folder, tmp_path, run):
    command = ["export", one_layer_folder, tmp_path / "new/elmo"]
    options = ["--pooled-only", "--ops", "core", "--tokenizer", "space", "--max-batch-size", "8"]
    status, out, err = run(*command, *options)
    size, need = err.splitlines()
    path = tmp_path / "new/elmo/1"
    assert (status, out) == (0, "") and size.startswith(f"{path}: ")
    assert need == "Python loads it with TensorFlow alone"
    assert (path / "batching_params.pbtxt").exists()
    outputs = tf.saved_model.load(path).signatures["default"](tf.constant(["a b\tc d"]))
    assert outputs["sequence_len"].numpy().tolist() == [3] and outputs["default"].shape == (1, 16)
    status, _, err = run(*command)
    assert status == 2 and err.startswith("keras-elmo export: error: ")
    assert err.endswith("highest number), or pass --overwrite\n")


def test_it_says_what_a_program_must_import(tmp_path, run, monkeypatch):
    """(That it must is in tests/export/test_saved_model.py.)"""
    names = {"Add", "RegexSplitWithOffsets"}
    monkeypatch.setattr(export, "load_any_model", lambda _: None)
    monkeypatch.setattr("keras_elmo.export.export_saved_model", lambda *_, **__: None)
    monkeypatch.setattr("keras_elmo.export.saved_model.operations", lambda _: names)
    status, _, err = run("export", "tiny", tmp_path / "elmo")
    assert status == 0 and "\nPython loads it after `import tensorflow_text`; " in err


VERSION = "--version-number 2 --storage float16 --max-tokens 9 --overwrite"


@pytest.mark.parametrize(
    "options, expected",
    [
        ("", {}),
        (VERSION, {"storage": "float16", "max_tokens": 9, "overwrite": True}),
        ("--warmup --matmul-dtype bfloat16", {"warmup_texts": export._WARMUP}),
    ],
)
def test_arguments_reach_the_exporter(tmp_path, run, monkeypatch, options, expected):
    calls, dtypes = [], []
    monkeypatch.setattr(export, "load_any_model", lambda x: dtypes.append(x.matmul_dtype))
    monkeypatch.setattr(
        "keras_elmo.export.export_saved_model",
        lambda _, path, **kwargs: calls.append((os.path.basename(path), kwargs)),
    )
    assert run("export", "tiny", tmp_path / "elmo", "-q", *options.split()) == (0, "", "")
    ((version, kwargs),) = calls
    parameters = inspect.signature(export_saved_model).parameters
    assert kwargs == {**{name: parameters[name].default for name in kwargs}, **expected}
    assert version == ("2" if options == VERSION else "1")
    assert dtypes == ["bfloat16" if "bfloat16" in options else None]
