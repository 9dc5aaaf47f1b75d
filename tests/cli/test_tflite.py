import os

import pytest

from keras_elmo import Elmo, TextClassifier
from keras_elmo_cli import tflite


def test_the_file_and_its_signatures_are_told(folder, run, monkeypatch):
    signatures = {"serving_default": {"inputs": ["text"]}, "steps": {"inputs": ["a", "b"]}}
    monkeypatch.setattr(tflite, "load_any_model", lambda *_: None)
    export = "keras_elmo.tflite.export"
    monkeypatch.setattr(f"{export}.export_tflite", lambda _, file, *__: os.truncate(file, 2560000))
    monkeypatch.setattr(f"{export}.metadata", lambda _: {"signatures": signatures})
    (folder / "model.tflite").write_text("old")
    message = "model.tflite: 2.6 MB, signatures serving_default(text), steps(a, b)\n"
    assert run("tflite", "tiny", "model.tflite", "--overwrite") == (0, "", message)
    assert "model.tflite exists already; give --overw" in run("tflite", "tiny", "model.tflite")[2]


@pytest.mark.parametrize(
    "options, expected",
    [
        ("", ("character_ids", None, 1, None, False)),
        ("--dynamic-batch --overwrite", ("character_ids", None, None, None, True)),
        ("-i text --quantize int8", ("text", "int8", 1, None, False)),
        ("-i words --max-tokens 9", ("words", None, 1, 9, False)),
    ],
)
def test_arguments_reach_the_converter(run, monkeypatch, options, expected):
    calls = []
    monkeypatch.setattr(tflite, "load_any_model", lambda *_: "model")
    monkeypatch.setattr("keras_elmo.tflite.export.export_tflite", lambda *args: calls.append(args))
    assert run("tflite", "tiny", "model.tflite", "-q", *options.split()) == (0, "", "")
    assert calls == [("model", "model.tflite", *expected)]


def test_options_of_an_elmo_are_refused_with_a_task(run, monkeypatch, small_config):
    task = TextClassifier(Elmo(small_config), ["a", "b"], filters=1, word_dim=0)
    monkeypatch.setattr(tflite, "load_any_model", lambda *_: task)
    message = "With --inputs, --dynamic-batch or --max-tokens the model must be an Elmo. Received: "
    status, _, err = run("tflite", "tiny", "a.tflite", "-i", "text", "--dynamic-batch")
    assert status == 2 and f"{message}a TextClassifier" in err
