import numpy as np
import pytest
import tensorflow as tf
from training.letters import write_letters

from keras_elmo.training import Corpus


@pytest.fixture(scope="module")
def without_traces():
    """Runs TensorFlow's functions eagerly: tests that take few steps save the time of traces."""
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.fixture
def corpus(tmp_path):
    write_letters(tmp_path / "text.txt", np.random.default_rng(0), 80)
    return Corpus(tmp_path / "text.txt")
