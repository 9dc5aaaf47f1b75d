import keras
import numpy as np
import pytest
from seqeval.metrics import f1_score

from keras_elmo import CRF, CRFAccuracy
from keras_elmo.tasks import EntityF1

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


@pytest.mark.parametrize("has_crf", [False, True])
def test_they_equal_seqeval_over_all_batches(has_crf):
    rng = np.random.default_rng(0)
    f1, accuracy = EntityF1(LABELS), CRFAccuracy()
    accuracies = [accuracy, CRFAccuracy()] if has_crf else [accuracy]
    expected, found, crf = [], [], CRF()
    for right, scores in batches(rng):
        best, y_pred, lengths = scores.argmax(-1), scores, (right >= 0).sum(-1)
        if has_crf:  # its transitions are zero, so the best path is the best tags
            y_pred = crf(scores, mask=right >= 0)
        f1.update_state(right, y_pred)
        for metric in accuracies:
            metric.update_state(right, y_pred)
        expected += names(right, lengths)
        found += names(best, lengths)
    assert 0.2 < float(f1.result()) < 0.9
    assert float(f1.result()) == pytest.approx(f1_score(expected, found), abs=1e-6)
    pairs = [
        (a, b) for x, y in zip(expected, found, strict=True) for a, b in zip(x, y, strict=True)
    ]
    share = np.mean([a == b for a, b in pairs])
    for metric in accuracies:
        assert float(metric.result()) == pytest.approx(share, abs=1e-6)
    f1.reset_state()
    assert float(f1.result()) == 0


def test_a_sentence_of_weight_0_is_left_out():
    rng = np.random.default_rng(1)
    for right, scores in batches(rng, 5):
        weighted, alone = EntityF1(LABELS), EntityF1(LABELS)
        weighted.update_state(right, scores, sample_weight=np.array([1, 0, 2, 0]))
        alone.update_state(right[::2], scores[::2])
        assert float(weighted.result()) == float(alone.result())


def test_it_goes_through_a_config():
    metric = keras.metrics.deserialize(keras.metrics.serialize(EntityF1(LABELS)))
    assert (metric.name, metric.labels) == ("f1", LABELS)


def test_labels_must_be_tags():
    with pytest.raises(ValueError, match="must be tags like B-PER.*Received: labels="):
        EntityF1(["NOUN", "VERB"])
