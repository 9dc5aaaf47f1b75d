"""Models that several files share, since a model takes seconds to trace. No test changes them."""

import pytest

from keras_elmo import Elmo


@pytest.fixture(scope="session")
def pretokenised(small_folder):
    """The model of the fixture `elmo`, for tokens alone."""
    return Elmo.from_pretrained(small_folder, tokenizer=None)


@pytest.fixture(scope="session")
def keeping(small_folder):
    """The same, with the sentence boundaries in its outputs."""
    return Elmo.from_pretrained(small_folder, keep_sentence_boundaries=True)
