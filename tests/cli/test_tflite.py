import os

import numpy as np
import pytest

from keras_elmo import Elmo, TextClassifier
from keras_elmo_cli import tflite

TEXT = "naïve 猫 sat ."


@pytest.mark.slow
def test_text_with_any_number_of_sentences(folder, run, small_folder):
    (folder / "model.tflite").write_text("old")
    command = ["tflite", small_folder, "model.tflite", "--inputs", "text", "--dynamic-batch"]
    status, _, err = run(*command)
    assert status == 2 and "model.tflite exists already; give --overwrite" in err
    assert (folder / "model.tflite").read_text() == "old"
    status, out, err = run(*command, "--overwrite")
    size = os.path.getsize("model.tflite") / 1e6
    signatures = "serving_default(text), words(character_ids), steps(forward, backward, state)"
    assert (status, out) == (0, "")
    assert err == f"model.tflite: {size:.1f} MB, signatures {signatures}\n"
    interpreter = pytest.importorskip("ai_edge_litert.interpreter")
    run_file = interpreter.Interpreter("model.tflite").get_signature_runner("serving_default")
    data = np.frombuffer(TEXT.encode(), np.uint8)
    outputs = run_file(text=np.stack([data, data]))
    expected = Elmo.from_pretrained(small_folder)([TEXT] * 2)
    np.testing.assert_allclose(outputs["elmo"], expected["elmo"], rtol=0, atol=1e-5)


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
    assert run("tflite", "m", "model.tflite", "-q", *options.split()) == (0, "", "")
    assert calls == [("model", "model.tflite", *expected)]


def test_options_of_an_elmo_are_refused_with_a_task(run, monkeypatch, small_config):
    task = TextClassifier(Elmo(small_config), ["a", "b"], filters=1, word_dim=0)
    monkeypatch.setattr(tflite, "load_any_model", lambda *_: task)
    message = "With --inputs, --dynamic-batch or --max-tokens the model must be an Elmo. Received: "
    status, _, err = run("tflite", "m", "a.tflite", "-i", "text", "--dynamic-batch")
    assert status == 2 and f"{message}a TextClassifier" in err
