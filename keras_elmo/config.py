"""`ElmoConfig`: the shape of an ELMo model; its `options.json`, and how such files are read."""

import dataclasses
import json
import os
from collections.abc import Sequence
from typing import Any

from keras_elmo import characters
from keras_elmo.annotations import Options
from keras_elmo.checks import (
    ACTIVATIONS,
    are_filters,
    is_clip,
    is_integer,
    is_number,
    join_names,
    short_repr,
)
from keras_elmo.dictionary import Dictionary

# The published options have less than 1 kB. A larger file is refused before it is parsed.
MAX_OPTIONS_BYTES = 1 << 20
# The dictionary of a model with a table of 150,000 words, as the published ones have at most, has
# about 3 MB.
MAX_DICTIONARY_BYTES = 64 << 20
OPTIONS_FILE = "options.json"
DICTIONARY_FILE = "dictionary.json"
# The sections and keys that say what a model computes, and of each key the argument of `ElmoConfig`
# and its value where the key is missing. The other sections of an options.json say how the model
# was trained, and are ignored.
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
# `from_options` reads these itself; the original does not read the last one.
_OTHER_KEYS = (
    "char_cnn.embedding",
    "char_cnn.n_characters",
    "char_cnn.projection",
    "char_cnn.projection_after_highway",
)
_TYPED_BOOLS = {"true": True, "false": False}  # as some options have them
# What a config may have at most. A file with more is damaged or hostile, and memory of that size
# would be taken before its weights are looked at. The original has 2 layers, 7 filters, 50
# characters and 94 million parameters; the models of ELMoForManyLangs are smaller.
_MAX_LAYERS = 100  # of each kind, and filters
_MAX_CHARACTERS = 1000
MAX_PARAMETERS = 10**9  # 4 GB as float32


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
        max_characters: int, at most 1,000. Characters of a word, including the begin-word and the
            end-word character (50).
        dictionary: a `Dictionary`, or `None`. `None`: characters are bytes, as in the original.
            With a dictionary they are code points that it numbers, as in ELMoForManyLangs; then the
            LSTMs and the token embeddings always have a projection, whatever their sizes.
        word_dim: int. Size of an embedding of the word table, or 0 where the dictionary has no
            words (0).

    Raises:
        ValueError: a value is out of range, or the model would have more than 1,000,000,000
            parameters. The message names every such value.

    Example:

    >>> config = ElmoConfig.from_options("options.json")
    >>> config.units
    4096

    Reference: options.json of bilm-tf, read by `BidirectionalLanguageModelGraph` (bilm/model.py).
    """

    units: int = 4096
    projection_dim: int = 512
    num_layers: int = 2
    cell_clip: float | None = 3.0
    projection_clip: float | None = 3.0
    use_skip_connections: bool = True
    character_dim: int = 16
    filters: Sequence[Sequence[int]] = (
        (1, 32),
        (2, 32),
        (3, 64),
        (4, 128),
        (5, 256),
        (6, 512),
        (7, 1024),
    )
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
            rule = "a positive number, or None for no clipping"
            check(name, is_clip(getattr(self, name)), rule)
        check("use_skip_connections", isinstance(self.use_skip_connections, bool), "True or False")
        check("activation", self.activation in ACTIVATIONS, f"one of {list(ACTIVATIONS)}")
        rule = "a non-empty list of [width, count], both positive integers, and at most "
        has_filters = are_filters(self.filters)
        is_short = has_filters and len(self.filters) <= _MAX_LAYERS
        check("filters", is_short, f"{rule}{_MAX_LAYERS} pairs")
        is_dictionary = isinstance(self.dictionary, Dictionary)
        check("dictionary", is_dictionary or self.dictionary is None, "a Dictionary or None")
        has_words = is_dictionary and self.dictionary.words is not None
        rule = "at least 1" if has_words else "0 without a dictionary that has words"
        word_dim = self.word_dim if is_integer(self.word_dim) else -1
        check("word_dim", word_dim < 0 or (word_dim > 0) == has_words, rule)
        if self.dictionary is None and is_integer(self.projection_dim) and is_integer(self.units):
            rule = f"at most `units` ({short_repr(self.units)})"
            check("projection_dim", self.projection_dim <= self.units, rule)
        if has_filters and is_integer(self.max_characters):
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
        # JSON does not take NumPy's numbers, so they become Python's.
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, _to_python_numbers(getattr(self, field.name)))

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
        """Sum of the filters' counts."""
        return sum(count for _, count in self.filters)

    @property
    def output_dim(self) -> int:
        """Size of a layer's output: both directions, `2 * projection_dim`."""
        return 2 * self.projection_dim

    def num_parameters(self) -> dict[str, int]:
        """The number of parameters of each part, without the row of the padding character.

        Returns:
            dict of int: `"characters"`, `"convolutions"`, `"highway"`, `"projection"`, `"lstm"`,
            and `"words"` where there is a table of them.
        """
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

    @classmethod
    def from_options(cls, options: Options, where: str = "options") -> "ElmoConfig":
        """Reads the original's options.

        Args:
            options: dict, or the path of an `options.json`.
            where: what error messages call the options, if they are a dict.

        Returns:
            An `ElmoConfig`.

        Raises:
            ValueError: the file is larger than 1 MiB, is not a JSON object, lacks a key, or has a
                key that is unknown or whose value is out of range. The message names every fault;
                it cuts long values and long lists of keys.
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
        if options.get("char_cnn", 0) is None:
            options = {key: value for key, value in options.items() if key != "char_cnn"}
        faults, arguments = [], {}
        sections = {name: _section(options, name, faults) for name in _KEYS}
        if "char_cnn" not in options:
            faults.append(
                "a model without `char_cnn` reads token ids, not characters; Elmo needs the "
                "options of a character model"
            )
        known = {*_OTHER_KEYS, *(f"{name}.{key}" for name, keys in _KEYS.items() for key in keys)}
        given = {f"{name}.{key}" for name, section in sections.items() for key in section}
        if unknown := given - known:
            faults.append(f"unknown keys: {join_names(unknown)}")
        for name, section in sections.items():
            for key, (argument, default) in _KEYS[name].items():
                arguments[argument] = section.get(key, default)
                if arguments[argument] is _REQUIRED and name in options:
                    faults.append(f"`{name}.{key}` is missing")
        embedding = sections["char_cnn"].get("embedding")
        if "char_cnn" in options and not (isinstance(embedding, dict) and "dim" in embedding):
            faults.append("`char_cnn.embedding.dim` is missing")
        has_skips = arguments["use_skip_connections"]
        arguments["use_skip_connections"] = _TYPED_BOOLS.get(str(has_skips).lower(), has_skips)
        expected = arguments["projection_dim"]
        projection = sections["char_cnn"].get("projection", expected)
        if isinstance(projection, dict):
            projection = projection.get("dim")
        if projection != expected:
            faults.append(
                f"`char_cnn.projection` must be `lstm.projection_dim`, {short_repr(expected)}. "
                f"Received: {short_repr(projection)}"
            )
        dictionary, word_dim = None, 0
        if "dictionary" in options:
            dictionary, word_dim = _dictionary(options, faults)
        counts = (261, 262) if dictionary is None else (len(dictionary.characters),)
        num_characters = sections["char_cnn"].get("n_characters", counts[-1])
        if num_characters not in counts and (dictionary is not None or "dictionary" not in options):
            rule = "262 (published models) or 261 (training)"
            faults.append(
                f"`char_cnn.n_characters` must be {rule if dictionary is None else counts[0]}. "
                f"Received: {short_repr(num_characters)}"
            )
        if faults:
            raise ValueError(f"{where} cannot be read:\n  " + "\n  ".join(faults))
        try:
            return cls(
                character_dim=embedding["dim"],
                dictionary=dictionary,
                word_dim=word_dim,
                **arguments,
            )
        except ValueError as error:
            raise ValueError(f"{where} cannot be read:\n  {error}") from None

    def to_options(self) -> dict[str, Any]:
        """The configuration as a dict with the original's keys, ready for `json.dump`.

        A dictionary is inside, under a key that the originals do not have.
        """
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


def _dictionary(options, faults):
    """The `Dictionary` of options, and the size of a word embedding."""
    try:
        dictionary = Dictionary.from_options(options["dictionary"])
    except ValueError as error:
        faults.append(str(error))
        return None, 0
    embedding = options.get("word_embedding")
    if not isinstance(embedding, dict) or "dim" not in embedding:
        faults.append("`word_embedding.dim` is missing")
        return dictionary, 0
    return dictionary, embedding["dim"]


def _section(options, name, faults):
    section = options.get(name)
    if isinstance(section, dict):
        return section
    if name in options or name == "lstm":
        faults.append(f"`{name}` must be an object. Received: {short_repr(section)}")
    return {}


def _to_python_numbers(value):
    if isinstance(value, list | tuple):
        return tuple(_to_python_numbers(item) for item in value)
    if is_integer(value):
        return int(value)
    return float(value) if is_number(value) else value


def read_options_file(path, where=None):
    """Reads the JSON object in an options.json of at most 1 MiB, and the dictionary that it names.

    Args:
        path: path of the file.
        where: what error messages call the file. `None`: the path.

    Returns:
        A dict.

    Raises:
        ValueError: the file is too large, or holds no JSON object.
        OSError: the file cannot be opened.
    """
    where = str(path) if where is None else where

    def read_dictionary():
        return read_bounded(os.path.join(os.path.dirname(path), DICTIONARY_FILE))

    # JSON detects the encoding, and a byte-order mark.
    options = parse_options(read_bounded(path, MAX_OPTIONS_BYTES, where), where)
    return with_dictionary(options, read_dictionary, where)


def read_bounded(path, limit=MAX_DICTIONARY_BYTES, where=None):
    """The bytes of a file, or a `ValueError` where there are too many."""
    with open(path, "rb") as file:
        data = file.read(limit + 1)
        size = max(len(data), os.fstat(file.fileno()).st_size)
        check_size(size, str(path) if where is None else where, limit)
    return data


def check_size(size, where, limit=MAX_OPTIONS_BYTES):
    """Raises a `ValueError` for a file of options, or of a dictionary, that is too large."""
    if size > limit:
        raise ValueError(
            f"{where} must be a file of options, of at most {limit:,} bytes. "
            f"Received: {size:,} bytes"
        )


def with_dictionary(options, read_dictionary, where):
    """Options with their dictionary inside, where it is in a file of its own.

    Args:
        options: dict.
        read_dictionary: function that returns the bytes of the file `dictionary.json` beside them.
        where: what error messages call the options.
    """
    if options.get("dictionary") != DICTIONARY_FILE:
        return options
    where = os.path.join(os.path.dirname(where), DICTIONARY_FILE)
    return {**options, "dictionary": parse_options(read_dictionary(), where)}


def parse_options(text, where=OPTIONS_FILE):
    """The JSON object in `text` (`str` or `bytes`), or a `ValueError` that names `where`."""
    try:
        options = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where} must be a JSON file. Received: other text ({error})") from None
    if not isinstance(options, dict):
        raise ValueError(f"{where} must hold a JSON object. Received: {type(options).__name__}")
    return options
