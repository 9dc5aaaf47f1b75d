import numpy as np
import pytest

from keras_elmo.models.score import perplexities


def test_perplexities_of_losses():
    assert perplexities(np.log(2.0), np.log(8.0)) == {
        "forward": pytest.approx(2),
        "backward": pytest.approx(8),
        "perplexity": pytest.approx(4),
    }
