"""`TaskModel`: what `TextClassifier` and `Tagger` share."""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from keras_elmo.annotations import Array, HasArray, Labels, Source, Texts
from keras_elmo.checks import check_dropout, check_integers, is_number, short_repr
from keras_elmo.models.elmo import Elmo, to_elmo
from keras_elmo.models.outputs import give_symbolic_mask
from keras_elmo.process.progress import ProgressDisplay
from keras_elmo.process.signals import check_signals
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
    methods: `_encode_labels`, `decode`, and perhaps `_check_targets`.

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
        elmo = to_elmo(model, "model", self.dtype_policy, kwargs)
        if elmo.stateful:
            raise ValueError(
                "The model must be stateless, since texts are shuffled. "
                "Received: an Elmo with stateful=True"
            )
        self.elmo = elmo.copy() if elmo is model else elmo
        self.elmo_layers, self.word_dim, self.dropout = layers, int(word_dim), float(dropout)
        self.elmo.freeze_mixes(0 if layers == "all" else 1)
        if layers == "all" and self.elmo.trainable_part == "mix":
            self.elmo.trainable_part = "none"
        self.supports_jit = False  # strings

    # The head

    def _head_inputs(self):
        """The inputs of the head, a dict; and all vectors of each token, (batch, tokens, D)."""
        size = data.vector_size(self.elmo.config, self._names())
        inputs = {
            "vectors": keras.Input((None, size), name="vectors"),
            "words": keras.Input((None,), dtype="int32", name="words"),
            "mask": keras.Input((None,), dtype="bool", name="mask"),
        }
        dtype, x = self.dtype_policy, inputs["vectors"]
        if self.word_dim:
            table = keras.layers.Embedding(
                data.WORD_ROWS, self.word_dim, dtype=dtype, name="word_vectors"
            )
            join = keras.layers.Concatenate(dtype=dtype, name="all_vectors")
            x = join([x, table(inputs["words"])])
        dropout = keras.layers.Dropout(self.dropout, dtype=dtype, name="vector_dropout")
        return inputs, dropout(x)

    def _set_head(self, inputs, outputs, learning_rate, make_losses):
        """Sets the head, and compiles the model.

        Args:
            inputs: those of `_head_inputs`.
            outputs: what the head makes of them.
            learning_rate: Adam's, if nothing of the biLM trains.
            make_losses: function of nothing to a new loss, and a list of new metrics, of which the
                last says how good the model is.
        """
        self.head = keras.Model(inputs, outputs, name="head")
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

    def decode(self, outputs, name):
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
        batch = tf.shape(features["words"])[0]
        # The head reads one row of padding of an empty batch, whose convolutions would fail.
        missing = [[0, tf.maximum(1 - batch, 0)], [0, 0], [0, 0]]
        rows = {name: tf.pad(x, missing[: x.shape.rank]) for name, x in features.items()}
        result = self.head(rows, training=training)[:batch]
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
            return self.decode(self.call(ragged), name)

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

        With `layers="all"` the head does not read the mix, which trains with no part then. A saved
        model keeps its part and `trainable`, but not what else of the head was frozen.

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
        self._compiled_for = self._trained()

    def _trained(self):
        """What trains, to be compared."""
        return ",".join(str(id(variable)) for variable in self.trainable_variables)

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
            x: texts, in any form that `Elmo.embed` takes; or a `tf.data.Dataset` of batches of
                texts and labels, and perhaps sample weights. It is read once, in batches of the
                size of its first. Only with `steps_per_epoch`, which one without an end needs, is
                it read as the training goes on, and embedded anew.
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
            cache_bytes: int. The memory that the vectors may take. Beyond it they are in a
                temporary file until `fit` ends.
            **kwargs: `callbacks`, `verbose` and the other arguments of Keras.

        Returns:
            A `keras.callbacks.History`.

        Raises:
            ValueError: there are more texts than labels or fewer, or a label is not known.
            TypeError: a text is not a string, or a label not a label.
            OSError: the temporary file cannot be written.
        """
        check_integers(1, batch_size=batch_size)
        check_integers(0, cache_bytes=cache_bytes)
        if validation_batch_size is not None:
            check_integers(1, validation_batch_size=validation_batch_size)
        steps = kwargs.get("steps_per_epoch")
        if isinstance(x, tf.data.Dataset) and validation_split:
            raise _not_beside_a_dataset("validation_split", validation_split)
        if validation_split and validation_data is not None:
            raise ValueError(
                "`validation_split` must be 0 beside `validation_data`. "
                f"Received: validation_split={validation_split!r}"
            )
        train = self._read(x, y, sample_weight, class_weight, batch_size=batch_size, steps=steps)
        self._check_targets(train.examples)
        validation = None
        if validation_split:
            train, validation = train.split(validation_split)
        elif validation_data is not None:
            steps = kwargs.get("validation_steps")
            if isinstance(validation_data, tf.data.Dataset):
                validation_data = (validation_data,)
            elif not (isinstance(validation_data, tuple | list) and len(validation_data) in (2, 3)):
                raise ValueError(
                    "`validation_data` must be a pair of texts and labels, a triple with sample "
                    f"weights, or a `tf.data.Dataset`. Received: {short_repr(validation_data)}"
                )
            try:
                validation = self._read(*validation_data, batch_size=train.batch_size, steps=steps)
            except (ValueError, TypeError) as error:
                raise type(error)(f"`validation_data`: {error}") from None
        # All arguments are valid; the expensive part starts here.
        if self._compiled_for != self._trained():  # whoever changed it
            if "optimizer" in self._auto:
                self.compile(**self._compile_arguments)
            self.make_train_function(force=True)
        with tempfile.TemporaryDirectory() as folder, without_trace_warnings():
            is_shown = kwargs.get("verbose", "auto") != 0
            cache = {"size": cache_bytes, "folder": folder, "progress": is_shown}
            train = self._batches(train, shuffle, cache)
            if validation is not None:
                size = validation_batch_size or validation.batch_size
                validation = validation._replace(batch_size=size)
                if kwargs.get("validation_steps") is None:
                    validation = validation.by_length()
                validation = self._batches(validation, cache=cache)
            return super().fit(
                train, epochs=epochs, validation_data=validation, shuffle=False, **kwargs
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
        check_integers(1, batch_size=batch_size)
        found = self._read(x, y, sample_weight, batch_size=batch_size, steps=kwargs.get("steps"))
        if kwargs.get("steps") is None:
            found = found.by_length()
        with without_trace_warnings():
            return super().evaluate(self._batches(found), **kwargs)

    def _read(self, x, y=None, sample_weight=None, class_weight=None, *, batch_size, steps=None):
        """Texts and labels in any form as `Data`. With `steps` a dataset stays a stream."""
        is_dataset, batches = isinstance(x, tf.data.Dataset), [(x, y)]
        is_streamed = is_dataset and steps is not None
        if is_dataset:
            for name, value in (("y", y), ("sample_weight", sample_weight)):
                if value is not None:
                    raise _not_beside_a_dataset(name, value)
            x = data.check_dataset(x, (2, 3), "texts and labels, and perhaps sample weights", steps)
            batches = x.take(_LOOK_AHEAD) if is_streamed else x
        parts = []
        for index, (texts, labels, *weights) in enumerate(batches):
            try:
                weights = weights[0] if weights else sample_weight
                parts.append(self._encode(texts, labels, weights, class_weight))
            except (ValueError, TypeError) as error:
                place = f" of batch {index}" if is_dataset else ""
                raise type(error)(f"{error}{place}") from None
        if not sum(part.count() for part in parts):
            raise ValueError("There must be texts. Received: none")
        stream = self._stream(x, parts[0], class_weight) if is_streamed else None
        return Data(data.join(parts), parts[0].count() if is_dataset else batch_size, stream)

    def _stream(self, dataset, first, class_weight):
        """A dataset of batches that are encoded as they come."""
        structure = first.padded()
        flat = tf.nest.flatten(structure)

        def encode(texts, labels, *weights):
            examples = self._encode(texts, labels, *(weights or [None]), class_weight)
            return tf.nest.flatten(examples.padded())

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
        if sample_weight is None and class_weight is None:
            return Examples(tokens, targets)
        count = int(tokens.nrows())
        try:
            weights = np.ones(count) if sample_weight is None else sample_weight
            weights = np.asarray(weights, np.float32).reshape(count)
        except (ValueError, TypeError):  # of another length, or no numbers
            raise ValueError(
                f"`sample_weight` must hold a number for each of the {count:,} texts. "
                f"Received: {short_repr(sample_weight)}"
            ) from None
        # Of the shape of the targets: Keras's graph takes one rank in all calls of `fit`.
        if not isinstance(targets, tf.RaggedTensor):
            return Examples(tokens, targets, weights * self._class_weights(targets, class_weight))
        weights = tf.repeat(weights, targets.row_lengths())
        weights *= self._class_weights(targets.flat_values, class_weight)
        return Examples(tokens, targets, targets.with_flat_values(weights))

    def _class_weights(self, targets, class_weight):
        """The weights of targets by their labels, float32, (N,); or 1."""
        if class_weight is None:
            return 1.0
        wrong = [class_weight]
        if isinstance(class_weight, Mapping) and targets.shape.rank == 1:
            items = class_weight.items()
            wrong = [k for k, w in items if k not in self.labels or not is_number(w)]
        if wrong:
            raise ValueError(
                "`class_weight` must be a dict from labels to weights, with labels that are one of "
                f"{', '.join(self._labels.as_strings())}; and with several labels a text, None "
                f"(pass `sample_weight`). Received: {short_repr(wrong[0])}"
            )
        return tf.gather([float(class_weight.get(label, 1)) for label in self.labels], targets)

    def _batches(self, found, shuffle=False, cache=None):
        """`Data` as batches for Keras.

        Args:
            found: `Data`.
            shuffle: bool.
            cache: dict: in what `"size"` of memory the vectors of a frozen `Elmo` are kept (this
                becomes what is left of it), and in which `"folder"` else; and whether to show
                `"progress"`. `None`: each batch is embedded when it is read.
        """
        examples, batch_size, stream = found
        if stream is not None:
            return stream
        elmo, count = self.elmo, examples.count()
        buffer_size = count if shuffle else None
        if shuffle:
            examples = data.shuffled(examples, batch_size)
        if cache is None or elmo.trainable_variables:
            return data.batches(data.rows(examples), elmo, count, batch_size, buffer_size)
        tokens = int(tf.size(examples.tokens.flat_values))
        tokens += 2 * count * elmo.keep_sentence_boundaries
        size, path = 4 * (1 + data.vector_size(elmo.config, self._names())) * tokens, ""
        if size > cache["size"]:
            path = f"{tempfile.mkdtemp(dir=cache['folder'])}/vectors"
            share = cache["size"] / size / 2  # of the file, which is read in its order
            buffer_size = max(batch_size, int(count * share)) if shuffle else None
            size = cache["size"] // 2
        cache["size"] -= size
        rows = data.with_vectors(examples, elmo, self._names(), path, cache["progress"])
        return data.batches(rows, elmo, count, batch_size, buffer_size)

    # Predictions

    def predict(
        self,
        x: Texts | Iterable[Any],
        batch_size: int = 32,
        verbose: str | int = "auto",
        steps: int | None = None,
    ) -> Array:
        """The probabilities of the labels; of a CRF's tags, over all sequences of tags.

        Args:
            x: texts, in any form; or a `tf.data.Dataset` of batches of them.
            batch_size: int.
            verbose: 0: no progress is shown.
            steps: int. The batches of a dataset that are read; `None`: all.

        Returns:
            NumPy array, float32, (N, labels); of a tagger (N, tokens, tags), with zeros after the
            end of a sentence.
        """
        if steps is not None and not isinstance(x, tf.data.Dataset):
            raise ValueError(
                "`steps` must be None, but for a `tf.data.Dataset`. "
                f"Received: steps={steps!r}, and {type(x).__name__}"
            )
        tokens = data.tokens_of(self.elmo, data.as_rows(x, self.elmo.tokenizer, steps))
        rows = self._outputs(tokens, "probabilities", batch_size, verbose)
        widths = [max([1, *map(len, rows)])] if self._gives_tags() else []
        result = np.zeros((len(rows), *widths, len(self._labels)), np.float32)
        for index, row in enumerate(rows):
            result[index][: len(row)] = row
        return result

    def _outputs(self, tokens, name, batch_size, verbose=0):
        """What `name` stands for, see `decode`, of each sentence: a list of arrays."""
        check_integers(1, batch_size=batch_size)
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


class Data(NamedTuple):
    """What `fit` and `evaluate` read.

    Attributes:
        examples: `Examples`; of a dataset without an end the first ones.
        batch_size: int.
        stream: such a dataset, as batches for Keras; or `None`.
    """

    examples: Examples
    batch_size: int
    stream: Any = None

    def by_length(self):
        """The data from the shortest text to the longest. Batches of like length have little
        padding."""
        order = tf.argsort(self.examples.tokens.row_lengths(), stable=True)
        return self._replace(examples=self.examples.rows(order))

    def split(self, share):
        """The data without the last of it, and a share of all: this."""
        count = self.examples.count()
        first = int(count * (1 - share)) if is_number(share) else 0
        if not 0 < first < count:
            raise ValueError(
                "`validation_split` must be from 0 to below 1, and both parts must have a text. "
                f"Received: validation_split={share!r} of {count:,} texts"
            )
        parts = tf.range(first), tf.range(first, count)
        return [self._replace(examples=self.examples.rows(rows)) for rows in parts]


def _not_beside_a_dataset(name, value):
    return ValueError(
        f"With a `tf.data.Dataset`, which holds all of it, `{name}` must be None. "
        f"Received: {name}={short_repr(value)}"
    )
