import json
import re
from unittest import mock

import pytest

from keras_elmo.training.vocabulary import Vocabulary


def test_perplexity_of_the_original_trainers_model(shared, run):
    folder = shared / "fixtures/bilm-checkpoint"
    files = [folder / "checkpoint", folder / "heldout.txt", "--vocab", folder / "vocab.txt"]
    status, out, _ = run("evaluate", *files, "--batch-size", 1)
    assert status == 0
    (value,) = re.findall(r"^perplexity ([\d.]+) .*, 1,605 predictions, .*% .* unknown\n$", out)
    expected = json.loads((folder / "perplexity.json").read_text())["perplexity"]
    assert float(value) == pytest.approx(expected, abs=0.01)


def test_result_is_on_standard_output_and_the_defaults_are_the_librarys(
    corpus_copy, run, monkeypatch
):
    calls = []

    def load(*source, **kwargs):
        def evaluate(corpus, batch_size, unroll_steps, callbacks, **_):
            sentences = list(corpus.sentences())
            calls.append((*source, kwargs, len(sentences), batch_size, unroll_steps))
            callbacks[0].on_test_batch_end(0, {})
            return {"perplexity": 2.0, "forward": 1.5, "backward": 2.5}

        return mock.Mock(evaluate=evaluate, vocabulary=Vocabulary("vocab.txt"))

    monkeypatch.setattr("keras_elmo.BiLanguageModel.from_pretrained", load)
    perplexities = "perplexity 2.000 (forward 1.500, backward 2.500)"
    line = f"{perplexities}, 37 predictions, 3.2% of the words unknown\n"
    command = "evaluate", "tiny", "heldout.txt"
    assert run(*command, "--quiet") == (0, line, "")
    assert run(*command, "--vocab", "vocab.txt")[0] == 0
    assert run(*command, "--matmul-dtype", "bfloat16")[0] == 0
    options = (None, None), ("vocab.txt", None), (None, "bfloat16")
    given = [dict(zip(("vocabulary", "matmul_dtype"), values, strict=True)) for values in options]
    assert calls == [("tiny", each, 6, 32, 20) for each in given]
