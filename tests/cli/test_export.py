import inspect
import os

import pytest
import tensorflow as tf

from keras_elmo import export_saved_model
from keras_elmo_cli import export
from keras_elmo_cli.main import main


def test_it_writes_a_version(one_layer_folder, tmp_path, capsys):
    folder = tmp_path / "new" / "elmo"
    options = ["--pooled-only", "--ops", "core", "--tokenizer", "space", "--max-batch-size", "8"]
    assert main(["export", str(one_layer_folder), str(folder), *options]) == 0
    out, err = capsys.readouterr()
    size, need = err.splitlines()
    assert out == "" and size.startswith(f"{folder}/1: ")
    assert need == "Python loads it with TensorFlow alone"
    assert (folder / "1/batching_params.pbtxt").exists()
    run = tf.saved_model.load(folder / "1").signatures["default"]
    outputs = run(tf.constant(["a b\tc d"]))
    assert outputs["sequence_len"].numpy().tolist() == [3] and outputs["default"].shape == (1, 16)
    assert main(["export", str(one_layer_folder), str(folder)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("keras-elmo export: error: ")
    assert line.endswith(
        "1 exists already; export to another folder (TensorFlow Serving takes the "
        "highest number), or pass --overwrite"
    )


def test_it_says_what_a_program_must_import(tmp_path, capsys, monkeypatch):
    """(That it must is in tests/export/test_saved_model.py.)"""
    monkeypatch.setattr(export, "load_any_model", lambda _: None)
    monkeypatch.setattr(
        "keras_elmo.export.export_saved_model", lambda _, path, **__: os.makedirs(path)
    )
    monkeypatch.setattr(
        "keras_elmo.export.saved_model.operations", lambda _: {"Add", "RegexSplitWithOffsets"}
    )
    assert main(["export", "model", str(tmp_path / "elmo")]) == 0
    *_, line = capsys.readouterr().err.splitlines()
    assert line.startswith("Python loads it after `import tensorflow_text`; ")


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
