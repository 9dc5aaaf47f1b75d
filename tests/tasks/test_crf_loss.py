import numpy as np
import pytest

from keras_elmo.tasks import CRF, CRFAccuracy, CRFLoss


def outputs(mask):
    """Of two sentences of three tokens, whose best tags are 1, 0, 1."""
    scores = np.zeros((2, 3, 2), np.float32)
    scores[:, [0, 2], 1] = scores[:, 1, 0] = 5
    return CRF()(scores, mask=np.array(mask, bool))


def test_accuracy_is_that_of_the_real_tokens():
    metric = CRFAccuracy()
    metric.update_state([[1, 0, 0], [1, 1, 9]], outputs([[1, 1, 1], [1, 1, 0]]))
    assert float(metric.result()) == pytest.approx(3 / 5)
    metric.update_state([[1, 0, 1], [1, 0, 1]], outputs([[1, 1, 1], [1, 0, 0]]))
    assert float(metric.result()) == pytest.approx(7 / 9)
    metric.reset_state()
    metric.update_state([[1, 0, 0], [0, 0, 0]], outputs(np.ones((2, 3))), sample_weight=[1, 0])
    assert float(metric.result()) == pytest.approx(2 / 3)


def test_the_mean_loss_is_that_of_the_real_tokens():
    y_true, mask = np.array([[1, 0, 0], [1, 1, 9]]), np.array([[1, 1, 1], [1, 1, 0]], bool)
    y_pred = outputs(mask)
    losses = np.asarray(CRFLoss(reduction=None)(y_true, y_pred))
    assert losses.shape == (2, 3) and losses[1, 2] == 0 and losses[0, 0] < 0.01 < losses[0, 2]
    assert float(CRFLoss()(y_true, y_pred)) == pytest.approx(losses[mask].mean(), rel=1e-5)


def test_config_round_trip():
    loss = CRFLoss(reduction="sum", name="loss")
    assert CRFLoss.from_config(loss.get_config()).get_config() == loss.get_config()
    metric = CRFAccuracy(name="right")
    assert CRFAccuracy.from_config(metric.get_config()).name == "right"
