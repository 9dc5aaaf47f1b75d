"""`TextClassifier`."""

from collections.abc import Iterable, Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from keras_elmo.annotations import Array, Labels, Source, Texts
from keras_elmo.layers import MaskedMean
from keras_elmo.models.elmo import Elmo
from keras_elmo.tasks.labels import to_list
from keras_elmo.tasks.task_model import TaskModel
from keras_elmo.text.inputs import fit_strings, strings_for

_WIDTHS = (1, 2, 3)  # of the convolutions, in tokens


@keras.saving.register_keras_serializable("keras_elmo")
class TextClassifier(TaskModel):
    """A classifier of texts: an `Elmo`, convolutions above it, and a label for each text.

    The convolutions read one, two and three tokens. The vector of a text is the mean and the
    maximum of their outputs over its tokens. The model is compiled from the start, and can be
    compiled anew.

    Args:
        model: an `Elmo`, or what `Elmo.from_pretrained` takes: a name, a folder, a zip,
            an address, a pair.
        labels: list of strings, ints or bools; `None`: those of the first `fit`, sorted.
        multi_label: bool. A text has any number of labels, and `fit` takes a list of them for each
            text, or ones and zeros, (N, labels).
        layers: what the head reads of each token: `"all"` layers of the `Elmo`, side by side, or
            `"elmo"`, their learned mix. With `"all"` the mix of the `Elmo` is frozen.
        word_size: int. The size of a vector that the model learns for each word, in lower case, and
            puts beside those of the `Elmo`; 0: none.
        units: int. Filters of the convolutions of each width.
        dropout: float, from 0 to below 1. The share of ELMo's vectors, and of a text's vector, that
            is dropped in training.
        **kwargs: `name` and `dtype`; with a name or a path for `model` the arguments of `Elmo`, for
            example `tokenizer` and `trainable_part`.

    Call arguments:
        inputs: text, as `keras_elmo.strings` says.

    Returns:
        float, (batch, labels). The probability of each label.

    Raises:
        ValueError: an argument is out of range, or the `Elmo` is stateful.
        TypeError: `labels` is not a list of labels.

    Reference: Kim 2014, https://aclanthology.org/D14-1181.

    Example:

    >>> classifier = TextClassifier("tiny", labels=["negative", "positive"])
    >>> classifier.fit(texts, labels, epochs=5)
    >>> classifier.classify(["a good film"])
    ['positive']
    >>> classifier.predict(["a good film"]).shape
    (1, 2)

    All of ELMo trains on, at a smaller rate:

    >>> classifier.trainable_part = "all"
    >>> classifier.fit(texts, labels, epochs=3)
    """

    def __init__(
        self,
        model: Elmo | Source | Mapping[str, Any],
        labels: Labels | None = None,
        multi_label: bool = False,
        layers: str = "all",
        word_size: int = 64,
        units: int = 64,
        dropout: float = 0.5,
        **kwargs: Any,
    ) -> None:
        self.multi_label = bool(multi_label)
        super().__init__(model, labels, layers, word_size, units, dropout, **kwargs)

    def _build_head(self):
        super()._build_head()
        dtype = self.dtype_policy
        self.convolutions = [
            keras.layers.Conv1D(
                self.units,
                width,
                padding="same",
                activation="relu",
                dtype=dtype,
                name=f"width_{width}",
            )
            for width in _WIDTHS
        ]
        for convolution in self.convolutions:
            convolution.build(self._input_shape())
        size = self.units * len(_WIDTHS)
        self.masked_mean = MaskedMean(dtype=dtype, name="masked_mean")
        self.text_dropout = keras.layers.Dropout(self.dropout, dtype=dtype, name="text_dropout")
        self.classifier = keras.layers.Dense(
            len(self._labels),
            "sigmoid" if self.multi_label else "softmax",
            dtype="float32",
            name="classifier",
        )
        self.masked_mean.build((None, None, size))
        self.text_dropout.build((None, 2 * size))
        self.classifier.build((None, 2 * size))

    def _default_compile(self):
        if self.multi_label:
            return {"loss": "binary_crossentropy", "metrics": ["binary_accuracy"]}
        return {"loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"]}

    def call(self, inputs, training=False):
        x, mask = self._read(inputs, training)  # (batch, tokens, D), (batch, tokens)
        # Zeros for the padding, of which the convolutions read a token. Their outputs are not
        # negative, so it does not change the maximum; a text without tokens gets zeros.
        is_token = mask[..., None]
        x = ops.where(is_token, x, 0)
        x = ops.concatenate([convolution(x) for convolution in self.convolutions], axis=-1)
        mean = self.masked_mean(x, mask=mask)  # (batch, 3 * units)
        highest = ops.max(ops.where(is_token, x, 0), axis=1)
        x = self.text_dropout(ops.concatenate([mean, highest], axis=-1), training=training)
        return self.classifier(x)

    def compute_output_spec(self, inputs, training=None):
        self._check_labels()
        return keras.KerasTensor((inputs.shape[0], len(self._labels)), "float32")

    def _texts(self, texts):
        return fit_strings(strings_for(texts, self.elmo.tokenizer), self.elmo.tokenizer)

    def _find_labels(self, labels):
        if not self.multi_label:
            return to_list(labels)
        if _are_ones_and_zeros(labels):
            raise ValueError(
                "With ones and zeros for the labels of each text, `labels` must be given. "
                "Received: labels=None"
            )
        return [label for row in to_list(labels) for label in row]

    def _encode(self, texts, labels):
        count = texts.nrows() if isinstance(texts, tf.RaggedTensor) else tf.shape(texts)[0]
        rows = np.asarray(labels) if self._has_ones_and_zeros(labels) else to_list(labels)
        if len(rows) != int(count):
            raise ValueError(
                "There must be as many labels as texts. "
                f"Received: {int(count):,} texts, {len(rows):,} labels"
            )
        encode = self._labels.encode_sets if self.multi_label else self._labels.encode
        return tf.constant(encode(rows))

    def _encode_batch(self, texts, labels):
        if self._has_ones_and_zeros(labels):
            targets = tf.numpy_function(self._labels.encode_sets, [labels], tf.float32)
            targets.set_shape([None, len(self._labels)])
            return texts, targets
        is_ragged = isinstance(labels, tf.RaggedTensor)
        values = labels.flat_values if is_ragged else tf.reshape(labels, (-1,))
        targets = tf.numpy_function(self._labels.encode, [values], tf.int32)
        targets.set_shape([None])
        if self.multi_label:  # a ragged list for each text
            # The sum of each text's labels; 1 also where a label is there twice.
            ones = tf.math.unsorted_segment_sum(
                tf.one_hot(targets, len(self._labels)), labels.value_rowids(), labels.nrows()
            )
            targets = tf.minimum(ones, 1)
        return texts, targets

    def _has_ones_and_zeros(self, labels):
        return self.multi_label and _are_ones_and_zeros(labels)

    def _weights_of_classes(self, class_weight):
        if self.multi_label and class_weight is not None:
            raise ValueError(
                "With `multi_label=True`, `class_weight` must be None; pass `sample_weight`. "
                f"Received: class_weight={class_weight!r}"
            )
        return super()._weights_of_classes(class_weight)

    def predict_step(self, data):
        texts, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        return {"probabilities": self(texts, training=False)}

    def predict(self, x: Texts | Iterable[Any], batch_size: int = 32, **kwargs: Any) -> Array:
        """The probabilities of the labels.

        Args:
            x: texts, in any form; or a `tf.data.Dataset` of batches of them.
            batch_size: int.
            **kwargs: see `keras.Model.predict`.

        Returns:
            NumPy array, float32, (N, labels).
        """
        outputs = self._predict(x, batch_size, **kwargs)
        rows = outputs["probabilities"] if outputs else []
        return np.reshape(np.array(rows, np.float32), (-1, len(self._labels)))

    def classify(self, texts: Texts, batch_size: int = 32) -> list[Any]:
        """The most likely label of each text; with `multi_label` a list of those above one half.

        Args:
            texts: in any form; see `predict`.
            batch_size: int.

        Returns:
            A list with a label, or a list of labels, for each text.
        """
        return self.classify_probabilities(self.predict(texts, batch_size, verbose=0))

    def classify_probabilities(self, probabilities: Array) -> list[Any]:
        """`classify` for what `predict` returned."""
        names = self._labels.names
        if self.multi_label:
            return [[names[k] for k in np.flatnonzero(row > 0.5)] for row in probabilities]
        return [names[k] for k in probabilities.argmax(-1)]

    def serving_signatures(self) -> dict[str, Any]:
        """The functions that `export_saved_model` writes, by the names of their signatures.

        `serving_default` takes `text`, string (batch,), and returns `probabilities`, float32
        (batch, labels); `labels`, string (batch, labels), what they are of; and `label`, string
        (batch,), the most likely one (not with `multi_label`).
        """
        self._check_labels()
        names = tf.constant(self._labels.as_strings())

        def outputs(texts):
            probabilities = self(texts)
            labels = tf.tile(names[None], (tf.shape(probabilities)[0], 1))
            result = {"probabilities": probabilities, "labels": labels}
            if not self.multi_label:
                result["label"] = tf.gather(names, tf.argmax(probabilities, -1))
            return result

        spec = tf.TensorSpec([None], tf.string, "text")
        if self.elmo.tokenizer is None:
            spec = tf.TensorSpec([None, None], tf.string, "tokens")
        return {"serving_default": (outputs, [spec])}

    def get_config(self):
        return {**super().get_config(), "multi_label": self.multi_label}


def _are_ones_and_zeros(labels):
    """Whether labels are an array or a tensor, (N, labels), of numbers."""
    if isinstance(labels, tf.RaggedTensor) or not hasattr(labels, "dtype"):
        return False
    return len(labels.shape) == 2 and tf.as_dtype(labels.dtype) != tf.string
