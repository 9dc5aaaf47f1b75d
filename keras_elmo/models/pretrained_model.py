"""`PretrainedModel`."""

import json
import os

import keras

from keras_elmo.files import making_folder, replacing_file
from keras_elmo.models.string_model import StringModel
from keras_elmo.weights import hdf5, presets, sources, tf_checkpoint

DEFAULT_INITIALIZER = "glorot_uniform"


class PretrainedModel(StringModel):
    """A model whose `character_encoder` and `bilm` are files in the original's format.

    Its first argument is an `ElmoConfig`, kept as `config`.
    """

    _source = None  # where the weights come from, for `repr`

    @classmethod
    def from_pretrained(cls, source, **kwargs):
        """A model with published or own weights in the original's format.

        Args:
            source: `"tiny"`, the model in the package; the name of a published one (see
                `keras_elmo.weights.presets`), downloaded once and kept; a folder or a zip with
                `options.json` (or one `*_options.json`) and one `*.hdf5`; a folder with
                `options.json` and a checkpoint of the original trainer (TensorFlow 1); or a pair
                `(options, weights)` of paths.
            **kwargs: the arguments of the model but `config`.

        Returns:
            The model.

        Raises:
            ValueError: there is no such model, or its files do not hold one. See `load_weights`.
            OSError: a file cannot be opened or downloaded.
        """
        with sources.open_source(source) as (config, weights):
            model = cls(config, kernel_initializer="zeros", **kwargs)
            model.load_weights(weights)
        if isinstance(source, str | os.PathLike):
            model._source = os.fspath(source)
        model.kernel_initializer = keras.initializers.get(DEFAULT_INITIALIZER)
        return model

    def save_pretrained(self, folder):
        """Writes `options.json` and `weights.hdf5`, which `from_pretrained` and the originals read.

        Args:
            folder: path; made where it does not exist.
        """
        with making_folder(folder):
            self.save_weights(os.path.join(folder, "weights.hdf5"))
            with replacing_file(os.path.join(folder, "options.json")) as path:
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(self.config.to_options(), file, indent=2)
                    file.write("\n")

    def load_weights(self, filepath, **kwargs):
        """Loads weights of the original's format, of a checkpoint of the original trainer
        (TensorFlow 1), or Keras's own (`*.weights.h5`).

        See `keras_elmo.weights.load_weights` for the faults that it reports; a file with a fault
        changes nothing. A cached vocabulary is forgotten.
        """
        if _is_keras_file(filepath):
            super().load_weights(filepath, **kwargs)
        elif tf_checkpoint.find(filepath):
            tf_checkpoint.load_weights(filepath, self.character_encoder, self.bilm, **kwargs)
        else:
            hdf5.load_weights(filepath, self.character_encoder, self.bilm, **kwargs)
        self._source = os.fspath(filepath) if isinstance(filepath, str | os.PathLike) else None
        self.forget_tokens()

    def load_own_variables(self, store):
        super().load_own_variables(store)
        self._source = "a file of Keras"
        self.forget_tokens()

    def set_weights(self, weights):
        super().set_weights(weights)
        self._source = None
        self.forget_tokens()

    def save_weights(self, filepath, **kwargs):
        """Saves the weights in the original's format, or Keras's own (`*.weights.h5`).

        The original's format holds the character encoder and the biLM; the mixes are in Keras's.
        """
        if _is_keras_file(filepath):
            super().save_weights(filepath, **kwargs)
        else:
            hdf5.save_weights(filepath, self.character_encoder, self.bilm, **kwargs)

    def forget_tokens(self):
        """Called when the weights changed: what was computed from them is no longer true."""


def _is_keras_file(path):
    return isinstance(path, str | os.PathLike) and os.fspath(path).endswith(".weights.h5")


def check_is_no_model(cls, config, weights=None, num_mixes=1, unknown=()):
    """Raises a `ValueError` where a constructor is called for a model that must be loaded.

    Args:
        cls: the class of the model.
        config: its first argument.
        weights: its second argument, which is the weight file in AllenNLP's `Elmo`.
        num_mixes: its third argument.
        unknown: the names of further arguments.
    """
    if isinstance(config, os.PathLike):
        config = os.fspath(config)
    source = config
    if isinstance(weights, str | os.PathLike) and os.fspath(weights).endswith((".hdf5", ".h5")):
        source = presets.name_of(os.fspath(weights)) or (config, os.fspath(weights))
    elif not isinstance(config, str) or not (
        config in presets.names()
        or os.path.isdir(config)
        or config.endswith((".zip", ".hdf5", ".h5"))
    ):
        return
    mixes = f", num_mixes={num_mixes}" if num_mixes != 1 else ""
    dropout = " `dropout` is an argument of ElmoEmbedding." if "dropout" in unknown else ""
    raise ValueError(
        f"{cls.__name__}(config) makes a model with random weights. To load one, write "
        f"{cls.__name__}.from_pretrained({source!r}{mixes}).{dropout} Received: config={config!r}"
    )
