"""ELMo for scikit-learn: `ElmoVectorizer` and `ElmoClassifier`.

They can be cloned, pickled, and used in pipelines and searches. They need scikit-learn.
"""

import functools

import keras
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from keras_elmo.models import Elmo
from keras_elmo.models.embed_stream import sentence_mean
from keras_elmo.tasks import TextClassifier
from keras_elmo.tasks.examples import as_rows


class _ReadsTexts(BaseEstimator):
    """What estimators of texts have in common."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags


class ElmoVectorizer(TransformerMixin, _ReadsTexts):
    """Texts to vectors.

    Args:
        model: what `Elmo.from_pretrained` takes. A process loads it once.
        layers: what `Elmo.embed` takes: `"default"`, or another layer, whose mean over the tokens
            is taken; or a list of these, which are put side by side.
        tokenizer: how texts are split, see `Elmo`.

    Example:

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> make_pipeline(ElmoVectorizer("tiny"), LogisticRegression()).fit(texts, labels)
    """

    def __init__(self, model="tiny", layers="default", tokenizer="treebank"):
        self.model = model
        self.layers = layers
        self.tokenizer = tokenizer

    def fit(self, X, y=None):
        """Does nothing: the model is trained."""
        return self

    def transform(self, X):
        """The vectors of texts, any column of strings: NumPy array, float32, (N, D)."""
        elmo = _load(self.model, self.tokenizer)
        layers = list(self.layers) if isinstance(self.layers, list | tuple) else [self.layers]
        rows = [
            np.concatenate([_of_text(layer, vectors[layer]) for layer in layers])
            for vectors in elmo.embed_stream(as_rows(X, elmo.tokenizer), layers)
        ]
        return np.array(rows, np.float32)

    def __sklearn_is_fitted__(self):
        return True


class ElmoClassifier(ClassifierMixin, _ReadsTexts):
    """A `TextClassifier` for scikit-learn.

    Args:
        model: what `Elmo.from_pretrained` takes.
        tokenizer: how texts are split, see `Elmo`.
        layers, word_dim, filters, dropout: see `TextClassifier`.
        batch_size, epochs, verbose: see `TextClassifier.fit`.
        random_state: int. It seeds Keras, NumPy and Python before a training; `None`: nothing does.

    Attributes:
        classes_: array of the classes, sorted.
        model_: the `TextClassifier`, whose labels are the numbers of the classes.
    """

    def __init__(
        self,
        model="tiny",
        tokenizer="treebank",
        layers="all",
        word_dim=64,
        filters=64,
        dropout=0.5,
        batch_size=32,
        epochs=None,
        verbose=0,
        random_state=None,
    ):
        self.model = model
        self.tokenizer = tokenizer
        self.layers = layers
        self.word_dim = word_dim
        self.filters = filters
        self.dropout = dropout
        self.batch_size = batch_size
        self.epochs = epochs
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        """Trains on texts and their classes, and perhaps a weight for each text."""
        if self.random_state is not None:
            keras.utils.set_random_seed(self.random_state)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        self.model_ = TextClassifier(
            _load(self.model, self.tokenizer),
            range(len(self.classes_)),
            layers=self.layers,
            word_dim=self.word_dim,
            filters=self.filters,
            dropout=self.dropout,
        )
        self.model_.fit(
            X,
            numbers,
            batch_size=self.batch_size,
            epochs=self.epochs,
            verbose=self.verbose,
            sample_weight=sample_weight,
        )
        return self

    def predict_proba(self, X):
        """The probabilities of the classes: NumPy array, float32, (N, classes)."""
        check_is_fitted(self)
        return self.model_.predict(X, self.batch_size, verbose=0)

    def predict(self, X):
        """The most likely class of each text: array, (N,)."""
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(-1)]


@functools.lru_cache(maxsize=2)
def _load(model, tokenizer):
    return Elmo.from_pretrained(model, tokenizer=tokenizer)


def _of_text(layer, vectors):
    """One vector of a text, (D,), for a layer of its tokens, or of all layers."""
    vectors = vectors if layer == "default" else sentence_mean(np.moveaxis(vectors, -2, 0))
    return vectors.ravel()
