"""`TextClassifier`."""

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from keras_elmo.annotations import Array, Labels, Source, Texts
from keras_elmo.checks import check_integers
from keras_elmo.export.signatures import TEXT_INPUT, TOKENS_INPUT
from keras_elmo.layers import MaskedMean
from keras_elmo.models.elmo import Elmo
from keras_elmo.tasks.labels import as_lists
from keras_elmo.tasks.report import report_of_labels
from keras_elmo.tasks.task_model import TaskModel

_WIDTHS = (1, 2, 3)  # of the convolutions, in tokens


@keras.saving.register_keras_serializable("keras_elmo")
class TextClassifier(TaskModel):
    """A classifier of texts: an `Elmo`, convolutions above it, and a label for each text.

    The convolutions read one, two and three tokens. The vector of a text is the mean and the
    maximum of their outputs over its tokens. The model is compiled from the start.

    Args:
        model: what `Elmo.from_pretrained` takes; or an `Elmo`, which is copied, and stays as it is.
        labels: strings, ints or bools: a list of the labels; or a column of data that has them; or
            a set, which is sorted.
        multi_label: bool. A text has any number of labels, and `fit` takes a list of them for each
            text, or an array of ones and zeros, (N, labels).
        layers: what the head reads of each token: `"all"` layers of the `Elmo`, side by side, or
            `"elmo"`, their learned mix. With `"all"` the mix of the `Elmo` is frozen.
        word_dim: int. The size of a vector that the model learns for each word, in lower case, and
            puts beside those of the `Elmo`; 0: none.
        filters: int. Filters of the convolutions of each width.
        dropout: float, from 0 to below 1. The dropped share of ELMo's vectors and of a text's.
        **kwargs: `name` and `dtype`; with a name or a path for `model` the arguments of `Elmo`, for
            example `trainable_part` (`"none"` or, with `layers="elmo"`, `"mix"`) and `tokenizer`,
            which is `"treebank"` here: it splits raw prose, and never lists of tokens.

    Call arguments:
        inputs: text, as `keras_elmo.strings` says.

    Returns:
        float, (batch, labels). The probability of each label.

    Raises:
        ValueError: an argument is out of range, or the `Elmo` is stateful.
        TypeError: `labels` is not a column of labels.

    Reference: Kim 2014, https://aclanthology.org/D14-1181.

    Example:

    >>> classifier = TextClassifier("tiny", labels=["negative", "positive"])
    >>> classifier.fit(texts, labels, epochs=5)
    >>> classifier.classify(["a good film"])
    ['positive']
    >>> classifier.trainable_part = "all"  # all of ELMo trains on, at a smaller rate
    >>> classifier.fit(texts, labels, epochs=3)
    """

    def __init__(
        self,
        model: Elmo | Source | Mapping[str, Any],
        labels: Labels,
        multi_label: bool = False,
        layers: str = "all",
        word_dim: int = 64,
        filters: int = 64,
        dropout: float = 0.5,
        **kwargs: Any,
    ) -> None:
        super().__init__(model, labels, layers, word_dim, dropout, **kwargs)
        check_integers(1, filters=filters)
        self.multi_label, self.filters = bool(multi_label), int(filters)

        dtype = self.dtype_policy
        inputs, x = self._head_inputs()  # (batch, tokens, D)
        mask = inputs["mask"]  # (batch, tokens)
        # Zeros for the padding, of which the convolutions read a token. Their outputs are not
        # negative, so it does not change the maximum; a text without tokens gets zeros.
        is_token = mask[..., None]
        x = ops.where(is_token, x, 0)
        options = {"padding": "same", "activation": "relu", "dtype": dtype}
        convolutions = [
            keras.layers.Conv1D(self.filters, width, name=f"width_{width}", **options)
            for width in _WIDTHS
        ]
        x = ops.concatenate([convolution(x) for convolution in convolutions], axis=-1)
        mean = MaskedMean(dtype=dtype, name="masked_mean")(x, mask=mask)  # (batch, 3 * filters)
        highest = ops.max(ops.where(is_token, x, 0), axis=1)
        x = ops.concatenate([mean, highest], axis=-1)
        x = keras.layers.Dropout(self.dropout, dtype=dtype, name="text_dropout")(x)
        activation, loss, metric = "softmax", "sparse_categorical_crossentropy", "accuracy"
        if self.multi_label:
            activation, loss, metric = "sigmoid", "binary_crossentropy", "binary_accuracy"
        x = keras.layers.Dense(len(self._labels), activation, dtype="float32", name="classifier")(x)
        self._set_head(inputs, x, 1e-3, lambda: (loss, [metric]))

    def encode_labels(self, tokens, labels):
        if self.multi_label:
            targets = self._labels.encode_sets(labels)
        else:
            rows = as_lists(labels)
            # Those of an array (N, 1) are lists of one.
            rows = [row[0] if isinstance(row, list) and len(row) == 1 else row for row in rows]
            targets = self._labels.encode(rows)
        if len(targets) != tokens.shape[0]:
            received = f"{tokens.shape[0]:,} texts, {len(targets):,} labels"
            raise ValueError(f"There must be as many labels as texts. Received: {received}")
        return tf.constant(targets)

    def decode(self, outputs, name):
        return outputs  # the only name is "probabilities"

    def classify(self, texts: Texts, batch_size: int = 32) -> list[Any]:
        """A list of the most likely label of each text; with `multi_label` a list of all labels of
        each text whose probability is above one half. For the texts see `predict`.
        """
        return self.labels_of(self.predict(texts, batch_size, verbose=0))

    def labels_of(self, probabilities: Array) -> list[Any]:
        """The labels, as `classify` gives them, of the probabilities of `predict`, (N, labels)."""
        names, probabilities = self._labels.names, np.asarray(probabilities)
        if probabilities.ndim != 2 or probabilities.shape[1] != len(names):
            raise ValueError(
                f"`probabilities` must be of shape (texts, {len(names)}). "
                f"Received: an array of shape {probabilities.shape}"
            )
        if self.multi_label:
            return [[names[k] for k in np.flatnonzero(row > 0.5)] for row in probabilities]
        return [names[k] for k in probabilities.argmax(-1)]

    def _report(self, targets, found):
        found = np.array(found)
        if self.multi_label:
            return report_of_labels(targets.numpy() > 0, found > 0.5, self.labels)
        return report_of_labels(targets.numpy(), found.argmax(-1), self.labels)

    def serving_signatures(self) -> dict[str, Any]:
        """The functions that `export_saved_model` writes: `serving_default` takes `text`, string
        (batch,), and returns `probabilities`, float32 (batch, labels); `labels`, string (batch,
        labels), what they are of; and `label`, string (batch,), the best (not with `multi_label`).
        """
        names = tf.constant(self._labels.as_strings())

        def outputs(texts):
            probabilities = self(texts)
            labels = tf.tile(names[None], (tf.shape(probabilities)[0], 1))
            result = {"probabilities": probabilities, "labels": labels}
            if not self.multi_label:
                result["label"] = tf.gather(names, tf.argmax(probabilities, -1))
            return result

        spec = TOKENS_INPUT if self.elmo.tokenizer is None else TEXT_INPUT
        return {"serving_default": (outputs, [spec])}

    def get_config(self):
        return {**super().get_config(), "multi_label": self.multi_label, "filters": self.filters}
