"""`TaskModel`: what `TextClassifier` and `Tagger` share."""

import inspect
import warnings
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from keras_elmo.annotations import HasArray, Labels, Source, Texts
from keras_elmo.characters import BOS, EOS
from keras_elmo.checks import check_dropout, check_integers, is_number
from keras_elmo.models.elmo import Elmo, to_elmo
from keras_elmo.tasks.labels import LabelIndex
from keras_elmo.text.inputs import call_strings, tokens_and_width

# Of Adam, where more of the `Elmo` trains than its mix. A larger one would make its layers forget.
FINE_TUNING_RATE = 5e-4
LAYERS = ("all", "elmo")
# Of the table of word vectors. Words that share a row are told apart by their ELMo vectors.
WORD_ROWS = 2**15
# So many batches at a time are drawn, sorted by length and cut.
_POOL = 50
# `fit` keeps vectors for all epochs, if they take no more.
MAX_VECTOR_BYTES = 10**9


class Examples(NamedTuple):
    """Texts and what belongs to each.

    Attributes:
        texts: string tensor (N,); or a RaggedTensor of tokens, (N, None).
        targets: a tensor or RaggedTensor of N rows, or `None`.
        weights: the same.
        vectors: float32 NumPy array, (all tokens, D), or `None`. TensorFlow would copy a tensor.
    """

    texts: Any
    targets: Any = None
    weights: Any = None
    vectors: Any = None

    def count(self):
        """How many texts there are."""
        return int(tf.shape(self.texts)[0] if tf.is_tensor(self.texts) else self.texts.nrows())

    def rows(self, rows):
        """The examples of some rows."""
        columns = [None if each is None else tf.gather(each, rows) for each in self[:3]]
        if self.vectors is None:
            return Examples(*columns)
        ends = self.texts.row_starts(), self.texts.row_limits()
        places = tf.ragged.range(*(tf.gather(each, rows) for each in ends)).flat_values
        # TensorFlow keeps the function to the end of the program. A dataset keeps these examples.
        kept = weakref.ref(self.vectors)
        vectors = tf.numpy_function(lambda places: kept()[places], [places], tf.float32)
        return Examples(*columns, tf.ensure_shape(vectors, (None, self.vectors.shape[1])))

    def batch(self):
        """As Keras takes a batch: padded, without what is not there."""
        texts, targets, weights = self.texts, self.targets, self.weights
        if self.vectors is not None:
            texts = {"tokens": texts, "vectors": texts.with_flat_values(self.vectors)}
        if isinstance(targets, tf.RaggedTensor):
            targets = padded(targets, -1)
            if isinstance(weights, tf.RaggedTensor):
                weights = padded(weights, 0.0)
        return tuple(each for each in (texts, targets, weights) if each is not None)

    def lengths(self):
        """The tokens of each text, or its bytes if it is raw, int (N,)."""
        is_ragged = isinstance(self.texts, tf.RaggedTensor)
        return self.texts.row_lengths() if is_ragged else tf.strings.length(self.texts)

    def order_by_length(self):
        """The rows from the shortest text to the longest. Batches of like length have little
        padding."""
        return tf.argsort(self.lengths(), stable=True)

    def dataset(self, batch_size, shuffle=False):
        """Batches of the examples, a `tf.data.Dataset`, in their order; or anew in each epoch in a
        random order of batches of like length."""
        rows = tf.data.Dataset.range(self.count())
        if shuffle:
            lengths, pool = self.lengths(), _POOL * batch_size
            rows = rows.shuffle(max(self.count(), 1)).batch(pool)
            rows = rows.map(lambda rows: tf.gather(rows, tf.argsort(tf.gather(lengths, rows))))
            rows = rows.unbatch()
        rows = rows.batch(batch_size)
        if shuffle:
            count = -(-self.count() // batch_size)
            rows = rows.shuffle(_POOL).apply(tf.data.experimental.assert_cardinality(count))
        return rows.map(lambda rows: self.rows(rows).batch()).prefetch(1)


def padded(rows, value):
    """A RaggedTensor as a tensor, (batch, tokens, ...), as wide as the outputs of an `Elmo`: these
    have one column at least."""
    tensor = rows.to_tensor(value)
    missing = tf.maximum(1 - tf.shape(tensor)[1], 0)
    paddings = [[0, 0], [0, missing], *[[0, 0]] * (tensor.shape.rank - 2)]
    return tf.pad(tensor, paddings, constant_values=value)


class TaskModel(keras.Model):
    """An `Elmo`, layers above it, and the labels that they tell apart.

    Args:
        model: an `Elmo`, or what `Elmo.from_pretrained` takes: a name, a folder, a zip,
            an address, a pair.
        labels: list of labels; `None`: those of the first `fit`, sorted.
        layers: what the head reads of each token: `"all"` layers of the `Elmo`, side by side, or
            `"elmo"`, their learned mix. With `"all"` the mix of the `Elmo` is frozen.
        word_size: int. The size of a vector that the model learns for each word, in lower case, and
            puts beside those of the `Elmo`; 0: none.
        units: int. See the subclass.
        dropout: float, from 0 to below 1.
        **kwargs: `name` and `dtype`, and with a name or a path the arguments of `Elmo`.
    """

    def __init__(
        self,
        model: Elmo | Source | Mapping[str, Any],
        labels: Labels | None = None,
        layers: str = "all",
        word_size: int = 64,
        units: int = 64,
        dropout: float = 0.5,
        **kwargs: Any,
    ) -> None:
        own = {key: kwargs.pop(key) for key in ("name", "dtype", "trainable") if key in kwargs}
        super().__init__(**own)
        if layers not in LAYERS:
            raise ValueError(f"`layers` must be one of {list(LAYERS)}. Received: layers={layers!r}")
        check_integers(0, word_size=word_size)
        check_integers(1, units=units)
        check_dropout(dropout)
        self.elmo = to_elmo(model, "model", self.dtype_policy, kwargs)
        self._check_elmo(self.elmo)
        self.elmo_layers, self.word_size = layers, int(word_size)
        self.units, self.dropout = int(units), float(dropout)
        self._freeze_unread_mix()
        self._labels = None
        self._compile_arguments = {}
        self.supports_jit = False
        if labels is not None:
            self._set_labels(LabelIndex(labels))

    # What a subclass says

    _head_rate = 1e-3  # of Adam, where no more of the `Elmo` trains than its mix

    def _check_elmo(self, elmo):
        """Raises a `ValueError` if an `Elmo` has settings that the task cannot use."""
        if elmo.stateful:
            raise ValueError(
                "The model must be stateless, since texts are shuffled. "
                "Received: an Elmo with stateful=True"
            )

    def _build_head(self):
        """Makes the layers above the `Elmo`, and builds them; here those that all tasks have."""
        dtype = self.dtype_policy
        if self.word_size:
            self.word_vectors = keras.layers.Embedding(
                WORD_ROWS, self.word_size, dtype=dtype, name="word_vectors"
            )
            self.word_vectors.build((None, None))
        self.vector_dropout = keras.layers.Dropout(self.dropout, dtype=dtype, name="vector_dropout")
        self.vector_dropout.build(self._input_shape())

    def _vector_names(self):
        """The outputs of the `Elmo` that the head reads side by side."""
        if self.elmo_layers == "elmo":
            return ["elmo"]
        return ["word_emb", *(f"lstm_outputs{k + 1}" for k in range(self.elmo.config.num_layers))]

    def _vector_size(self):
        """The size of the vectors of the `Elmo`, side by side."""
        config = self.elmo.config
        is_word = [name == "word_emb" for name in self._vector_names()]
        return sum(config.projection_dim if each else config.output_dim for each in is_word)

    def _input_shape(self):
        """Of what the head reads: see `_read`."""
        return None, None, self._vector_size() + self.word_size

    def _read(self, inputs, training):
        """Text, or tokens and vectors of `_computed_once`, to all vectors of each token, (batch,
        tokens, D), and the mask."""
        if isinstance(inputs, dict):
            tokens, vectors = padded(inputs["tokens"], ""), [padded(inputs["vectors"], 0.0)]
            mask = tf.sequence_mask(inputs["tokens"].row_lengths(), tf.shape(tokens)[1])
        else:
            outputs = self.elmo(inputs)
            tokens, mask = outputs["tokens"], outputs["mask"]  # (batch, tokens)
            vectors = [outputs[name] for name in self._vector_names()]
        if self.word_size:
            words = tf.strings.lower(tokens, encoding="utf-8")
            rows = tf.strings.to_hash_bucket_fast(words, WORD_ROWS)
            vectors.append(self.word_vectors(rows))
        return self.vector_dropout(ops.concatenate(vectors, axis=-1), training=training), mask

    def _computed_once(self, examples, progress):
        """The examples with the vectors of their tokens, where these stay the same in each epoch,
        and are small enough."""
        elmo = self.elmo
        if elmo.trainable_variables or self.compute_dtype != "float32":
            return examples
        sentences, _ = tokens_and_width(examples.texts, elmo.tokenizer, elmo.max_tokens)
        tokens = sentences  # that have vectors
        if elmo.keep_sentence_boundaries:
            ends = [tf.fill((tokens.nrows(), 1), end) for end in (BOS, EOS)]
            tokens = tf.concat([ends[0], tokens, ends[1]], axis=1)
        count = int(tf.size(tokens.flat_values))
        size, names = self._vector_size(), self._vector_names()
        if 4 * size * count > MAX_VECTOR_BYTES:
            warnings.warn(
                f"The vectors of {count:,} tokens take {4e-9 * size * count:.1f} GB, and `fit` "
                f"keeps {1e-9 * MAX_VECTOR_BYTES:.1f} GB at most. So it computes them anew in each "
                "epoch, which is slower.",
                stacklevel=3,
            )
            return examples
        vectors, end = np.empty((count, size), np.float32), 0
        for sentence in elmo.embed_stream(sentences, names, progress=progress):
            rows = np.concatenate([sentence[name] for name in names], axis=-1)
            vectors[end : end + len(rows)] = rows
            end += len(rows)
        return examples._replace(texts=tokens, vectors=vectors)

    def _default_compile(self):
        """The loss and the metrics, as keyword arguments of `compile`."""
        raise NotImplementedError

    def _texts(self, texts):
        """Text in any form as the tensor that the model reads."""
        raise NotImplementedError

    def _encode(self, texts, labels):
        """Labels in any form as the targets of these texts: a tensor or a RaggedTensor."""
        raise NotImplementedError

    def _find_labels(self, labels):
        """The single labels of a column of them, an iterable."""
        raise NotImplementedError

    def _encode_batch(self, texts, labels):
        """Inside the graph of a dataset: the texts of a batch, and their targets."""
        raise NotImplementedError

    def _before_fit(self, examples):
        """Looks at the examples that `fit` trains on."""

    def _freeze_unread_mix(self):
        if self.elmo_layers == "all":
            for mix in self.elmo.mixes:
                mix.trainable = False

    # Labels

    @property
    def labels(self) -> list[Any] | None:
        """The labels, a list in the order of the outputs; `None` as long as they are not known."""
        return None if self._labels is None else list(self._labels.names)

    def _set_labels(self, labels):
        self._labels = labels
        self._build_head()
        self.built = True
        self.compile(**self._compile_arguments)  # the defaults may depend on the labels

    def _check_labels(self):
        if self._labels is None:
            raise ValueError(
                "The labels must be known: pass `labels`, or call `fit` first. "
                "Received: labels=None"
            )

    # Keras's methods, on text in any form

    def __call__(self, inputs: Texts, *args: Any, **kwargs: Any) -> Any:
        self._check_labels()
        if not isinstance(inputs, dict):  # of `_computed_once`
            inputs = call_strings(inputs, self.elmo.tokenizer)
        return super().__call__(inputs, *args, **kwargs)

    @property
    def trainable_part(self) -> str:
        """The part of the `Elmo` that trains: `"mix"`, `"bilm"` or `"all"`, see `Elmo`.

        A mix that the head does not read does not train, so with `layers="all"` and `"mix"` nothing
        of the `Elmo` does.

        A new part compiles the model anew, with the rate that is right for it. If you compiled it
        with an optimizer of your own, call `compile` again.
        """
        return self.elmo.trainable_part

    @trainable_part.setter
    def trainable_part(self, part: str) -> None:
        self.elmo.trainable_part = part
        self._freeze_unread_mix()
        if self.compiled and self._compile_arguments.get("optimizer", "auto") == "auto":
            self.compile(**self._compile_arguments)

    def compile(
        self, optimizer: Any = "auto", loss: Any = "auto", *, metrics: Any = "auto", **kwargs: Any
    ) -> None:
        """Keras's `compile`. Every model is compiled with the defaults from the start.

        Args:
            optimizer: `"auto"`: Adam, with a rate of 0.001 (a tagger's is 0.002), or of 0.0005
                where more of the `Elmo` trains than its mix.
            loss, metrics: `"auto"`: those of the task.
            **kwargs: see `keras.Model.compile`.
        """
        self._compile_arguments = {
            "optimizer": optimizer,
            "loss": loss,
            "metrics": metrics,
            **kwargs,
        }
        rate = self._head_rate if self.trainable_part == "mix" else FINE_TUNING_RATE
        defaults = {
            "optimizer": keras.optimizers.Adam(rate),
            **self._default_compile(),
        }
        # Not by `==`, which arrays and some objects of Keras do not answer with a bool.
        chosen = {
            name: defaults.get(name) if isinstance(value, str) and value == "auto" else value
            for name, value in self._compile_arguments.items()
        }
        super().compile(**chosen)

    def get_compile_config(self):
        # A file of a model that never trained has the optimizer's variables, too: Keras looks for
        # them when it loads the file, and warns if they are missing.
        if self.compiled and self.built and self.optimizer and not self.optimizer.built:
            self.optimizer.build(self.trainable_variables)
        config = super().get_compile_config()
        arguments = self._compile_arguments.items()
        auto = {
            name: "auto" for name, value in arguments if isinstance(value, str) and value == "auto"
        }
        return config and {**config, **auto}

    def compile_from_config(self, config):
        self.compile(**keras.saving.deserialize_keras_object(config))
        self.optimizer.build(self.trainable_variables)

    def fit(
        self,
        x: Texts | Iterable[Any],
        y: Labels | None = None,
        batch_size: int = 32,
        epochs: int = 1,
        *,
        validation_data: Any = None,
        validation_split: float = 0.0,
        shuffle: bool = True,
        class_weight: Mapping[Any, float] | None = None,
        sample_weight: Sequence[float] | HasArray | None = None,
        **kwargs: Any,
    ) -> Any:
        """Keras's `fit`.

        As long as nothing of the `Elmo` trains, the vectors of the texts are computed once, and not
        in each epoch, if they take at most 1 GB; so are those of the validation data. A
        `tf.data.Dataset` is embedded anew in each epoch.

        Args:
            x: texts, in any form that `keras_elmo.strings` takes; or a `tf.data.Dataset` of batches
                of texts and labels, and perhaps sample weights.
            y: the labels of each text.
            batch_size: int. Texts of a batch.
            epochs: int.
            validation_data: a pair of texts and labels, or a triple with sample weights, or a
                `tf.data.Dataset`.
            validation_split: float, from 0 to below 1. The share of the texts, at the end, that
                becomes the validation data.
            shuffle: bool. Another order in each epoch; a dataset has its own.
            class_weight: dict from labels to the weights of their texts in the loss.
            sample_weight: float, (N,). A weight for each text.
            **kwargs: `callbacks`, `verbose` and the other arguments of Keras.

        Returns:
            A `keras.callbacks.History`.

        Raises:
            ValueError: there are more texts than labels or fewer, or a label is not known.
            TypeError: a text is not a string, or a label not a label.
        """
        if isinstance(x, tf.data.Dataset):
            self._refuse_with_dataset(y=y, sample_weight=sample_weight)
            if validation_split:
                self._refuse_with_dataset(validation_split=validation_split)
            if self._labels is None:
                if x.cardinality() == tf.data.INFINITE_CARDINALITY:
                    raise ValueError(
                        "With a `tf.data.Dataset` without an end, `labels` must be given. "
                        "Received: labels=None"
                    )
                columns = (_column(self._find_labels(batch[1])) for batch in x)
                self._set_labels(LabelIndex.of(label for column in columns for label in column))
            data = self._encoded_dataset(x, class_weight)
        else:
            if self._labels is None and y is not None:
                self._set_labels(LabelIndex.of(self._find_labels(y)))
            data = self._examples(x, y, sample_weight, class_weight)
            self._before_fit(data)
            if validation_split:
                data, validation_data = _split(data, validation_split)
        if isinstance(validation_data, tf.data.Dataset):
            validation_data = self._encoded_dataset(validation_data)
        elif validation_data is not None and not isinstance(validation_data, Examples):
            try:
                validation_data = self._examples(*validation_data)
            except (ValueError, TypeError) as error:
                raise type(error)(f"`validation_data`: {error}") from None
        # All arguments are right. Now what takes time.
        progress = kwargs.get("verbose", "auto") != 0
        if isinstance(data, Examples):
            data = self._computed_once(data, progress).dataset(batch_size, shuffle)
        if isinstance(validation_data, Examples):
            order = validation_data.order_by_length()
            validation_data = self._computed_once(validation_data.rows(order), progress)
            validation_data = validation_data.dataset(batch_size)
        return super().fit(
            data, epochs=epochs, validation_data=validation_data, shuffle=False, **kwargs
        )

    def evaluate(
        self,
        x: Texts | Iterable[Any],
        y: Labels | None = None,
        batch_size: int = 32,
        *,
        sample_weight: Sequence[float] | HasArray | None = None,
        **kwargs: Any,
    ) -> Any:
        """Keras's `evaluate`; see `fit` for the arguments."""
        if "_use_cached_eval_dataset" in kwargs:  # Keras's `fit`, on data that it has
            return super().evaluate(x, **kwargs)
        self._check_labels()
        if isinstance(x, tf.data.Dataset):
            self._refuse_with_dataset(y=y, sample_weight=sample_weight)
            data = self._encoded_dataset(x)
        else:
            examples = self._examples(x, y, sample_weight)
            data = examples.rows(examples.order_by_length()).dataset(batch_size)
        return super().evaluate(data, **kwargs)

    def train_on_batch(
        self,
        x: Texts,
        y: Labels | None = None,
        sample_weight: Sequence[float] | HasArray | None = None,
        class_weight: Mapping[Any, float] | None = None,
        return_dict: bool = False,
    ) -> Any:
        """Keras's `train_on_batch`; see `fit` for the arguments."""
        self._check_labels()
        batch = self._examples(x, y, sample_weight, class_weight).batch()
        return super().train_on_batch(*batch, return_dict=return_dict)

    def test_on_batch(
        self,
        x: Texts,
        y: Labels | None = None,
        sample_weight: Sequence[float] | HasArray | None = None,
        return_dict: bool = False,
    ) -> Any:
        """Keras's `test_on_batch`; see `fit` for the arguments."""
        self._check_labels()
        batch = self._examples(x, y, sample_weight).batch()
        return super().test_on_batch(*batch, return_dict=return_dict)

    def predict_on_batch(self, x: Texts) -> Any:
        """What `predict` gives for texts."""
        return self.predict(x, verbose=0)

    def _predict(self, x, batch_size=32, **kwargs):
        """Keras's `predict`: what `predict_step` gives, as a dict of lists, an array a text."""
        self._check_labels()
        if isinstance(x, tf.data.Dataset):
            data, order = x.map(lambda *batch: self._texts(batch[0])), None
        else:
            examples = Examples(self._texts(x))
            order = examples.order_by_length().numpy()
            if not len(order):
                return None
            data = examples.rows(order).dataset(batch_size)
        outputs = super().predict(data, **kwargs)
        results = {}
        for name, values in outputs.items():
            values = list(values) if order is None else _unsort(values, order)
            results[name] = [np.asarray(value) for value in values]
        return results

    def _refuse_with_dataset(self, **arguments):
        for name, value in arguments.items():
            if value is not None:
                raise ValueError(
                    f"With a `tf.data.Dataset`, which holds all of it, `{name}` must be None. "
                    f"Received: {name}={type(value).__name__}"
                )

    def _examples(self, x, y, sample_weight=None, class_weight=None):
        if y is None:
            raise ValueError("There must be labels for the texts. Received: y=None")
        texts = self._texts(x)
        targets = self._encode(texts, y)
        examples = Examples(texts, targets, self._weights(targets, sample_weight, class_weight))
        if not examples.count():
            raise ValueError("There must be texts. Received: none")
        return examples

    def _weights(self, targets, sample_weight, class_weight):
        """The weights of the targets in the loss, float32, or `None`."""
        weights = None
        if sample_weight is not None:
            weights = tf.convert_to_tensor(np.asarray(sample_weight, np.float32))
            count = targets.shape[0]
            if weights.shape != (count,):
                raise ValueError(
                    f"`sample_weight` must hold a number for each of the {count:,} texts. "
                    f"Received: an array of shape {tuple(weights.shape)}"
                )
            # Of the rank of the targets: Keras's graph takes one rank in all calls of `fit`.
            if isinstance(targets, tf.RaggedTensor):
                weights = targets.with_flat_values(tf.repeat(weights, targets.row_lengths()))
        return _times_class_weights(targets, weights, self._weights_of_classes(class_weight))

    def _weights_of_classes(self, class_weight):
        """The weight of each label, float32, (labels,); or `None`."""
        if class_weight is None:
            return None
        if unknown := [label for label in class_weight if label not in self.labels]:
            raise ValueError(
                "`class_weight` must be a dict from labels to weights, with labels that are one of "
                f"{', '.join(map(str, self.labels))}. Received: {unknown[0]!r}"
            )
        return np.array([class_weight.get(label, 1.0) for label in self.labels], np.float32)

    def _encoded_dataset(self, dataset, class_weight=None):
        """A dataset of batches of texts and labels, the labels as numbers."""
        of_classes = self._weights_of_classes(class_weight)

        def encode(texts, labels, weights=None):
            texts, targets = self._encode_batch(self._texts(texts), labels)
            weights = _times_class_weights(targets, weights, of_classes)
            return Examples(texts, targets, weights).batch()

        return dataset.map(encode)

    @property
    def score(self) -> str:
        """The name of the figure that says how good the model is: `"accuracy"`,
        `"binary_accuracy"` (several labels a text), or `"f1"` (of entities)."""
        metric = self._default_compile()["metrics"][-1]
        return metric if isinstance(metric, str) else metric.name

    def early_stopping(self, patience: int = 5) -> keras.callbacks.EarlyStopping:
        """A callback for `fit`, which ends the training when the validation data's score no longer
        gets better, and then restores the weights of the best epoch.

        The score is the accuracy, or the F1 of entities. Their best epoch is often later than that
        of the loss.

        Args:
            patience: int. Epochs without a better score.
        """
        check_integers(1, patience=patience)
        return _EarlyStopping(mode="max", patience=patience, restore_best_weights=True)

    # Files

    def get_config(self):
        return {
            **super().get_config(),
            "model": keras.saving.serialize_keras_object(self.elmo),
            "labels": self.labels,
            "layers": self.elmo_layers,
            "word_size": self.word_size,
            "units": self.units,
            "dropout": self.dropout,
        }

    @classmethod
    def from_config(cls, config):
        known = {*inspect.signature(cls).parameters, "name", "dtype", "trainable"}
        if unknown := [key for key in config if key not in known]:
            raise ValueError(
                f"A saved {cls.__name__} must be of this version of keras_elmo, or of an earlier "
                f"one. Received: the unknown argument {unknown[0]!r}"
            )
        return cls(**config)


class _EarlyStopping(keras.callbacks.EarlyStopping):
    def on_train_begin(self, logs=None):
        self.monitor = f"val_{self.model.score}"  # which the labels say
        super().on_train_begin(logs)


def _times_class_weights(targets, weights, of_classes):
    """The weights of targets, or `None`, times those of their classes, or `None`."""
    if of_classes is None:
        return weights
    result = tf.ragged.map_flat_values(lambda values: tf.gather(of_classes, values), targets)
    if weights is None:
        return result
    weights = tf.cast(weights, tf.float32)
    if isinstance(result, tf.RaggedTensor) and weights.shape.rank == 1:
        weights = weights[:, None]  # of sentences, in a dataset
    return result * weights


def _column(values):
    return values.numpy().tolist() if tf.is_tensor(values) else values


def _split(examples, share):
    """Examples in two parts, of which the second has a share of them."""
    if not (is_number(share) and 0 < share < 1):
        raise ValueError(
            f"`validation_split` must be from 0 to below 1. Received: validation_split={share!r}"
        )
    count = int(examples.count() * (1 - share))
    if not 0 < count < examples.count():
        raise ValueError(
            "With `validation_split` both parts must have a text. "
            f"Received: validation_split={share} of {examples.count()} texts"
        )
    return examples.rows(tf.range(count)), examples.rows(tf.range(count, examples.count()))


def _unsort(values, order):
    """Rows in the order that they had before they were sorted."""
    result = [None] * len(order)
    for row, value in zip(order, values, strict=True):
        result[row] = value
    return result
