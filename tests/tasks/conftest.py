import keras
import pytest
from tasks.cases import FILMS, LABELS, SENTENCES, TAG_NAMES, TAGS

from keras_elmo import Tagger, TextClassifier


@pytest.fixture(scope="session")
def trained_classifier(one_layer_folder):
    """A classifier that knows the labels of all texts."""
    keras.utils.set_random_seed(0)
    model = TextClassifier(one_layer_folder, set(LABELS), filters=4, dropout=0.0)
    model.compile(keras.optimizers.Adam(0.03))
    model.fit(FILMS, LABELS, batch_size=8, epochs=15, verbose=0)
    return model


SOFTMAX = pytest.param(False, marks=pytest.mark.slow, id="softmax")


@pytest.fixture(scope="session", params=[pytest.param(True, id="CRF"), SOFTMAX])
def trained_tagger(request, one_layer_folder):
    """A tagger that knows the tags of all sentences. Its training ended early."""
    keras.utils.set_random_seed(0)
    model = Tagger(one_layer_folder, set(TAG_NAMES), crf=request.param, units=6, dropout=0.0)
    model.compile(keras.optimizers.Adam(0.05))
    data, stopping = (SENTENCES, TAGS), model.early_stopping(patience=6)
    model.fit(*data, batch_size=10, epochs=60, validation_data=data, callbacks=stopping, verbose=0)
    return model
