"""ELMo for scikit-learn: estimators that are cloned, pickled, searched and put into pipelines."""

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
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags


class ElmoVectorizer(TransformerMixin, _ReadsTexts):
    """Texts, any column of strings, to vectors: float32, (N, D).

    Args:
        model: what `Elmo.from_pretrained` takes. A process loads it once.
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
    """A `TextClassifier` for scikit-learn. Its `model_` is trained on the numbers of `classes_`.

    Args:
        model, tokenizer: see `ElmoVectorizer`.
        layers, word_dim, filters, dropout: see `TextClassifier`.
        batch_size, epochs, verbose: see `TextClassifier.fit`.
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
        random_state=None,
    ):
        self.model, self.tokenizer, self.layers = model, tokenizer, layers
        self.word_dim, self.filters, self.dropout = word_dim, filters, dropout
        self.batch_size, self.epochs, self.verbose = batch_size, epochs, verbose
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        if self.random_state is not None:
            keras.utils.set_random_seed(self.random_state)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        head = {name: getattr(self, name) for name in ("layers", "word_dim", "filters", "dropout")}
        elmo, labels = _load(self.model, self.tokenizer), range(len(self.classes_))
        self.model_ = TextClassifier(elmo, labels, **head)
        options = {"sample_weight": sample_weight, "verbose": self.verbose}
        self.model_.fit(X, numbers, self.batch_size, self.epochs, **options)
        return self

    def predict_proba(self, X):
        check_is_fitted(self)
        return self.model_.predict(X, self.batch_size, verbose=0)

    def predict(self, X):
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(-1)]


@functools.lru_cache(maxsize=2)
def _load(model, tokenizer):
    return Elmo.from_pretrained(model, tokenizer=tokenizer)


def _of_text(layer, vectors):
    """One vector of a text, (D,), for a layer of its tokens, or of all layers."""
    vectors = vectors if layer == "default" else sentence_mean(np.moveaxis(vectors, -2, 0))
    return vectors.ravel()
