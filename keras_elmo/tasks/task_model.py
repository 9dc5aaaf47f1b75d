"""`TaskModel`: what `TextClassifier` and `Tagger` share."""

import functools
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from keras_elmo.annotations import AnyPath, Array, HasArray, Labels, Texts
from keras_elmo.checks import check_choice, check_counts, check_integers
from keras_elmo.export.saved_model import export_saved_model
from keras_elmo.models.contextual_model import check_restored
from keras_elmo.sources.addresses import push_to_hub
from keras_elmo.tasks.batches import batches, fitting, make_cache
from keras_elmo.tasks.elmo_with_head import ElmoWithHead
from keras_elmo.tasks.ending import BestEpoch, Scores, choose_ending, digest
from keras_elmo.tasks.examples import read_examples, read_validation, tokens_of
from keras_elmo.tasks.labels import LabelIndex
from keras_elmo.tasks.pretrained import load_task, save_folder
from keras_elmo.tasks.report import Report

if TYPE_CHECKING:
    from typing_extensions import Self

FINE_TUNING_RATE = 5e-4  # Adam's when LSTM layers train: a larger one makes them forget


class TaskModel(ElmoWithHead):
    """An `Elmo`, a head above it, and the labels that it tells apart.

    A subclass makes its head in `__init__`, of `_head_inputs`, and hands it to `_set_head`. It has
    `encode_labels(tokens, labels)`, which returns the targets, a tensor or a RaggedTensor; and
    `_report(targets, found)`, a `Report` of what `decode` says under the name `main_output`.
    """

    main_output = "probabilities"  # which a plain call of an exported model returns
    texts_read = 24_000  # of a training without `epochs` and without validation data

    def __init__(self, model, labels, layers, word_dim, dropout, **kwargs):
        super().__init__(model, layers, word_dim, dropout, **kwargs)
        self._labels = LabelIndex(labels)

    def _set_head(self, inputs, outputs, learning_rate, make_losses):
        """Sets the head, and compiles the model, with this rate as long as the biLM is frozen.

        `make_losses` returns a new loss, and new metrics, of which the last is the main one.
        """
        self.head = keras.Model(inputs, outputs, name="head")
        self._head_rate, self._make_losses = learning_rate, make_losses
        self.built = True
        # That of `Scores.of_weights`; and the callback of a `fit` that Keras's backups hold, too.
        self._score = self.ending = None
        self.compile()

    def _check_targets(self, examples):
        """Warns of the `Examples` that `fit` trains on, if there is reason to."""

    @property
    def labels(self) -> list[Any]:
        """The labels, a list in the order of the outputs."""
        return list(self._labels.names)

    @property
    def trainable_part(self) -> str:
        """The part of the `Elmo` that trains: `"none"`, `"mix"`, `"bilm"` or `"all"`, see `Elmo`.

        With `layers="all"` the head does not read the mix, which never trains then. A saved model
        keeps its part and `trainable`, but not what else of the head was frozen. A new part
        compiles the model anew, with the rate that is right for it; if you compiled it with an
        optimizer of your own, call `compile` again.
        """
        return self.elmo.trainable_part

    @trainable_part.setter
    def trainable_part(self, part: str) -> None:
        self._check_part(part)
        self.elmo.trainable_part = part
        if "optimizer" in self._auto:
            self._compile_again()

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
        loss, metrics = self._make_losses()
        rate = FINE_TUNING_RATE if self.trainable_part in ("bilm", "all") else self._head_rate
        defaults = {"optimizer": keras.optimizers.Adam(rate), "loss": loss, "metrics": metrics}
        self._auto = [name for name in defaults if str(arguments[name]) == "auto"]
        final = {**arguments, **{name: defaults[name] for name in self._auto}}
        super().compile(**final)
        given = keras.tree.flatten([final["metrics"], kwargs.get("weighted_metrics")])
        self._metric_names = [getattr(metric, "name", metric) for metric in given]
        # Not an attribute with the arguments, whose metrics Keras would take for the model's.
        self._compile_again = functools.partial(self.compile, **arguments)
        self._compiled_for = self._trained()

    def _trained(self):
        return ",".join(str(id(variable)) for variable in self.trainable_variables)

    def get_compile_config(self):
        # A file of a model that never trained has the optimizer's variables, too: Keras looks for
        # them when it loads the file, and warns if they are missing.
        if self.optimizer and not self.optimizer.built:
            self.optimizer.build(self.trainable_variables)
        config = super().get_compile_config()
        return config and {**config, **dict.fromkeys(self._auto, "auto")}

    def compile_from_config(self, config):
        self.compile(**keras.saving.deserialize_keras_object(config))
        self.optimizer.build(self.trainable_variables)

    def fit(
        self,
        x: Texts | Iterable[Any],
        y: Labels | None = None,
        batch_size: int = 32,
        epochs: int | None = None,
        *,
        validation_data: Any = None,
        validation_split: float = 0.0,
        validation_batch_size: int | None = None,
        shuffle: bool = True,
        class_weight: Mapping[Any, float] | str | None = None,
        sample_weight: Sequence[float] | HasArray | None = None,
        cache_bytes: int = 10**9,
        **kwargs: Any,
    ) -> Any:
        """Keras's `fit`, which without `epochs` trains to the end.

        Then, with validation data, the training ends as `early_stopping` says, with the weights of
        the best epoch. Without, the texts are read 8 to 80 times, more often the fewer they are (4
        times where LSTM layers train), and the weights become their mean over the second half of
        the epochs. With an optimizer that has `use_ema`, or a callback that chooses the weights
        (`EarlyStopping`, `SwapEMAWeights`), these stay; your callbacks come last. As long as
        nothing of the `Elmo` trains, the vectors of all texts are computed once.

        Args:
            x: texts, in any form that `Elmo.embed` takes; or batches of texts and labels, and
                perhaps sample weights: a `tf.data.Dataset`, a `keras.utils.PyDataset` or a
                generator. They are read once, in batches of the size of the first. Only with
                `steps_per_epoch`, which those without an end need, are they read as the training
                goes on, and embedded anew.
            y: the labels of each text.
            batch_size: int.
            epochs: int, or `None`, see above.
            validation_data: texts and labels, and perhaps sample weights, or batches of them.
            validation_split: float, from 0 to below 1. The share of the texts, at the end, that
                becomes the validation data.
            validation_batch_size: int, or `None`: `batch_size`.
            shuffle: bool. Another order in each epoch.
            class_weight: dict from labels to the weights of their texts, or tags, in the loss; or
                `"balanced"`: a label that is half as frequent has twice the weight.
            sample_weight: float, (N,). A weight for each text, 0 or above.
            cache_bytes: int. The memory that the vectors may take. More of them are in temporary
                files until `fit` ends; without room for these, the texts are embedded anew in each
                epoch.
            **kwargs: `callbacks`, `verbose` and the other arguments of Keras.

        Returns:
            A `keras.callbacks.History`.

        Raises:
            ValueError, TypeError: texts and labels do not belong together, or a label is not known.
            OSError: a temporary file cannot be written.
        """
        steps, validation_steps = map(kwargs.get, ("steps_per_epoch", "validation_steps"))
        check_integers(1, batch_size=batch_size)
        check_counts(validation_batch_size=validation_batch_size, steps_per_epoch=steps)
        check_integers(0, cache_bytes=cache_bytes, epochs=0 if epochs is None else epochs)
        if validation_split and validation_data is not None:
            rule = "`validation_split` must be 0 beside `validation_data`."
            raise ValueError(f"{rule} Received: validation_split={validation_split!r}")
        train = read_examples(self, x, y, sample_weight, batch_size, steps)
        self._check_targets(train)
        validation = None
        if validation_split:
            train, validation = train.split(validation_split)
        elif validation_data is not None:
            validation = read_validation(self, validation_data, train.batch_size, validation_steps)
        parts = [train.weighted(class_weight, self._labels)]
        if validation is not None:
            size = validation_batch_size or validation.batch_size
            validation = validation._replace(batch_size=size)
            parts.append(validation.by_length() if validation_steps is None else validation)
        if self.optimizer is None or self._compiled_for != self._trained():  # whoever changed it
            if "optimizer" in self._auto:
                self._compile_again()
            self.make_train_function(force=True)
        count = train.count() if steps is None else steps * train.batch_size
        epochs, callbacks = choose_ending(
            self, epochs, kwargs.pop("callbacks", None), count if validation is None else None
        )
        scores = Scores(self.main_metric)
        try:
            with tempfile.TemporaryDirectory() as folder, fitting() as errors:
                cache = make_cache(self, parts, cache_bytes, folder, kwargs.get("verbose") != 0)
                train, *validation = (
                    batches(part, self.elmo, shuffle and part is parts[0], cache, errors)
                    for part in parts
                )
                options = {"epochs": epochs, "callbacks": [scores, *callbacks], "shuffle": False}
                options["validation_data"] = validation[0] if validation else None
                history = super().fit(train, **options, **kwargs)
        finally:
            self.ending = None
        self._score = scores.of_weights()
        return history

    # Of these a model has none. Keras's `BackupAndRestore` writes the state of a training here.
    def save_own_variables(self, store):
        if self.ending is not None:
            self.ending.save_own_variables(store)

    def load_own_variables(self, store):
        if self.ending is not None:
            self.ending.load_own_variables(store)

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
        steps = kwargs.get("steps")
        examples = read_examples(self, x, y, sample_weight, batch_size, steps)
        if steps is None:
            examples = examples.by_length()
        with fitting() as errors:
            return super().evaluate(batches(examples, self.elmo, errors=errors), **kwargs)

    def predict(
        self, x: Texts | Iterable[Any], batch_size: int = 32, verbose: str | int = "auto"
    ) -> Array:
        """The probabilities of the labels; of a CRF's tags, over all sequences of tags.

        Args:
            x: texts, in any form; or a `tf.data.Dataset` of batches of them.
            batch_size: int.
            verbose: 0: no progress is shown.

        Returns:
            NumPy array, float32, (N, labels); of a tagger (N, tokens, tags), padded with zeros.
        """
        (rows,) = self._outputs(tokens_of(self.elmo, x), ["probabilities"], batch_size, verbose)
        widths = [max([1, *map(len, rows)])] if self._gives_tags() else []
        result = np.zeros((len(rows), *widths, len(self._labels)), np.float32)
        for index, row in enumerate(rows):
            result[index][: len(row)] = row
        return result

    def report(
        self, x: Texts | Iterable[Any], y: Labels | None = None, batch_size: int = 32
    ) -> Report:
        """The precision, recall, F1 and count of each label; of tags of entities, of each type.

        The numbers are those of scikit-learn's, and seqeval's, `classification_report`, and
        `print(report)` prints the same table.

        Args:
            x, y: texts and labels, see `fit`.
            batch_size: int.

        Returns:
            A `Report`: `report.classes[label].f1`, `report.averages["macro avg"].recall`.

        Raises:
            ValueError, TypeError: see `fit`.
        """
        examples = read_examples(self, x, y, batch_size=batch_size)
        (found,) = self._outputs(examples.tokens, [self.main_output], batch_size)
        return self._report(examples.targets, found)

    @property
    def main_metric(self) -> str:
        """The metric that counts: `"accuracy"`, `"binary_accuracy"` (several labels a text), or
        `"f1"` (of entities); `"loss"` if the model is compiled without it."""
        _, (*_, metric) = self._make_losses()
        name = metric if isinstance(metric, str) else metric.name
        return name if name in self._metric_names else "loss"

    def early_stopping(self, patience: int = 5) -> keras.callbacks.EarlyStopping:
        """A callback for `fit`, which ends the training when the validation data's `main_metric`
        got no better for `patience` epochs (int), and restores the weights of the best epoch.
        """
        check_integers(1, patience=patience)
        return BestEpoch(self.main_metric, patience)

    def export(self, filepath: AnyPath, format: str = "tf_saved_model", **kwargs: Any) -> None:
        """Writes what `export_saved_model` writes, which takes the `kwargs`."""
        check_choice(("tf_saved_model",), format=format)
        export_saved_model(self, filepath, **kwargs)

    @classmethod
    def from_pretrained(cls, source: AnyPath, tokenizer: Any = "auto") -> "Self":
        """Loads a model that is trained.

        Args:
            source: `"pos"`, the tagger of universal parts of speech in the package, or a name of
                another package; a *.keras file, or its address (`https://...`); a folder of
                `save_pretrained`, or its address on the Hugging Face Hub (`hf://user/name`).
            tokenizer: how raw text is split, see `Elmo`; `"auto"`: as it was in the training.
                `model.elmo.tokenizer = ...` changes it later.

        Raises:
            ValueError: there is no such model or tokenizer; or it is of another class; or labels,
                weights and the model that it was trained on do not belong together.
            OSError, ImportError: see `Elmo.from_pretrained`.
        """
        model = load_task(source, cls, compile=True)
        if tokenizer != "auto":
            model.elmo.tokenizer = tokenizer
        return model

    def save_pretrained(self, folder: AnyPath) -> None:
        """Writes a folder that `from_pretrained` reads: `task.json`, weights, and a model card.

        If the `Elmo` has the weights of a model with a name, such as `"tiny"`, the folder has those
        of the head alone. Of a card of `save_pretrained` (`README.md`) the facts are refreshed; any
        other stays.
        """
        save_folder(self, folder)

    def push_to_hub(self, repository: str, private: bool = False) -> None:
        """Uploads what `save_pretrained` writes to the Hugging Face Hub; see `Elmo.push_to_hub`."""
        push_to_hub(self, repository, private)

    def loading_code(self, name):
        """The Python code of the card; see `ContextualModel.loading_code`."""
        return f'model = keras_elmo.{type(self).__name__}.from_pretrained("{name}")'

    def facts(self):
        """What a model card tells, by the names of facts."""
        facts = {
            "what": f"A `{type(self).__name__}` of texts",
            "labels": self._labels.shown(50),
            **{f"ELMo: {name}": fact for name, fact in self.elmo.facts().items() if name != "what"},
        }
        if self._score is not None:
            metric, score, weights = self._score
            if weights == digest(self.weights):  # They were not set, loaded or trained on since.
                facts[f"{metric} of the validation data"] = f"{score:.3f}"
        return facts

    def __repr__(self):
        labels = f"{len(self._labels)} labels ({self._labels.shown(5)})"
        return f"<{type(self).__name__} {self.name}: {labels}; {self.elmo!r}>"

    def get_config(self):
        return {**super().get_config(), "labels": self.labels}

    @classmethod
    def from_config(cls, config):
        check_restored(config, "model")
        model = cls(**config)
        # Whoever restores it compiles it. Keras looks for the state of an optimizer that is there.
        model.optimizer = None
        return model
