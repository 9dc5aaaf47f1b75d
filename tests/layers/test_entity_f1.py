import keras
import numpy as np
import pytest
from seqeval.metrics import accuracy_score, f1_score

from keras_elmo import CRF, CRFAccuracy, CRFLoss, EntityF1

LABELS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


def batches(rng, count=20):
    """Right tags, padded with -1, and scores; sometimes of an empty sentence."""
    for _ in range(count):
        lengths = rng.integers(0, 9, size=4)
        width = max(1, *lengths)
        right = rng.integers(0, len(LABELS), size=(4, width))
        right[np.arange(width) >= lengths[:, None]] = -1
        scores = rng.normal(size=(4, width, len(LABELS))).astype(np.float32)
        # Half of the tags are right, so that some entities are.
        is_right = rng.random(right.shape) < 0.7
        scores[is_right & (right >= 0), right[is_right & (right >= 0)]] += 5
        yield right, scores


def names(rows, lengths):
    return [[LABELS[k] for k in row[:n]] for row, n in zip(rows, lengths, strict=True)]


@pytest.mark.parametrize("form", ["scores", "CRF", "tags"])
def test_they_equal_seqeval_over_all_batches(form):
    f1, accuracy, crf = EntityF1(LABELS), CRFAccuracy(), CRF()
    expected, found = [], []
    for right, scores in batches(np.random.default_rng(0)):
        # The transitions of the CRF are zero, so the best path is the best tags.
        y_true, y_pred = right, scores.argmax(-1) if form == "tags" else scores
        if form == "CRF":  # whose outputs hold the mask: padding may have any tag
            y_true, y_pred = np.abs(right), crf(scores, mask=right >= 0)
        f1.update_state(y_true, y_pred)
        accuracy.update_state(y_true, y_pred)
        lengths = (right >= 0).sum(-1)
        expected += names(right, lengths)
        found += names(scores.argmax(-1), lengths)
    assert 0.2 < float(f1.result()) < 0.9
    assert float(f1.result()) == pytest.approx(f1_score(expected, found), abs=1e-6)
    share = accuracy_score(expected, found)
    assert float(accuracy.result()) == pytest.approx(share, abs=1e-6)
    f1.reset_state()
    assert float(f1.result()) == 0


@pytest.mark.parametrize("make", [lambda: EntityF1(LABELS), CRFAccuracy])
def test_a_sentence_of_weight_0_is_left_out(make):
    rng = np.random.default_rng(1)
    for right, scores in batches(rng, 5):
        weighted, alone = make(), make()
        weighted.update_state(right, scores, sample_weight=np.array([1, 0, 1, 0]))
        alone.update_state(right[::2], scores[::2])
        assert float(weighted.result()) == pytest.approx(float(alone.result()), abs=1e-6)


def test_they_go_through_a_config():
    metric = keras.metrics.deserialize(keras.metrics.serialize(EntityF1(LABELS)))
    assert (metric.name, metric.labels) == ("f1", LABELS)
    assert CRFAccuracy.from_config(CRFAccuracy(name="right").get_config()).name == "right"
    loss = CRFLoss(reduction="sum", name="loss")
    assert CRFLoss.from_config(loss.get_config()).get_config() == loss.get_config()


def test_labels_must_be_tags():
    with pytest.raises(ValueError, match="must be tags like B-PER.*Received: labels="):
        EntityF1(["NOUN", "VERB"])
