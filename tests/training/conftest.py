import numpy as np
import pytest
from training.letters import write_letters

from keras_elmo.training import Corpus


@pytest.fixture
def corpus(tmp_path):
    write_letters(tmp_path / "text.txt", np.random.default_rng(0), 80)
    return Corpus(tmp_path / "text.txt")
