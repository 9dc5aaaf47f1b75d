"""`ContextualModel`."""

import contextlib
import os
import threading
from collections.abc import Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any

import keras
import numpy as np
import numpy.typing as npt
from keras import ops

from keras_elmo import sources, text
from keras_elmo.annotations import AnyPath, Array, HasArray, Options, Sentences, Source, Texts
from keras_elmo.backend import ON_TENSORFLOW, check_backend, tf
from keras_elmo.checks import short_repr
from keras_elmo.config import ElmoConfig
from keras_elmo.layers import BiLM, CharCNNEmbedding
from keras_elmo.models import token_encoder
from keras_elmo.models.kernel_rounding import KernelRounding
from keras_elmo.models.token_encoder import TokenEncoder, sequence_mask
from keras_elmo.sources import names
from keras_elmo.sources.addresses import push_to_hub
from keras_elmo.sources.card import write_card
from keras_elmo.sources.weight_files import WeightFiles, is_keras_file
from keras_elmo.text.character_ids import ByteScheme, rows_of_sentences
from keras_elmo.text.dictionary_scheme import DictionaryScheme
from keras_elmo.text.reading import check_tokens, read_words
from keras_elmo.text.tensors import call_strings, fit_strings
from keras_elmo.text.tokenizers import tokenizer_code
from keras_elmo.weights import hdf5, model_files

if TYPE_CHECKING:
    from typing_extensions import Self

DEFAULT_INITIALIZER = "glorot_uniform"
# Arguments that the files of `save_pretrained` hold, or that are set after the loading.
_IN_FILES = {"config", "vocabulary", "kernel_initializer", "initial_scalars", "kwargs"}


class ContextualModel(keras.Model):
    """What lies below the mixes: words to token embeddings, and these to the biLM's layers.

    `__call__`, `fit`, `evaluate` and `predict` take text in every form of `keras_elmo.strings`,
    also in `validation_data`. A `tf.data.Dataset` or a generator of batches is passed on to Keras.
    The outputs of `predict` are padded to the longest sentence of all batches.
    """

    source: str | None = None  # where the weights come from, for `repr` and manifests
    mixes: Sequence[Any] = ()  # the `ScalarMix`es, which few files have weights for
    max_tokens: int | None = None  # tokens of a sentence that are read at most; `None`: all

    def __init__(
        self,
        config: ElmoConfig | Options,
        tokenizer: Any = "whitespace",
        kernel_initializer: Any = DEFAULT_INITIALIZER,
        matmul_dtype: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not isinstance(config, ElmoConfig):
            config = ElmoConfig.from_options(config)
        self.config = config
        self._exported = threading.local()
        self.tokenizer = tokenizer
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.supports_jit = not ON_TENSORFLOW  # XLA does not take strings.

        dtype = self.dtype_policy
        scheme = ByteScheme(config.max_characters)
        if config.dictionary is not None:
            scheme = DictionaryScheme(config.dictionary, config.max_characters)
        self.character_encoder = CharCNNEmbedding(
            filters=config.filters,
            character_dim=config.character_dim,
            num_highway=config.num_highway,
            projection_dim=config.projection_dim if config.has_token_projection else None,
            activation=config.activation,
            num_characters=scheme.num_characters,
            word_padding=scheme.word_padding,
            num_words=scheme.num_words,
            word_dim=config.word_dim or None,
            kernel_initializer=self.kernel_initializer,
            dtype=dtype,
            name="character_encoder",
        )
        self.bilm = BiLM(
            units=config.units,
            projection_dim=config.projection_dim if config.has_projection else None,
            num_layers=config.num_layers,
            cell_clip=config.cell_clip,
            projection_clip=config.projection_clip,
            use_skip_connections=config.use_skip_connections,
            always_project=config.has_projection,
            return_state=True,
            kernel_initializer=self.kernel_initializer,
            dtype=dtype,
            name="bilm",
        )
        self.character_encoder.build((None, scheme.ids_per_token))
        self.bilm.build((None, None, config.projection_dim))
        self.kernel_rounding = KernelRounding(matmul_dtype)
        self.token_encoder = TokenEncoder(self.character_encoder, scheme, self.kernel_rounding)

    def __repr__(self):
        if not self.built:
            return super().__repr__()
        config = self.config
        trainable = [layer.name for layer in self.layers if layer.trainable_variables]
        tokenizer = "no tokenizer" if self.tokenizer is None else type(self.tokenizer).__name__
        return (
            f"<{type(self).__name__} {self.name}"
            + (f" from {self.source!r}" if self.source else "")
            + f": {self.count_params():,} parameters, {config.num_layers} LSTM layers in each "
            f"direction, outputs of {config.output_dim:,}; {tokenizer}; "
            f"trainable layers: {', '.join(trainable) or 'none'}>"
        )

    @property
    def matmul_dtype(self) -> str | None:
        """`None` or `"bfloat16"`. A Keras model around this one takes a change when compiled."""
        return self.kernel_rounding.dtype

    @matmul_dtype.setter
    def matmul_dtype(self, dtype: str | None) -> None:
        self.kernel_rounding.set_dtype(dtype)
        self.train_function = self.test_function = self.predict_function = None  # Keras's graphs

    def round_kernels(self) -> None:
        """Call this after `variable.assign` or `tf.train.Checkpoint.restore` on a frozen kernel.

        With `matmul_dtype="bfloat16"` calls read frozen kernels that were rounded once. Every way
        of loading, and a change of what trains, rounds them anew by itself.
        """
        self.kernel_rounding.expire()

    @property
    def weights(self):
        # `set_weights`, also that of a model around this one, assigns to what it reads here.
        self.kernel_rounding.expire()
        return super().weights

    @property
    def tokenizer(self) -> Any:
        """What splits raw strings, or `None`. It is set by a name, too; see `matmul_dtype`."""
        return getattr(self._exported, "tokenizer", self._tokenizer)

    @tokenizer.setter
    def tokenizer(self, tokenizer: Any) -> None:
        self._tokenizer = text.get_tokenizer(tokenizer)
        self.train_function = self.test_function = self.predict_function = None  # Keras's graphs

    @contextlib.contextmanager
    def exporting(self, tokenizer, limit):
        """A context of this thread: calls use a tokenizer, and refuse more tokens than `limit`."""
        self._exported.tokenizer, self._exported.limit = tokenizer, limit
        try:
            yield
        finally:
            del self._exported.tokenizer, self._exported.limit

    # Text in any form

    check_backend = staticmethod(check_backend)

    def __call__(self, inputs: Texts, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return super().__call__(call_strings(inputs, self.tokenizer), *args, **kwargs)

    def fit(self, x: Any = None, *args: Any, validation_data: Any = None, **kwargs: Any) -> Any:
        if isinstance(validation_data, list | tuple) and validation_data:
            texts, *targets = validation_data
            validation_data = (fit_strings(texts, self.tokenizer), *targets)
        x = fit_strings(x, self.tokenizer)
        return super().fit(x, *args, validation_data=validation_data, **kwargs)

    def evaluate(self, x: Any = None, *args: Any, **kwargs: Any) -> Any:
        return super().evaluate(fit_strings(x, self.tokenizer), *args, **kwargs)

    def predict(self, x: Any, *args: Any, **kwargs: Any) -> dict[str, npt.NDArray[Any]]:
        x = fit_strings(x, self.tokenizer)
        if not ON_TENSORFLOW:
            return super().predict(x, *args, **kwargs)
        if tf.is_tensor(x) and x.shape.rank == 1 and x.shape[0] == 0:  # Keras fails on no batch
            return keras.tree.map_structure(np.asarray, self(x))

        def to_dense(value):
            return value.to_tensor().numpy() if isinstance(value, tf.RaggedTensor) else value

        return keras.tree.map_structure(to_dense, super().predict(x, *args, **kwargs))

    def token_embeddings(self, words: Sequence[str] | HasArray) -> Array:
        """The embeddings of single words, as the biLM reads them: float32, (words, projection_dim).

        `"<S>"` and `"</S>"` are words like others. It raises a `ValueError` if the words are not a
        list of strings, or most of them hold whitespace, like sentences.
        """
        tensor = text.strings(words)
        if isinstance(words, str | bytes) or tensor.shape.rank != 1:
            shape = tuple(tensor.shape)
            raise ValueError(f"The words must be a list of strings. Received: shape {shape}")
        tokens = tensor.numpy().tolist()
        if tensor is not words:
            check_tokens([tokens], self.tokenizer)
        distinct = sorted(set(tokens), key=len)
        index_of = {word: index for index, word in enumerate(distinct)}
        embeddings = ops.convert_to_numpy(self.token_encoder.from_many_words(distinct))[2:]
        index = np.array([index_of[word] for word in tokens], int)
        return embeddings[index].astype(np.float32, copy=False)

    def tokenize(self, sentences: Sentences) -> list[list[str]]:
        """The tokens of sentences, as the model's tokenizer splits them.

        Args:
            sentences: list, array, tensor or iterable of raw strings, or of lists of tokens, which
                are not split again. `strings` says what each form means.

        Returns:
            A list of lists of `str`, of at most `max_tokens` tokens, without the sentence
            boundaries. Bytes that are not UTF-8 are lone surrogates (`surrogateescape`).

        Raises:
            TypeError: a sentence is neither a string nor a list of strings.

        >>> elmo.tokenize(["The cat sat .", ["Hello"]])
        [['The', 'cat', 'sat', '.'], ['Hello']]
        """
        return list(read_words(sentences, self.tokenizer, self.max_tokens))

    def batch_to_ids(self, sentences: Texts) -> Any:
        """The character ids of tokenised sentences, by the model's own scheme.

        Args:
            sentences: list of lists of strings, a RaggedTensor, or strings (batch, tokens) padded
                with `""`, without sentence boundaries. (Raises a `ValueError` for raw strings.)

        Returns:
            int32, (batch, tokens, ids_per_token), padded with 0: the input of
            `Elmo.from_character_ids` and of TFLite files. `ids_per_token` is `max_characters`, and
            with a table of words one more: the last id is that of the word.
        """
        return rows_of_sentences(sentences, self.token_encoder.scheme)

    def _contextualize(
        self, embeddings, word_index, row_lengths, keep_sentence_boundaries=False, state=None
    ):
        """Every layer of sentences whose words are encoded, their mask, and the biLM's state.

        The `embeddings` are those of a `TokenEncoder`; see `padded_words` for the index and the
        lengths. The layers are `num_layers + 1` floats, (batch, tokens, 2 * projection_dim), zero
        where the mask is `False`. The state is that after `</S>` where the grid has boundaries.
        """
        # Frozen layers are skipped in the backward pass, which costs twice the forward one.
        if not self.character_encoder.trainable:
            embeddings = ops.stop_gradient(embeddings)
        boundaries_in_grid = keep_sentence_boundaries or state is not None
        if boundaries_in_grid:
            grid, lengths = token_encoder.with_boundaries(word_index, row_lengths), row_lengths + 2
            start = {"initial_state": state}
        else:
            # No sentence needs the last step, and the first is the same for all.
            grid, lengths = token_encoder.padded_words(word_index, row_lengths), row_lengths
            start = {"boundaries": (embeddings[0], embeddings[1])}
        mask = sequence_mask(lengths, ops.shape(grid)[1])
        tokens = ops.take(embeddings, grid, axis=0)  # (batch, tokens, projection_dim)
        with self.kernel_rounding.context():
            layers, state = self.bilm(tokens, mask, **start)
        if not self.bilm.trainable:
            layers = [ops.stop_gradient(layer) for layer in layers]
        if boundaries_in_grid and not keep_sentence_boundaries:
            mask = sequence_mask(row_lengths, ops.shape(grid)[1] - 2)
            layers = [ops.where(mask[..., None], layer[:, 1:-1], 0) for layer in layers]
        return layers, mask, state

    # Files

    @classmethod
    def from_pretrained(cls, source: Source, **kwargs: Any) -> "Self":
        """A model with published or own weights in the original's format.

        Args:
            source: `"tiny"`, the model in the package; the name of a published one (see
                `keras_elmo.sources.names`); the address of a file (`https://...`) or of a
                repository of the Hugging Face Hub (`hf://user/model`); a pair `(options, weights)`
                of paths or addresses; or a folder, or a zip, `.tar` or `.tar.gz` of one, with
                `options.json` (or one `*_options.json`) and one `*.hdf5` or a checkpoint of the
                original trainer (TensorFlow 1), of a module of TensorFlow Hub such as
                `google/elmo/3`, whose mix is loaded, too, or of ELMoForManyLangs (see
                docs/manylangs.md). What is downloaded is kept.
            **kwargs: the arguments of the model, except `config` and `kernel_initializer`.

        Raises:
            TypeError: `config` or `kernel_initializer` is given.
            ValueError: there is no such model, or its files do not hold one.
            OSError: a file cannot be opened or downloaded.
            ImportError: `hf://...` needs huggingface_hub (`pip install "keras-elmo[hub]"`).
        """
        refuse_what_files_hold(kwargs)
        found = sources.find(source)
        return cls.from_files(*found.open(), found.shown, **kwargs)

    @classmethod
    def from_files(cls, config, weights, source=None, **kwargs):
        """Like `from_pretrained`, of an `ElmoConfig` and `WeightFiles`."""
        weights.check_size(config)
        model = cls(config, kernel_initializer="zeros", **kwargs)
        model.load_weights(weights)
        model.source = source
        model.kernel_initializer = keras.initializers.get(DEFAULT_INITIALIZER)
        return model

    def save_pretrained(self, folder: AnyPath) -> None:
        """Writes `options.json` and `weights.hdf5`, which `from_pretrained` and the originals read.

        The folder is created if it does not exist. A model with a dictionary gets a
        `dictionary.json`, too, and only `from_pretrained` reads these files. `README.md` becomes a
        model card, whose code gives all options; a card that others wrote stays as it is.
        """
        model_files.save_folder(folder, self.config, self.character_encoder, self.bilm)
        write_card(folder, self)

    def push_to_hub(self, repository: str, private: bool = False) -> None:
        """Uploads what `save_pretrained` writes to the Hugging Face Hub.

        `hf auth login` says who you are. Others then load the model from `hf://user/name`.

        Args:
            repository: `"user/name"`. It is created if it does not exist. A card that it has stays,
                but for the facts on one of `save_pretrained`.
            private: bool. Whether a new repository is hidden from others.

        Raises:
            ImportError: huggingface_hub is missing (`pip install "keras-elmo[hub]"`).
            ValueError: there can be no such repository.
            OSError: the model cannot be uploaded.
        """
        push_to_hub(self, repository, private)

    def facts(self):
        """What a model card tells: strings by their names."""
        config = self.config
        source = self.source or ""
        is_public = "://" in source or source in names.all_names()  # and no path of this machine
        package = names.package_of(source) if is_public else None
        origin = f"{source} (`pip install {package}`)" if package else source
        return {
            "what": "An ELMo model",
            "parameters": f"{self.count_params():,}",
            "LSTMs": f"{config.num_layers} layers of {config.units:,} units in each direction",
            "vectors": f"{config.output_dim:,} numbers for each token and layer",
            "tokenizer": "none" if self.tokenizer is None else type(self.tokenizer).__name__,
            **({"loaded from": origin} if is_public else {}),
        }

    def loading_code(self, name):
        """The Python code that loads what `save_pretrained` wrote, with all that it left out."""
        parameters = {**signature(ContextualModel).parameters, **signature(type(self)).parameters}
        defaults = {key: value.default for key, value in parameters.items() if key not in _IN_FILES}
        arguments = [f'"{name}"']
        for option, default in {**defaults, "dtype": "float32"}.items():
            value = getattr(self, option, default) if option != "dtype" else self.dtype_policy.name
            if option == "regularizer":
                value = keras.regularizers.serialize(value)
            code = tokenizer_code(value) if option == "tokenizer" else repr(value)
            if code != repr(default):
                code = code.replace("'", '"')
                arguments.append(f"{option}={code}")
        kind, arguments = type(self).__name__, ", ".join(arguments)
        lines = [f"model = keras_elmo.{kind}.from_pretrained({arguments})"]
        for index, mix in enumerate(self.mixes):
            for variable, start in (("scalars", 0), ("gamma", 1)):
                values = getattr(mix, variable).numpy()
                if (values != start).any():
                    lines.append(f"model.mixes[{index}].{variable}.assign({values.tolist()})")
        return "\n".join(lines)

    def load_weights(self, filepath: Any, **kwargs: Any) -> None:
        """Loads weights, or raises a `ValueError` or an `OSError` and changes nothing.

        Args:
            filepath: a file of the original's format (also an open binary one), the folder of a
                checkpoint of the original trainer (TensorFlow 1), of a module of TensorFlow Hub or
                of ELMoForManyLangs, or a file of Keras's own format (`*.weights.h5`).
            **kwargs: arguments of Keras's `load_weights`, for its own format.
        """
        weights = WeightFiles.find(filepath)
        if weights.kind is None:
            super().load_weights(weights.files[0], **kwargs)
        else:
            parts = {"character_encoder": self.character_encoder, "bilm": self.bilm}
            weights.load(self.mixes, **parts, **kwargs)
            self.kernel_rounding.expire()
        self.source = os.fspath(filepath) if isinstance(filepath, str | os.PathLike) else None

    def save_weights(self, filepath: AnyPath, **kwargs: Any) -> None:
        """Saves all weights in a `*.weights.h5` of Keras, or else, as the originals, no mixes."""
        if is_keras_file(filepath):
            super().save_weights(filepath, **kwargs)
        else:
            hdf5.save_weights(filepath, self.character_encoder, self.bilm, **kwargs)

    def load_own_variables(self, store):
        super().load_own_variables(store)
        self.kernel_rounding.expire()  # Keras loads the kernels after this.
        self.source = "a file of Keras"

    def set_weights(self, weights):
        super().set_weights(weights)
        self.source = None

    def get_config(self):
        return {
            **super().get_config(),
            "config": self.config.to_options(),
            "tokenizer": keras.saving.serialize_keras_object(self.tokenizer),
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "matmul_dtype": self.matmul_dtype,
        }

    @classmethod
    def from_config(cls, config):
        check_restored(config, "config")
        return cls(**config)


def check_restored(config, name, kind=dict):
    """Raises a `ValueError` if Keras restores a name, which only a person may pass, not a file."""
    if not isinstance(config.get(name), kind):
        raise ValueError(
            f"A saved model must hold its `{name}`, and not name a file, a model or an address. "
            f"Received: {name}={short_repr(config.get(name))}"
        )


def refuse_what_files_hold(arguments):
    if refused := sorted({"config", "kernel_initializer"} & arguments.keys()):
        raise TypeError(
            "`from_pretrained` must take the config and all kernels from the model's files. "
            f"Received: {', '.join(refused)}"
        )


def refuse_pretrained_source(cls, config, weights=None):
    """Raises a `ValueError` if a constructor is called to load a model, as AllenNLP's `Elmo` is."""
    source = str(config)
    if isinstance(weights, str | os.PathLike) and str(weights).endswith((".hdf5", ".h5")):
        source = source, str(weights)
    elif not isinstance(config, str | os.PathLike) or source.endswith(".json"):
        return
    raise ValueError(
        f"`config` must describe a model: {cls.__name__}(config) makes one with random weights. To "
        f"load one, write {cls.__name__}.from_pretrained({source!r}). Received: config={config!r}"
    )
