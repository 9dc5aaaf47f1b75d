import os
import re

import numpy as np
import pytest

from keras_elmo import Elmo, TextClassifier
from keras_elmo_cli import tflite
from keras_elmo_cli.main import main

TEXT = "naïve 猫 sat ."


@pytest.fixture
def run(tmp_path, small_folder, monkeypatch, capsys):
    """Runs `tflite`: the status, and what it wrote to standard error."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, model=small_folder):
        status = main(["tflite", str(model), *arguments])
        out, err = capsys.readouterr()
        assert out == ""
        return status, err

    return run


def assert_error(result, message):
    status, err = result
    assert status == 2
    assert re.fullmatch(rf"keras-elmo tflite: error: .*{message}.*\n", err), err


@pytest.mark.slow
def test_text_with_any_number_of_sentences(run, small_folder):
    with open("model.tflite", "wb") as file:
        file.write(b"old")
    arguments = ["model.tflite", "--inputs", "text", "--dynamic-batch"]
    assert_error(run(*arguments), "model.tflite exists already; give --overwrite")
    assert os.path.getsize("model.tflite") == 3
    status, err = run(*arguments, "--overwrite")
    assert status == 0
    size = os.path.getsize("model.tflite") / 1e6
    signatures = "serving_default(text), words(character_ids), steps(forward, backward, state)"
    assert err == f"model.tflite: {size:.1f} MB, signatures {signatures}\n"
    interpreter = pytest.importorskip("ai_edge_litert.interpreter")
    run_file = interpreter.Interpreter("model.tflite").get_signature_runner("serving_default")
    data = np.frombuffer(TEXT.encode(), np.uint8)
    outputs = run_file(text=np.stack([data, data]))
    expected = Elmo.from_pretrained(small_folder)([TEXT] * 2)
    np.testing.assert_allclose(outputs["elmo"], expected["elmo"], rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "arguments, expected",
    [
        ([], ("character_ids", None, 1, None, False)),
        (["--quantize", "float32"], ("character_ids", None, 1, None, False)),
        (["-i", "text", "--quantize", "int8"], ("text", "int8", 1, None, False)),
        (
            ["--quantize", "float16", "--dynamic-batch", "--overwrite"],
            ("character_ids", "float16", None, None, True),
        ),
        (["-i", "words", "--max-tokens", "9"], ("words", None, 1, 9, False)),
    ],
)
def test_arguments_reach_the_converter(run, monkeypatch, arguments, expected):
    calls = []
    monkeypatch.setattr(tflite, "load_any_model", lambda *_: "model")
    monkeypatch.setattr("keras_elmo.tflite.export.export_tflite", lambda *args: calls.append(args))
    assert run("model.tflite", "-q", *arguments) == (0, "")
    assert calls == [("model", "model.tflite", *expected)]


def test_options_of_an_elmo_are_refused_with_a_task(run, monkeypatch, small_config):
    task = TextClassifier(Elmo(small_config), ["a", "b"], filters=1, word_dim=0)
    monkeypatch.setattr(tflite, "load_any_model", lambda *_: task)
    message = "With --inputs, --dynamic-batch or --max-tokens the model must be an Elmo. Received: "
    options = ("-i", "text", "--dynamic-batch")
    assert_error(run("a.tflite", *options, model=__file__), f"{message}a TextClassifier")
