"""ELMo for scikit-learn: estimators that are cloned, pickled, searched and put into pipelines."""

import pathlib

import keras
import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import assert_all_finite
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from keras_elmo.models import Elmo
from keras_elmo.models.embed_stream import sentence_mean
from keras_elmo.models.outputs import vector_size
from keras_elmo.tasks import TextClassifier

_models = {}  # the two that were loaded last, by their files and tokenizers


class _ReadsTexts(BaseEstimator):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags


class ElmoVectorizer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, _ReadsTexts):
    """Texts, any column of strings, to vectors: float32, (N, D).

    Args:
        model: what `Elmo.from_pretrained` takes. It is loaded once, and anew if its files change.
        layers: `"default"`; or what else `Elmo.embed` takes, whose mean over the tokens is taken;
            or a list of these, which are put side by side.
        tokenizer: how texts are split, see `Elmo`.

    Example:

    >>> pipeline = make_pipeline(ElmoVectorizer("tiny"), LogisticRegression())
    >>> pipeline.fit(texts, labels)
    """

    def __init__(self, model="tiny", layers="default", tokenizer="treebank"):
        self.model, self.layers, self.tokenizer = model, layers, tokenizer

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        elmo, layers = _load(self), self._layers()
        rows = [
            np.concatenate([_of_text(layer, vectors[layer]) for layer in layers])
            for vectors in elmo.embed_stream(X, layers)
        ]
        return np.reshape(np.array(rows, np.float32), (len(rows), self._n_features_out))

    def _layers(self):
        return list(self.layers) if isinstance(self.layers, list | tuple) else [self.layers]

    @property
    def _n_features_out(self):  # D, of which scikit-learn makes the names of the columns
        return vector_size(_load(self).config, self._layers())

    def __sklearn_is_fitted__(self):
        return True


class ElmoClassifier(ClassifierMixin, _ReadsTexts):
    """A `TextClassifier` for scikit-learn. Its `model_` is trained on the numbers of `classes_`.

    Args:
        model, tokenizer: see `ElmoVectorizer`.
        layers, word_dim, filters, dropout: see `TextClassifier`.
        batch_size, epochs, verbose: see `TextClassifier.fit`.
        class_weight: dict of a weight for each label, or `"balanced"`, as in scikit-learn.
        random_state: int, the seed of Keras, NumPy and Python for a training; `None`: none is set.
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
        class_weight=None,
        random_state=None,
    ):
        self.model, self.tokenizer, self.layers = model, tokenizer, layers
        self.word_dim, self.filters, self.dropout = word_dim, filters, dropout
        self.batch_size, self.epochs, self.verbose = batch_size, epochs, verbose
        self.class_weight, self.random_state = class_weight, random_state

    def fit(self, X, y, sample_weight=None):
        y = _as_labels(y)
        if self.class_weight is not None:
            weights = compute_sample_weight(self.class_weight, y)
            sample_weight = weights if sample_weight is None else weights * sample_weight
        if self.random_state is not None:
            keras.utils.set_random_seed(self.random_state)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        head = {name: getattr(self, name) for name in ("layers", "word_dim", "filters", "dropout")}
        self.model_ = TextClassifier(_load(self), range(len(self.classes_)), **head)
        options = {"sample_weight": sample_weight, "verbose": self.verbose}
        self.model_.fit(X, numbers, self.batch_size, self.epochs, **options)
        return self

    def predict_proba(self, X):
        check_is_fitted(self)
        return self.model_.predict(X, self.batch_size, verbose=0)

    def predict(self, X):
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(-1)]


def _as_labels(y):
    """The labels of texts, an array (N,). Errors are scikit-learn's, or say what it lets pass."""
    if isinstance(y, list | tuple):
        y = np.array(y, object if len({isinstance(label, str) for label in y}) > 1 else None)
    labels = column_or_1d(y, warn=True)
    for row, label in enumerate(labels if labels.dtype == object else ()):
        if not isinstance(label, str):
            raise ValueError(
                "Input y contains NaN, None, or other labels beside strings; they must all be "
                f"strings, or numbers of one dtype. Received: {label!r} in row {row}"
            )
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    return labels


def _load(estimator):
    """The `Elmo` of an estimator: one for all clones, as long as its files do not change."""
    model, tokenizer = estimator.model, estimator.tokenizer
    files = [pathlib.Path(part) for part in (model if isinstance(model, list | tuple) else [model])]
    files += [file for folder in files if folder.is_dir() for file in sorted(folder.iterdir())]
    states = [file.stat() for file in files if file.is_file()]
    states = [(state.st_mtime_ns, state.st_size) for state in states]
    config = getattr(tokenizer, "get_config", tokenizer.__repr__)()
    key = repr((files, states, type(tokenizer), config))
    elmo = _models.get(key) or Elmo.from_pretrained(model, tokenizer=tokenizer)
    _models[key] = elmo
    for former in list(_models)[:-2]:
        _models.pop(former, None)
    return elmo


def _of_text(layer, vectors):
    """One vector of a text, (D,), for a layer of its tokens, or of all layers."""
    vectors = vectors if layer == "default" else sentence_mean(np.moveaxis(vectors, -2, 0))
    return vectors.ravel()
