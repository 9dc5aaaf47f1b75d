"""`TaskModel`: what `TextClassifier` and `Tagger` share."""

import inspect
import itertools
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from keras_elmo.annotations import HasArray, Labels, Source, Texts
from keras_elmo.checks import check_dropout, check_integers, is_number, short_repr
from keras_elmo.files import tensorflow_reason
from keras_elmo.models.elmo import Elmo, to_elmo
from keras_elmo.models.outputs import give_symbolic_mask
from keras_elmo.progress import ProgressDisplay
from keras_elmo.signals import check_signals
from keras_elmo.tasks import examples as data
from keras_elmo.tasks.examples import Examples
from keras_elmo.tasks.labels import LabelIndex
from keras_elmo.text.inputs import call_strings
from keras_elmo.traced_function import without_trace_warnings

# Adam's learning rate when LSTM layers train too. A larger one makes them forget.
FINE_TUNING_RATE = 5e-4
LAYERS = ("all", "elmo")
_LOOK_AHEAD = 32  # batches of a dataset without an end that are checked before the training


class TaskModel(keras.Model):
    """An `Elmo` of its own, a head above it, and the labels that it tells apart.

    A subclass makes its head in `__init__`, between `_head_inputs` and `_set_head`, and has these
    methods: `_encode_labels`, `_decode`, and perhaps `_check_targets`.

    Attributes:
        elmo: the `Elmo`. One that was handed over was copied.
        head: a functional Keras model of `"vectors"`, float (batch, tokens, D), the layers of the
            `Elmo` side by side; `"words"`, int32 (batch, tokens), see `word_rows`; and `"mask"`,
            bool (batch, tokens).
    """

    def __init__(
        self,
        model: Elmo | Source | Mapping[str, Any],
        labels: Labels,
        layers: str = "all",
        word_dim: int = 64,
        dropout: float = 0.5,
        **kwargs: Any,
    ) -> None:
        own = {key: kwargs.pop(key) for key in ("name", "dtype", "trainable") if key in kwargs}
        super().__init__(**own)
        if layers not in LAYERS:
            raise ValueError(f"`layers` must be one of {list(LAYERS)}. Received: layers={layers!r}")
        check_integers(0, word_dim=word_dim)
        check_dropout(dropout)
        self._labels = LabelIndex(labels)
        if layers == "all" and not isinstance(model, Elmo | dict):
            kwargs.setdefault("trainable_part", "none")
        elmo = to_elmo(model, "model", self.dtype_policy, kwargs)
        if elmo.stateful:
            raise ValueError(
                "The model must be stateless, since texts are shuffled. "
                "Received: an Elmo with stateful=True"
            )
        self.elmo = elmo.copy() if elmo is model else elmo
        self.elmo_layers, self.word_dim, self.dropout = layers, int(word_dim), float(dropout)
        if layers == "all":
            self.elmo.freeze_mixes()
            if self.elmo.trainable_part == "mix":
                self.elmo.trainable_part = "none"
        self.supports_jit = False  # strings

    # The head

    def _head_inputs(self):
        """The inputs of the head: the vectors of each token with that of its word, (batch, tokens,
        D), and the mask, (batch, tokens)."""
        size = data.vector_size(self.elmo.config, self._names())
        vectors = keras.Input((None, size), name="vectors")
        words = keras.Input((None,), dtype="int32", name="words")
        mask = keras.Input((None,), dtype="bool", name="mask")
        self._symbolic_inputs = [vectors, words, mask]
        dtype, x = self.dtype_policy, vectors
        if self.word_dim:
            table = keras.layers.Embedding(
                data.WORD_ROWS, self.word_dim, dtype=dtype, name="word_vectors"
            )
            x = keras.layers.Concatenate(dtype=dtype, name="all_vectors")([x, table(words)])
        x = keras.layers.Dropout(self.dropout, dtype=dtype, name="vector_dropout")(x)
        return x, mask

    def _set_head(self, outputs, learning_rate, make_losses):
        """Sets the head by its outputs, and compiles the model.

        Args:
            outputs: what the head makes of `_head_inputs`.
            learning_rate: Adam's, if nothing of the biLM trains.
            make_losses: function of nothing to a new loss, and a list of new metrics, of which the
                last says how good the model is.
        """
        inputs = {tensor.name: tensor for tensor in self._symbolic_inputs}
        self.head = keras.Model(inputs, outputs, name="head")
        del self._symbolic_inputs
        self._head_rate, self._make_losses = learning_rate, make_losses
        self.built = True
        self._traces = {}  # of eager calls, by what they return
        self.compile()

    def _names(self):
        """The outputs of the `Elmo` that the head reads side by side."""
        if self.elmo_layers == "elmo":
            return ["elmo"]
        return ["word_emb", *(f"lstm_outputs{k + 1}" for k in range(self.elmo.config.num_layers))]

    def _encode_labels(self, tokens, labels):
        """Labels in any form as the targets of sentences: a tensor or a RaggedTensor."""
        raise NotImplementedError

    def _decode(self, outputs, name):
        """What is said of the head's outputs under a name, such as `"probabilities"`: a tensor."""
        raise NotImplementedError

    def _check_targets(self, examples):
        """Looks at the `Examples` that `fit` trains on."""

    # Calls

    def __call__(self, inputs: Texts, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(inputs, dict):  # of `fit`
            inputs = call_strings(inputs, self.elmo.tokenizer)
        return super().__call__(inputs, *args, **kwargs)

    def call(self, inputs, training=False):
        features = self._features(inputs)
        result = self.head(features, training=training)
        if self._gives_tags():
            result._keras_mask = features["mask"]  # losses and metrics leave the padding out
        return result

    def _gives_tags(self):
        """Whether the outputs have a token axis."""
        return self.head.output.shape[1] is None

    def _features(self, inputs):
        """Text, or a batch of `fit` (see `as_batch`), as what the head reads."""
        is_batch = isinstance(inputs, dict)
        if is_batch and "vectors" in inputs:
            mask = tf.sequence_mask(inputs["lengths"], tf.shape(inputs["words"])[1])
            return {"vectors": inputs["vectors"], "words": inputs["words"], "mask": mask}
        outputs = self.elmo.from_character_ids(inputs["ids"]) if is_batch else self.elmo(inputs)
        words = inputs["words"] if is_batch else data.word_rows(outputs["tokens"])
        vectors = ops.concatenate([outputs[name] for name in self._names()], axis=-1)
        width = tf.shape(words)[1]  # With `max_tokens` the outputs are wider than a batch.
        return {"vectors": vectors[:, :width], "words": words, "mask": outputs["mask"][:, :width]}

    def _trace(self, name):
        """A function of flat tokens and the lengths of the sentences to what `name` stands for."""

        def run(tokens, row_lengths):
            ragged = tf.RaggedTensor.from_row_lengths(tokens, row_lengths, validate=False)
            return self._decode(self.head(self._features(ragged), training=False), name)

        if name not in self._traces:
            signature = [tf.TensorSpec([None], tf.string), tf.TensorSpec([None], tf.int64)]
            traced = self.elmo.kernel_rounding.traced  # frozen kernels are rounded once
            self._traces[name] = traced(run, input_signature=signature)
        return self._traces[name]

    def compute_output_spec(self, inputs, training=None):
        if isinstance(inputs, dict):
            batch, width = inputs["words"].shape
        else:
            batch, width, _ = self.elmo.compute_output_spec(inputs)["elmo"].shape
        shape = [width if size is None else size for size in self.head.output.shape[1:]]
        result = keras.KerasTensor((batch, *shape), "float32")
        if self._gives_tags():
            give_symbolic_mask(result)
        return result

    # What trains, and how

    @property
    def labels(self) -> list[Any]:
        """The labels, a list in the order of the outputs."""
        return list(self._labels.names)

    @property
    def trainable_part(self) -> str:
        """The part of the `Elmo` that trains: `"none"`, `"mix"`, `"bilm"` or `"all"`, see `Elmo`.

        With `layers="all"` the head does not read the mix, which trains with no part then.

        A new part compiles the model anew, with the rate that is right for it. If you compiled it
        with an optimizer of your own, call `compile` again.
        """
        return self.elmo.trainable_part

    @trainable_part.setter
    def trainable_part(self, part: str) -> None:
        if part == "mix" and self.elmo_layers == "all":
            raise ValueError(
                'With `layers="all"`, which leaves the mix out, `trainable_part` must be "none", '
                f'"bilm" or "all". Received: trainable_part={part!r}'
            )
        self.elmo.trainable_part = part
        if "optimizer" in self._auto:
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
        arguments = {"optimizer": optimizer, "loss": loss, "metrics": metrics, **kwargs}
        # Not by `==`, which arrays and some objects of Keras do not answer with a bool.
        self._auto = {
            name: "auto" for name, v in arguments.items() if isinstance(v, str) and v == "auto"
        }
        self._compile_arguments = arguments
        loss, metrics = self._make_losses()
        rate = FINE_TUNING_RATE if self.trainable_part in ("bilm", "all") else self._head_rate
        defaults = {"optimizer": keras.optimizers.Adam(rate), "loss": loss, "metrics": metrics}
        super().compile(**{**arguments, **{name: defaults.get(name) for name in self._auto}})

    def get_compile_config(self):
        # A file of a model that never trained has the optimizer's variables, too: Keras looks for
        # them when it loads the file, and warns if they are missing.
        if self.optimizer and not self.optimizer.built:
            self.optimizer.build(self.trainable_variables)
        config = super().get_compile_config()
        return config and {**config, **self._auto}

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
        validation_batch_size: int | None = None,
        shuffle: bool = True,
        class_weight: Mapping[Any, float] | None = None,
        sample_weight: Sequence[float] | HasArray | None = None,
        cache_bytes: int = 10**9,
        **kwargs: Any,
    ) -> Any:
        """Keras's `fit`.

        As long as nothing of the `Elmo` trains, the vectors of all texts, also of the validation
        data, are computed once, before the first epoch.

        Args:
            x: texts, in any form that `keras_elmo.strings` takes; or a `tf.data.Dataset` of batches
                of texts and labels, and perhaps sample weights. A dataset is read once, and its
                texts are taken in batches of the size of its first. Only a dataset without an end
                (`dataset.repeat()`), or with `steps_per_epoch`, is read as the training goes on,
                and embedded anew.
            y: the labels of each text.
            batch_size: int. Texts of a batch.
            epochs: int.
            validation_data: a pair of texts and labels, or a triple with sample weights, or a
                `tf.data.Dataset`.
            validation_split: float, from 0 to below 1. The share of the texts, at the end, that
                becomes the validation data.
            validation_batch_size: int, or `None`: `batch_size`.
            shuffle: bool. Another order in each epoch.
            class_weight: dict from labels to the weights of their texts in the loss.
            sample_weight: float, (N,). A weight for each text.
            cache_bytes: int. The memory that the vectors may take. Those of larger data are in a
                temporary file until `fit` ends.
            **kwargs: `callbacks`, `verbose` and the other arguments of Keras.

        Returns:
            A `keras.callbacks.History`.

        Raises:
            ValueError: there are more texts than labels or fewer, or a label is not known.
            TypeError: a text is not a string, or a label not a label.
            OSError: the temporary file cannot be written.
        """
        check_integers(1, batch_size=batch_size, validation_batch_size=validation_batch_size or 1)
        check_integers(0, cache_bytes=cache_bytes)
        train, batch_size = self._read(
            x,
            y,
            batch_size,
            sample_weight,
            class_weight,
            steps=kwargs.get("steps_per_epoch"),
            check=self._check_targets,
        )
        validation_batch_size = validation_batch_size or batch_size
        if validation_split:
            _check_split(train, validation_split)
            train, validation_data = train.split(validation_split)
        elif validation_data is not None:
            validation_data, validation_batch_size = self._read_validation_data(
                validation_data, validation_batch_size, kwargs.get("validation_steps")
            )
        # All arguments are valid; the expensive part starts here.
        with tempfile.TemporaryDirectory() as folder, without_trace_warnings():
            cache = {"bytes": cache_bytes, "progress": kwargs.get("verbose", "auto") != 0}
            train = self._batches(train, batch_size, shuffle, {**cache, "path": f"{folder}/train"})
            if validation_data is not None:
                if isinstance(validation_data, Examples):
                    validation_data = validation_data.by_length()
                validation_data = self._batches(
                    validation_data,
                    validation_batch_size,
                    cache={**cache, "path": f"{folder}/validation"},
                )
            return super().fit(
                train, epochs=epochs, validation_data=validation_data, shuffle=False, **kwargs
            )

    def _read_validation_data(self, validation_data, batch_size, steps):
        if not isinstance(validation_data, tf.data.Dataset):
            is_pair = isinstance(validation_data, list | tuple) and len(validation_data) in (2, 3)
            if not is_pair:
                raise ValueError(
                    "`validation_data` must be a pair of texts and labels, a triple with sample "
                    f"weights, or a `tf.data.Dataset`. Received: {short_repr(validation_data)}"
                )
        try:
            if isinstance(validation_data, tf.data.Dataset):
                return self._read(validation_data, None, batch_size, steps=steps)
            texts, labels, *weights = validation_data
            return self._read(texts, labels, batch_size, *weights)
        except (ValueError, TypeError) as error:
            raise type(error)(f"`validation_data`: {error}") from None

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
        check_integers(1, batch_size=batch_size)
        found, batch_size = self._read(x, y, batch_size, sample_weight, steps=kwargs.get("steps"))
        if isinstance(found, Examples):
            found = found.by_length()
        with without_trace_warnings():
            return super().evaluate(self._batches(found, batch_size), **kwargs)

    def _read(
        self,
        x,
        y,
        batch_size,
        sample_weight=None,
        class_weight=None,
        steps=None,
        check=lambda examples: None,
    ):
        """Texts and labels in any form as `Examples`, or a dataset without an end as a dataset of
        batches; and the size of a batch. `check` is called with the examples that are known."""
        if not isinstance(x, tf.data.Dataset):
            examples = self._encode(x, y, sample_weight, class_weight)
            check(examples)
            return examples, batch_size
        for name, value in (("y", y), ("sample_weight", sample_weight)):
            if value is not None:
                raise ValueError(
                    f"With a `tf.data.Dataset`, which holds all of it, `{name}` must be None. "
                    f"Received: {name}={type(value).__name__}"
                )
        spec = x.element_spec
        if not (isinstance(spec, tuple) and len(spec) in (2, 3)) or not spec[0].shape.rank:
            raise ValueError(
                "A `tf.data.Dataset` must hold batches of texts and labels, and perhaps sample "
                f"weights: `dataset.batch(32)`. Received: a dataset of {spec}"
            )
        parts = []
        is_endless = steps is not None or x.cardinality() == tf.data.INFINITE_CARDINALITY
        for index, (texts, labels, *weights) in enumerate(x.take(_LOOK_AHEAD) if is_endless else x):
            try:
                parts.append(self._encode(texts, labels, *(weights or [None]), class_weight))
            except (ValueError, TypeError) as error:
                raise type(error)(f"{error} of batch {index}") from None
        if not parts:
            raise ValueError("There must be texts. Received: a dataset without batches")
        examples = data.join(parts)
        check(examples)
        if is_endless:
            return self._stream(x, parts[0], class_weight), batch_size
        return examples, parts[0].count()

    def _stream(self, dataset, first, class_weight):
        """A dataset of batches that are encoded as they come."""
        structure = first.padded()
        flat = tf.nest.flatten(structure)

        def encode(*batch):
            texts, labels, *weights = batch
            return tf.nest.flatten(
                self._encode(texts, labels, *(weights or [None]), class_weight).padded()
            )

        def encode_in_graph(*batch):
            found = tf.py_function(encode, batch, [tensor.dtype for tensor in flat])
            for tensor, like in zip(found, flat, strict=True):
                is_table = like.dtype == tf.float32 and not self._gives_tags()  # (batch, labels)
                width = like.shape[-1] if is_table else None
                tensor.set_shape([None, width][: like.shape.rank])
            return data.as_batch(tf.nest.pack_sequence_as(structure, found), self.elmo)

        return dataset.map(encode_in_graph).prefetch(1)

    def _encode(self, texts, labels, sample_weight=None, class_weight=None):
        """Texts and labels in any form as `Examples`. Every check is made here."""
        if labels is None:
            raise ValueError("There must be labels for the texts. Received: y=None")
        tokens = data.tokens_of(self.elmo, texts)
        targets = self._encode_labels(tokens, labels)
        weights = self._weights(targets, sample_weight, class_weight)
        if not tokens.nrows():
            raise ValueError("There must be texts. Received: none")
        return Examples(tokens, targets, weights)

    def _weights(self, targets, sample_weight, class_weight):
        """The weights of the targets in the loss, float32, or `None`."""
        if sample_weight is None and class_weight is None:
            return None
        is_ragged = isinstance(targets, tf.RaggedTensor)
        count = int(targets.nrows() if is_ragged else targets.shape[0])
        values = np.ones(count, np.float32)
        if sample_weight is not None:
            try:
                values = np.asarray(sample_weight, np.float32)
            except (ValueError, TypeError):
                values = np.zeros((0, 0), np.float32)  # lists of different lengths, or no numbers
            if values.shape != (count,):
                raise ValueError(
                    f"`sample_weight` must hold a number for each of the {count:,} texts. "
                    f"Received: {short_repr(sample_weight)}"
                )
        # Of the shape of the targets: Keras's graph takes one rank in all calls of `fit`.
        flat = targets.flat_values if is_ragged else targets
        values = tf.repeat(values, targets.row_lengths()) if is_ragged else tf.constant(values)
        if class_weight is not None:
            values *= tf.gather(self._weights_of_classes(flat, class_weight), flat)
        return targets.with_flat_values(values) if is_ragged else values

    def _weights_of_classes(self, targets, class_weight):
        """The weight of each label, float32, (labels,)."""
        names = ", ".join(self._labels.as_strings())
        if targets.shape.rank != 1:
            raise ValueError(
                "With several labels a text, `class_weight` must be None; pass `sample_weight`. "
                f"Received: class_weight={short_repr(class_weight)}"
            )
        if not isinstance(class_weight, Mapping):
            raise ValueError(
                "`class_weight` must be a dict from labels to weights, with labels that are one of "
                f"{names}. Received: class_weight={short_repr(class_weight)}"
            )
        if unknown := [label for label in class_weight if label not in self._labels.names]:
            raise ValueError(
                "`class_weight` must be a dict from labels to weights, with labels that are one of "
                f"{names}. Received: {short_repr(unknown[0])}"
            )
        return np.array([class_weight.get(label, 1.0) for label in self.labels], np.float32)

    def _batches(self, found, batch_size, shuffle=False, cache=None):
        """What `_read` gives as batches for Keras.

        Args:
            found: `Examples`, or a dataset of batches, which is returned unchanged.
            batch_size: int.
            shuffle: bool.
            cache: dict: in how many `"bytes"` the vectors of a frozen `Elmo` are kept, else in a
                file, whose `"path"` this is; and whether to show `"progress"`. `None`: each batch
                is embedded when it is read.
        """
        if not isinstance(found, Examples):
            return found
        if cache is None or self.elmo.trainable_variables:
            lengths = found.tokens.row_lengths().numpy()
            return data.batches(data.rows(found), self.elmo, lengths, batch_size, shuffle)
        names = self._names()
        extra = 2 if self.elmo.keep_sentence_boundaries else 0
        lengths = found.tokens.row_lengths().numpy() + extra
        row_bytes = 4 * (data.vector_size(self.elmo.config, names) + 1) * lengths.mean()
        path, buffer_size = "", None
        if row_bytes * len(lengths) > cache["bytes"]:
            path, buffer_size = cache["path"], max(batch_size, int(cache["bytes"] / row_bytes))
            if shuffle:  # The file is read in its order, of which a part is shuffled at a time.
                order = np.random.permutation(len(lengths))
                found, lengths = found.rows(order), lengths[order]
        try:
            rows = data.with_vectors(
                data.rows(found), self.elmo, found, names, path, cache["progress"]
            )
        except tf.errors.OpError as error:
            raise OSError(
                f"The vectors could not be written to a temporary file, {path}: "
                f"{tensorflow_reason(error)}"
            ) from None
        return data.batches(rows, self.elmo, lengths, batch_size, shuffle, buffer_size)

    # Predictions

    def _outputs(self, texts, name, batch_size, verbose=0):
        """What `name` stands for, see `_decode`, of each text: a list of arrays."""
        check_integers(1, batch_size=batch_size)
        tokens = data.tokens_of(self.elmo, texts)
        lengths = tokens.row_lengths().numpy()
        results, trace = [None] * len(lengths), self._trace(name)
        with ProgressDisplay(
            "predicting", len(lengths), unit="texts", is_shown=verbose != 0
        ) as display:
            order = np.argsort(lengths, kind="stable")
            for start in range(0, len(order), batch_size):
                rows = order[start : start + batch_size]
                batch = tf.gather(tokens, rows)
                outputs = trace(batch.flat_values, batch.row_lengths()).numpy()
                for row, output in zip(rows, outputs, strict=True):
                    results[row] = output[: lengths[row]] if self._gives_tags() else output
                display.advance(len(rows), len(rows))
                check_signals()
        return results

    def _probabilities(self, x, batch_size, verbose, steps):
        """Those of texts, or of the batches of a dataset: a list of arrays."""
        if not isinstance(x, tf.data.Dataset):
            if steps is not None:
                raise ValueError(
                    "`steps` must be None, but for a `tf.data.Dataset`. "
                    f"Received: steps={steps!r}, and {type(x).__name__}"
                )
            return self._outputs(x, "probabilities", batch_size, verbose)
        spec = x.element_spec[0] if isinstance(x.element_spec, tuple) else x.element_spec
        if not getattr(spec, "shape", tf.TensorShape([])).rank:
            raise ValueError(
                "A `tf.data.Dataset` must hold batches of texts: `dataset.batch(32)`. "
                f"Received: a dataset of {x.element_spec}"
            )
        if steps is None and x.cardinality() == tf.data.INFINITE_CARDINALITY:
            raise ValueError(
                "With a `tf.data.Dataset` without an end, `steps` must be given. "
                "Received: steps=None"
            )
        results = []
        for batch in itertools.islice(x, steps):
            texts = batch[0] if isinstance(batch, tuple) else batch
            results += self._outputs(texts, "probabilities", max(1, int(tf.shape(texts)[0])))
        return results

    @property
    def main_metric(self) -> str:
        """The name of the metric that says how good the model is: `"accuracy"`,
        `"binary_accuracy"` (several labels a text), or `"f1"` (of entities)."""
        _, (*_, metric) = self._make_losses()
        return metric if isinstance(metric, str) else metric.name

    def early_stopping(self, patience: int = 5) -> keras.callbacks.EarlyStopping:
        """A callback for `fit`, which ends the training when the validation data's `main_metric` no
        longer gets better, and then restores the weights of the best epoch.

        The best epoch of the metric is often later than that of the loss.

        Args:
            patience: int. Epochs without a better value.
        """
        check_integers(1, patience=patience)
        return keras.callbacks.EarlyStopping(
            f"val_{self.main_metric}", mode="max", patience=patience, restore_best_weights=True
        )

    # Files

    def get_config(self):
        return {
            **super().get_config(),
            "model": keras.saving.serialize_keras_object(self.elmo),
            "labels": self.labels,
            "layers": self.elmo_layers,
            "word_dim": self.word_dim,
            "dropout": self.dropout,
        }

    @classmethod
    def from_config(cls, config):
        known = {*inspect.signature(cls).parameters, "name", "dtype", "trainable"}
        if unknown := [key for key in config if key not in known]:
            raise ValueError(
                f"A saved {cls.__name__} must be of this version of keras_elmo. "
                f"Received: the unknown argument {unknown[0]!r}"
            )
        return cls(**config)


def _check_split(examples, share):
    if not isinstance(examples, Examples):
        raise ValueError(
            "With a `tf.data.Dataset` without an end, `validation_split` must be 0. "
            f"Received: validation_split={share!r}"
        )
    if not (is_number(share) and 0 < share < 1):
        raise ValueError(
            f"`validation_split` must be from 0 to below 1. Received: validation_split={share!r}"
        )
    if not 0 < int(examples.count() * (1 - share)) < examples.count():
        raise ValueError(
            "With `validation_split` both parts must have a text. "
            f"Received: validation_split={share} of {examples.count()} texts"
        )
