import json
import os
import re
import shutil

import pytest

from keras_elmo import BiLanguageModel, training
from keras_elmo_cli.main import main


def test_perplexity_of_the_original_trainers_model(shared, capsys):
    folder = shared / "fixtures/bilm-checkpoint"
    model, vocabulary = str(folder / "checkpoint"), ["--vocab", str(folder / "vocab.txt")]
    command = ["evaluate", model, str(folder / "heldout.txt"), *vocabulary, "--batch-size", "1"]
    assert main(command) == 0
    out = capsys.readouterr().out
    (value,) = re.findall(r"^perplexity ([\d.]+) .*, 1,605 predictions, .*% .* unknown\n$", out)
    expected = json.loads((folder / "perplexity.json").read_text())["perplexity"]
    assert float(value) == pytest.approx(expected, abs=0.01)


@pytest.fixture
def folder(corpus_copy, small_folder):
    """A working folder with the corpus and `model`, which has a vocabulary."""
    shutil.copytree(small_folder, "model")
    shutil.copy("vocab.txt", "model")
    return corpus_copy


def test_result_is_on_standard_output_and_the_defaults_are_the_librarys(
    folder, capsys, monkeypatch
):
    calls = []

    def evaluate(model, sentences, batch_size, unroll_steps, progress):
        calls.append((model, len(list(sentences)), batch_size, unroll_steps))
        progress(1234)
        result = {"perplexity": 2.0, "forward": 1.5, "backward": 2.5}
        return {**result, "predictions": 1234, "oov_rate": 0.125}

    monkeypatch.setattr(
        BiLanguageModel, "from_pretrained", lambda *source, **kwargs: (source, kwargs)
    )
    monkeypatch.setattr(training, "evaluate", evaluate)
    assert main(["evaluate", "model", "heldout.txt", "--quiet"]) == 0
    line = (
        "perplexity 2.000 (forward 1.500, backward 2.500), 1,234 predictions, 12.5% of the words "
        "unknown\n"
    )
    assert capsys.readouterr() == (line, "")
    assert main(["evaluate", "model", "heldout.txt", "--vocab", "vocab.txt"]) == 0
    assert main(["evaluate", "model", "heldout.txt", "-q", "--matmul-dtype", "bfloat16"]) == 0
    os.rename("model/vocab.txt", "model/vocab-2016-09-10.txt")
    assert main(["evaluate", "model", "heldout.txt", "-q"]) == 0
    exact, rounded = {"matmul_dtype": None}, {"matmul_dtype": "bfloat16"}
    assert calls == [
        ((("model", None), exact), 6, 32, 20),
        ((("model", "vocab.txt"), exact), 6, 32, 20),
        ((("model", None), rounded), 6, 32, 20),
        ((("model", None), exact), 6, 32, 20),
    ]
