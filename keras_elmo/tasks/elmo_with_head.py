"""`ElmoWithHead`: the layers of a task."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from keras_elmo.annotations import Texts
from keras_elmo.checks import check_choice, check_dropout, check_integers
from keras_elmo.models.elmo import to_elmo
from keras_elmo.models.outputs import give_symbolic_mask, vector_size
from keras_elmo.process.progress import ProgressBar
from keras_elmo.process.signals import check_signals
from keras_elmo.tasks.batches import WORD_ROWS, word_rows
from keras_elmo.text.tensors import call_strings


class ElmoWithHead(keras.Model):
    """An `Elmo` of its own, and a `head` above it, which a subclass makes of `_head_inputs`.

    It has `decode(outputs, name)`, what is said of the head's outputs, such as `"probabilities"`.
    """

    def __init__(self, model, layers, word_dim, dropout, **kwargs):
        own = {key: kwargs.pop(key) for key in ("name", "dtype", "trainable") if key in kwargs}
        super().__init__(**own)
        check_choice(("all", "elmo"), layers=layers)
        check_integers(0, word_dim=word_dim)
        check_dropout(dropout)
        self.elmo_layers, self.word_dim, self.dropout = layers, int(word_dim), float(dropout)
        self._check_part(kwargs.get("trainable_part"))
        elmo = to_elmo(model, "model", self.dtype_policy, kwargs, tokenizer="treebank")
        if elmo.stateful:
            raise ValueError("The model must be stateless. Received: an Elmo with stateful=True")
        self.elmo = elmo.copy() if elmo is model else elmo
        self.vector_names = ("elmo",)
        if layers == "all":
            lstms = (f"lstm_outputs{k}" for k in range(1, 1 + self.elmo.config.num_layers))
            self.vector_names = ("word_emb", *lstms)
            if self.elmo.trainable_part == "mix":
                self.elmo.trainable_part = "none"
        self.elmo.freeze_mixes(self.vector_names.count("elmo"))
        self.supports_jit = False  # strings
        self._traces = {}  # of eager calls, by what they return

    def _head_inputs(self):
        """The inputs of the head, a dict; and all vectors of each token, (batch, tokens, D).

        The words are numbers, see `word_rows`.
        """
        size = vector_size(self.elmo.config, self.vector_names)
        inputs = {
            "vectors": keras.Input((None, size), name="vectors"),
            "mask": keras.Input((None,), dtype="bool", name="mask"),
        }
        dtype, x = self.dtype_policy, inputs["vectors"]
        if self.word_dim:
            inputs["words"] = keras.Input((None,), dtype="int32", name="words")
            table = keras.layers.Embedding(
                WORD_ROWS, self.word_dim, dtype=dtype, name="word_vectors"
            )
            join = keras.layers.Concatenate(dtype=dtype, name="all_vectors")
            x = join([x, table(inputs["words"])])
        dropout = keras.layers.Dropout(self.dropout, dtype=dtype, name="vector_dropout")
        return inputs, dropout(x)

    def _check_part(self, part):
        if part == "mix" and self.elmo_layers == "all":
            raise ValueError(
                'With `layers="all"`, which leaves the mix out, `trainable_part` must be "none", '
                f'"bilm" or "all". Received: trainable_part={part!r}'
            )

    def __call__(self, inputs: Texts, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(inputs, dict):  # of `fit`
            inputs = call_strings(inputs, self.elmo.tokenizer)
        return super().__call__(inputs, *args, **kwargs)

    def call(self, inputs, training=False):
        features = self._features(inputs)
        batch = tf.shape(features["words"])[0]
        # The head reads one row of padding of an empty batch, whose convolutions would fail.
        missing = [[0, tf.maximum(1 - batch, 0)], [0, 0], [0, 0]]
        rows = {
            name: tf.pad(features[name], missing[: x.ndim]) for name, x in self.head.input.items()
        }
        result = self.head(rows, training=training)[:batch]
        if self._gives_tags():  # for each token
            result._keras_mask = features["mask"]  # losses and metrics leave the padding out
        return result

    def _gives_tags(self):
        return self.head.output.shape[1] is None

    def _features(self, inputs):
        """Text, or a batch of `fit` (see `as_batch`), as what the head reads."""
        if not isinstance(inputs, dict):
            outputs = self.elmo(inputs)
            words, mask = word_rows(outputs["tokens"]), outputs["mask"]
            return {"vectors": self._side_by_side(outputs), "words": words, "mask": mask}
        width = tf.shape(inputs["words"])[1]
        vectors = inputs.get("vectors")
        if vectors is None:  # With `max_tokens` the outputs are wider than the batch.
            outputs = self.elmo.from_character_ids(inputs["ids"])
            vectors = self._side_by_side(outputs)[:, :width]
        mask = tf.sequence_mask(inputs["lengths"], width)
        return {"vectors": vectors, "words": inputs["words"], "mask": mask}

    def _side_by_side(self, outputs):
        return ops.concatenate([outputs[name] for name in self.vector_names], axis=-1)

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

    def _outputs(self, tokens, names, batch_size, verbose=0):
        """What `decode` says under each name: a list of arrays, one for each sentence."""
        check_integers(1, batch_size=batch_size)
        lengths = tokens.row_lengths().numpy()
        results, trace = [[None] * len(lengths) for _ in names], self._trace(*names)
        with ProgressBar("predicting", len(lengths), "texts", is_shown=verbose != 0) as bar:
            order = np.argsort(lengths, kind="stable")
            for start in range(0, len(order), batch_size):
                rows = order[start : start + batch_size]
                batch = tf.gather(tokens, rows)
                found = trace(batch.flat_values, batch.row_lengths())
                for result, outputs in zip(results, found, strict=True):
                    for row, output in zip(rows, outputs.numpy(), strict=True):
                        result[row] = output[: lengths[row]] if self._gives_tags() else output
                bar.update(len(rows))
                check_signals()
        return results

    def _trace(self, *names):
        def run(tokens, row_lengths):
            ragged = tf.RaggedTensor.from_row_lengths(tokens, row_lengths, validate=False)
            outputs = self.call(ragged)
            return [self.decode(outputs, name) for name in names]

        if names not in self._traces:
            signature = [tf.TensorSpec([None], tf.string), tf.TensorSpec([None], tf.int64)]
            traced = self.elmo.kernel_rounding.traced  # frozen kernels are rounded once
            self._traces[names] = traced(run, input_signature=signature)
        return self._traces[names]

    def get_config(self):
        return {
            **super().get_config(),
            "model": keras.saving.serialize_keras_object(self.elmo),
            "layers": self.elmo_layers,
            "word_dim": self.word_dim,
            "dropout": self.dropout,
        }
