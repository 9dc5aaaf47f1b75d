import numpy as np
import pytest
from training.letters import make_model

from keras_elmo.training import evaluate


@pytest.fixture(scope="module")
def model(untraced_module):
    """With biases, so that the words differ in their probabilities."""
    model = make_model()
    rng = np.random.default_rng(0)
    model.softmax.bias.assign(rng.normal(size=model.softmax.bias.shape))
    return model


def test_the_state_is_carried_on(model, corpus):
    sentences = list(corpus.sentences())[:4]
    one, other, lanes = (evaluate(model, sentences, *x) for x in ((1, 3), (1, 7), (4, 7)))
    assert one["predictions"] == lanes["predictions"] == 4 + sum(map(len, sentences))
    assert one["oov_rate"] == 0 and other == pytest.approx(one, rel=1e-5)
    assert lanes["perplexity"] == pytest.approx(one["perplexity"], rel=0.05)


def test_one_sentence_has_the_perplexity_of_its_score(model):
    """From a zero state, as `score` begins."""
    sentence = "a b d x c e w a b".split()
    result = evaluate(model, [sentence], batch_size=8, unroll_steps=7)
    assert result["predictions"] == 10
    expected = model.perplexity([sentence])
    assert {name: result[name] for name in expected} == pytest.approx(expected, rel=1e-5)


def test_unknown_words_and_progress(model):
    calls = []
    result = evaluate(model, ["ab?".split("b"), ["a", "!"], ["!"]], 1, 7, calls.append)
    assert result["oov_rate"] == 3 / 5 and result["predictions"] == 8
    assert calls == [7, 1]


def test_what_cannot_be_evaluated(model, monkeypatch):
    with pytest.raises(ValueError, match="must be a sentence"):
        evaluate(model, [])
    monkeypatch.setattr(model, "has_softmax", False)
    with pytest.raises(ValueError, match="softmax"):
        evaluate(model, [["a"]])
