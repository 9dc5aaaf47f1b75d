"""`ElmoConfig`: the shape of an ELMo model; its `options.json`, and how such files are read."""

import dataclasses
import hashlib
import json
import os
from collections.abc import Sequence
from typing import Any

from keras_elmo import characters
from keras_elmo.annotations import Options
from keras_elmo.characters import Dictionary
from keras_elmo.checks import (
    ACTIVATIONS,
    are_filters,
    is_clip,
    is_integer,
    join_names,
    short_repr,
    to_python_numbers,
)

# Larger files are refused before they are parsed.
MAX_OPTIONS_BYTES = 1 << 20  # the published ones have less than 1 kB
MAX_DICTIONARY_BYTES = 64 << 20  # that of 150,000 words, as published ones have, has about 3 MB
OPTIONS_FILE = "options.json"
DICTIONARY_FILE = "dictionary.json"
WEIGHTS_FILE = "weights.hdf5"
VOCABULARY_FILE = "vocab.txt"
SOFTMAX_FILE = "softmax.hdf5"
# The sections and keys that say what a model computes, and of each key the argument of `ElmoConfig`
# and its value where the key is missing. The other sections, of the training, are ignored.
_REQUIRED = object()
_KEYS = {
    "lstm": {
        "use_skip_connections": ("use_skip_connections", False),
        "projection_dim": ("projection_dim", _REQUIRED),
        "cell_clip": ("cell_clip", None),
        "proj_clip": ("projection_clip", None),
        "dim": ("units", _REQUIRED),
        "n_layers": ("num_layers", _REQUIRED),
    },
    "char_cnn": {
        "activation": ("activation", "relu"),
        "filters": ("filters", _REQUIRED),
        "n_highway": ("num_highway", 0),
        "max_characters_per_token": ("max_characters", characters.DEFAULT_MAX_CHARACTERS),
    },
}
# `_arguments` reads these keys of `char_cnn` itself; the original does not read the last one.
_OTHER_KEYS = ("embedding", "n_characters", "projection", "projection_after_highway")
_TYPED_BOOLS = {"true": True, "false": False}  # as some options have them
# A file with more is damaged or hostile, and memory of that size would be taken before its weights
# are looked at. The original has 2 layers, 7 filters, 50 characters and 94 million parameters.
_MAX_LAYERS = 100  # of each kind, and filters
_MAX_CHARACTERS = 1000
MAX_PARAMETERS = 10**9  # 4 GB as float32
_FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))  # the original's


@dataclasses.dataclass(frozen=True)
class ElmoConfig:
    """The shape of an ELMo model.

    Args:
        units: int. Size of an LSTM cell (4096 in the original).
        projection_dim: int. Size of an LSTM's output and of a token embedding (512). If it is
            equal to `units`, there is no projection matrix, and `projection_clip` does not apply.
        num_layers: int, at most 100. LSTM layers in each direction (2).
        cell_clip: positive float or `None`. Cells are clipped to `[-cell_clip, cell_clip]`.
        projection_clip: positive float or `None`. The same for projected outputs.
        use_skip_connections: bool. Each layer but the first adds its input to its output.
        character_dim: int. Size of a character embedding (16).
        filters: sequence of at most 100 pairs `(width, count)`, the character convolutions.
        num_highway: int from 0 to 100. Highway layers after the convolutions (2).
        activation: `"relu"` or `"tanh"`, after the convolutions.
        max_characters: int, at most 1,000. Characters of a word, with the begin-word and the
            end-word character (50).
        dictionary: a `Dictionary`, or `None`. `None`: characters are bytes, as in the original.
            With a dictionary they are code points that it numbers, as in ELMoForManyLangs; then the
            LSTMs and the token embeddings always have a projection, whatever their sizes.
        word_dim: int. Size of an embedding of the word table; 0 if the dictionary has no words.

    Raises:
        ValueError: a value is out of range, or the model would have more than 1,000,000,000
            parameters. The message names what is wrong.

    Reference: options.json of bilm-tf, read by `BidirectionalLanguageModelGraph` (bilm/model.py).
    """

    units: int = 4096
    projection_dim: int = 512
    num_layers: int = 2
    cell_clip: float | None = 3.0
    projection_clip: float | None = 3.0
    use_skip_connections: bool = True
    character_dim: int = 16
    filters: Sequence[Sequence[int]] = _FILTERS
    num_highway: int = 2
    activation: str = "relu"
    max_characters: int = characters.DEFAULT_MAX_CHARACTERS
    dictionary: Dictionary | None = None
    word_dim: int = 0

    def __post_init__(self):
        faults = []

        def check(name, is_right, rule):
            if not is_right:
                received = short_repr(getattr(self, name))
                faults.append(f"`{name}` must be {rule}. Received: {name}={received}")

        for name, least, most in [
            ("units", 1, None),
            ("projection_dim", 1, None),
            ("num_layers", 1, _MAX_LAYERS),
            ("character_dim", 1, None),
            ("num_highway", 0, _MAX_LAYERS),
            ("max_characters", 3, _MAX_CHARACTERS),
            ("word_dim", 0, None),
        ]:
            value = getattr(self, name)
            rule = f"an integer of at least {least}" + (f" and at most {most:,}" if most else "")
            check(name, is_integer(value) and least <= value <= (most or value), rule)
        for name in ("cell_clip", "projection_clip"):
            check(name, is_clip(getattr(self, name)), "a positive number, or None for no clipping")
        check("use_skip_connections", isinstance(self.use_skip_connections, bool), "True or False")
        check("activation", self.activation in ACTIVATIONS, f"one of {list(ACTIVATIONS)}")
        rule = f"a non-empty list of at most {_MAX_LAYERS} pairs [width, count], positive integers"
        check("filters", are_filters(self.filters) and len(self.filters) <= _MAX_LAYERS, rule)
        check("dictionary", isinstance(self.dictionary, Dictionary | None), "a Dictionary or None")
        if not faults:
            # JSON does not take NumPy's numbers, so they become Python's.
            for field in dataclasses.fields(self):
                object.__setattr__(self, field.name, to_python_numbers(getattr(self, field.name)))
            has_words = self.num_words is not None
            rule = "at least 1" if has_words else "0 without a dictionary that has words"
            check("word_dim", (self.word_dim > 0) == has_words, rule)
            if self.dictionary is None:
                rule = f"at most `units` ({short_repr(self.units)})"
                check("projection_dim", self.projection_dim <= self.units, rule)
            widest = max(width for width, _ in self.filters)
            rule = f"at least the width of the widest filter ({short_repr(widest)})"
            check("max_characters", self.max_characters >= widest, rule)
            if not faults and (size := sum(self.num_parameters().values())) > MAX_PARAMETERS:
                faults.append(
                    f"all sizes together must make at most {MAX_PARAMETERS:,} parameters. "
                    f"Received: {short_repr(size)} parameters"
                )
        if faults:
            raise ValueError("\n".join(faults))

    @property
    def has_projection(self) -> bool:
        """Whether the LSTMs project their outputs."""
        return self.units != self.projection_dim or self.dictionary is not None

    @property
    def has_token_projection(self) -> bool:
        """Whether the character encoder ends with a projection."""
        return self.num_filters != self.projection_dim or self.dictionary is not None

    @property
    def num_characters(self) -> int:
        """Rows of the table of character embeddings."""
        if self.dictionary is None:
            return characters.NUM_CHARACTERS
        return len(self.dictionary.characters)

    @property
    def num_words(self) -> int | None:
        """Rows of the table of word embeddings, or `None` without one."""
        return self.dictionary.num_words if self.dictionary else None

    @property
    def num_filters(self) -> int:
        return sum(count for _, count in self.filters)

    @property
    def output_dim(self) -> int:
        """Size of a layer's output: both directions, `2 * projection_dim`."""
        return 2 * self.projection_dim

    def num_parameters(self) -> dict[str, int]:
        """The number of parameters of each part, by its name, without the padding character."""
        f, p, u = self.num_filters, self.projection_dim, self.units
        cell = 2 * p * 4 * u + 4 * u + (u * p if self.has_projection else 0)
        words = {} if self.num_words is None else {"words": self.num_words * self.word_dim}
        return {
            **words,
            "characters": self.num_characters * self.character_dim,
            "convolutions": sum((w * self.character_dim + 1) * n for w, n in self.filters),
            "highway": self.num_highway * 2 * (f * f + f),
            "projection": (f + self.word_dim) * p + p if self.has_token_projection else 0,
            "lstm": 2 * self.num_layers * cell,
        }

    def digest(self) -> str:
        """The SHA-256 of all options, in hexadecimal digits."""
        options = json.dumps(self.to_options(), sort_keys=True)
        return hashlib.sha256(options.encode("utf-8")).hexdigest()

    @classmethod
    def from_options(cls, options: Options, where: str = "options") -> "ElmoConfig":
        """The config of the original's options, a dict or the path of an `options.json`.

        Messages call a dict `where`.

        Raises:
            ValueError: the file is larger than 1 MiB, is not a JSON object, lacks a key, or has a
                key that is unknown or whose value is out of range. The message names what is wrong.
            TypeError: the options are neither a dict nor a path.
        """
        if not isinstance(options, dict):
            if not isinstance(options, str | os.PathLike):
                raise TypeError(
                    "Options must be a dict, or the path of an options.json. "
                    f"Received: {short_repr(options)} ({type(options).__name__})"
                )
            where = str(options)
            options = read_options_file(options)
        arguments, faults = _arguments(options)
        if not faults:
            try:
                return cls(**arguments)
            except ValueError as error:
                faults = [str(error)]
        raise ValueError(f"{where} cannot be read:\n  " + "\n  ".join(faults))

    def to_options(self) -> dict[str, Any]:
        """A dict with the original's keys, ready for `json.dump`, and with the dictionary."""
        options = {
            name: {key: getattr(self, argument) for key, (argument, _) in keys.items()}
            for name, keys in _KEYS.items()
        }
        options["char_cnn"] |= {
            "filters": [list(pair) for pair in self.filters],
            "embedding": {"dim": self.character_dim},
            "n_characters": 262 if self.dictionary is None else self.num_characters,
        }
        if self.dictionary is not None:
            options["word_embedding"] = {"dim": self.word_dim}
            options["dictionary"] = self.dictionary.to_options()
        return options


def _arguments(options):
    """The arguments of an `ElmoConfig` that options hold, and the faults in these."""
    faults = [
        f"`{name}` must be an object, as in a model of characters (and not of token ids). "
        f"Received: {short_repr(options.get(name))}"
        for name in _KEYS
        if not isinstance(options.get(name), dict)
    ]
    if faults:
        return {}, faults
    known = {f"{name}.{key}" for name, keys in _KEYS.items() for key in keys}
    known.update(f"char_cnn.{key}" for key in _OTHER_KEYS)
    given = {f"{name}.{key}" for name in _KEYS for key in options[name]}
    if unknown := given - known:
        faults.append(f"unknown keys: {join_names(unknown)}")
    arguments, char_cnn = {}, options["char_cnn"]
    for name, keys in _KEYS.items():
        for key, (argument, default) in keys.items():
            arguments[argument] = options[name].get(key, default)
            if arguments[argument] is _REQUIRED:
                faults.append(f"`{name}.{key}` is missing")
    has_skips = arguments["use_skip_connections"]
    arguments["use_skip_connections"] = _TYPED_BOOLS.get(str(has_skips).lower(), has_skips)
    arguments["character_dim"] = _dim(char_cnn.get("embedding"), "char_cnn.embedding", faults)
    expected = arguments["projection_dim"]
    projection = char_cnn.get("projection", expected)
    projection = projection.get("dim") if isinstance(projection, dict) else projection
    if projection != expected:
        faults.append(
            f"`char_cnn.projection` must be `lstm.projection_dim`, {short_repr(expected)}. "
            f"Received: {short_repr(projection)}"
        )
    counts = [262, 261]  # in published models, and in training
    if "dictionary" in options:
        try:
            dictionary = Dictionary.from_options(options["dictionary"])
        except ValueError as error:
            return {}, [*faults, str(error)]
        counts = [len(dictionary.characters)]
        arguments["dictionary"] = dictionary
        arguments["word_dim"] = _dim(options.get("word_embedding"), "word_embedding", faults)
    num_characters = char_cnn.get("n_characters", counts[0])
    if num_characters not in counts:
        faults.append(
            f"`char_cnn.n_characters` must be {' or '.join(map(str, counts))}. "
            f"Received: {short_repr(num_characters)}"
        )
    return arguments, faults


def _dim(value, name, faults):
    """The size in a value of the form `{"dim": size}`."""
    if isinstance(value, dict) and "dim" in value:
        return value["dim"]
    faults.append(f"`{name}.dim` is missing")
    return None


def read_options_file(path, where=None):
    """The JSON object in an options.json of at most 1 MiB, and the dictionary that it names.

    Messages call the file `where`, or else by its path.
    """
    where = str(path) if where is None else where
    options = _read_json(path, MAX_OPTIONS_BYTES, where)
    if options.get("dictionary") != DICTIONARY_FILE:
        return options
    path, where = (os.path.join(os.path.dirname(x), DICTIONARY_FILE) for x in (path, where))
    return {**options, "dictionary": _read_json(path, MAX_DICTIONARY_BYTES, where)}


def read_bounded(path, limit, where):
    """The bytes of a file, or a `ValueError` where there are too many."""
    with open(path, "rb") as file:
        data = file.read(limit + 1)
        if (size := max(len(data), os.fstat(file.fileno()).st_size)) > limit:
            rule = f"{where} must be a file of options, of at most {limit:,} bytes"
            raise ValueError(f"{rule}. Received: {size:,} bytes")
    return data


def _read_json(path, limit, where):
    data = read_bounded(path, limit, where)
    try:
        options = json.loads(data)  # which detects the encoding, and a byte-order mark
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where} must be a JSON file. Received: other text ({error})") from None
    if not isinstance(options, dict):
        raise ValueError(f"{where} must hold a JSON object. Received: {type(options).__name__}")
    return options
