"""Models of ELMoForManyLangs: their files, and what these say of the shape of a model.

A model is a folder, or a zip of one, with four files, and a fifth if it has a table of words:

- `config.json` holds how it was trained, and in `config_path` the path of another JSON file, on the
  machine where it was trained. That file holds the shape of the model ("architecture").
- `char.dic` and `word.dic` number the characters and the words, see `characters.Dictionary`.
- `token_embedder.pkl` and `encoder.pkl` hold the weights, see `layout.py`.

Reference: `Embedder.get_model` in ELMoForManyLangs' elmoformanylangs/elmo.py.
"""

import contextlib
import os
import re

from keras_elmo.characters import Dictionary
from keras_elmo.checks import first_lines, short_repr
from keras_elmo.config import MAX_DICTIONARY_BYTES, ElmoConfig, read_bounded, read_options_file
from keras_elmo.manylangs.layout import ENCODER_FILE, TOKEN_EMBEDDER_FILE, manylangs_table
from keras_elmo.manylangs.torch_file import open_state_dict
from keras_elmo.weights.assign import assign_weights

NAME = "weight files"  # see `WeightFiles`
CONFIG_FILE = "config.json"
CHARACTERS_FILE = "char.dic"
WORDS_FILE = "word.dic"
WEIGHT_FILES = (TOKEN_EMBEDDER_FILE, ENCODER_FILE)
_FILES = (CONFIG_FILE, CHARACTERS_FILE, *WEIGHT_FILES)

# The sections of an architecture: their kinds, and of each key the argument of `ElmoConfig`.
_KINDS = {"encoder": "elmo", "token_embedder": "cnn"}
_KEYS = {
    "encoder": {
        "projection_dim": "projection_dim",
        "cell_clip": "cell_clip",
        "proj_clip": "projection_clip",
        "dim": "units",
        "n_layers": "num_layers",
    },
    "token_embedder": {
        "activation": "activation",
        "filters": "filters",
        "n_highway": "num_highway",
        "word_dim": "word_dim",
        "char_dim": "character_dim",
        "max_characters_per_token": "max_characters",
    },
}
# All published models have the same architecture. Their zips lack its file, which has two names.
_PUBLISHED = {"character_dim": 50, "word_dim": 100}  # and the defaults of `ElmoConfig`
_PUBLISHED_NAMES = ("cnn_50_100_512_4096_sample.json", "cnn_0_100_512_4096_sample.json")


def is_model(names):
    """Whether a folder with these names in it is meant for a model."""
    return not set(WEIGHT_FILES).isdisjoint(names)


def find_weights(folder):
    """The two weight files of a model's folder, a tuple; or `None`."""
    files = tuple(os.path.join(folder, name) for name in WEIGHT_FILES)
    return files if all(map(os.path.isfile, files)) else None


def load_files(files, where, mixes, character_encoder=None, bilm=None):
    """Fills layers from the files of the token embedder and of the encoder; see `WeightFiles`.

    They hold no mix.
    """
    datasets = {}
    with contextlib.ExitStack() as stack:
        for name, path in zip(WEIGHT_FILES, files, strict=True):
            tensors = stack.enter_context(open_state_dict(path, os.path.join(where, name)))
            datasets.update({f"{name}/{key}": tensor for key, tensor in tensors.items()})
        table = manylangs_table(character_encoder, bilm)
        assign_weights(datasets, table, where, part_of=lambda name: name.partition("/")[0])


def read_config(folder, where):
    """The `ElmoConfig` of the model in a folder, which errors call `where`.

    The architecture is looked for beside the other files, in a folder `configs` there, and in such
    a folder one level up.
    """

    def has(name):
        return os.path.isfile(os.path.join(folder, name))

    def paths_of(name):
        return os.path.join(folder, name), os.path.join(where, name)

    if missing := [name for name in _FILES if not has(name)]:
        raise ValueError(
            f"{where} must hold {', '.join(_FILES)}: the files of an ELMoForManyLangs model. "
            f"Received: no {', '.join(missing)}"
        )

    path = read_options_file(*paths_of(CONFIG_FILE)).get("config_path")
    name = re.split(r"[\\/]", path)[-1] if isinstance(path, str) else ""
    folders = ["", "configs/", "../configs/"]
    found = [folder + name for folder in folders if name and has(folder + name)]
    if not found and name not in _PUBLISHED_NAMES:
        raise ValueError(
            f"{os.path.join(where, CONFIG_FILE)} must name the model's architecture in "
            "`config_path`, a JSON file in the folder or in a folder `configs`. "
            f"Received: config_path={short_repr(path)}, and no such file"
        )
    shape, faults = _PUBLISHED, []
    if found:
        shape, faults = _shape(read_options_file(*paths_of(found[0])))
    has_words = shape.get("word_dim", 0) != 0
    if has_words and not has(WORDS_FILE):
        faults.append(f"`token_embedder.word_dim` is not 0, and there is no {WORDS_FILE}")
    if faults:
        where = os.path.join(where, found[0]) if found else where
        raise ValueError(f"{where} cannot be read:\n  " + first_lines(faults))
    entries = []
    for name in (CHARACTERS_FILE, WORDS_FILE)[: 1 + has_words]:
        path, shown = paths_of(name)
        entries.append(read_dic(read_bounded(path, MAX_DICTIONARY_BYTES, shown), shown))
    try:
        return ElmoConfig(dictionary=Dictionary(*entries), **shape)
    except ValueError as error:
        raise ValueError(f"{where} cannot be read:\n  {error}") from None


def _shape(architecture):
    """The arguments of `ElmoConfig` but the dictionary, and the faults of an architecture."""
    arguments, faults = {"use_skip_connections": True}, []
    for name, keys in _KEYS.items():
        section = architecture.get(name)
        if not isinstance(section, dict):
            faults.append(f"`{name}` must be an object. Received: {short_repr(section)}")
            continue
        kind, given = _KINDS[name], section.get("name")
        if str(given).lower() != kind:
            faults.append(f"`{name}.name` must be {kind!r}. Received: {short_repr(given)}")
        faults += [f"`{name}.{key}` is missing" for key in keys if key not in section]
        arguments |= {keys[key]: section[key] for key in keys if key in section}
    for clip in ("cell_clip", "projection_clip"):
        arguments[clip] = arguments.get(clip) or None  # 0 is not a clip, as in the original
    if arguments.get("character_dim") == 0:
        faults.append("`token_embedder.char_dim` must not be 0; models of words alone are not read")
    return arguments, faults


def read_dic(data, where):
    """The tokens of `char.dic` or `word.dic`, by their numbers. `None`: no token has the number.

    White space around a line does not count, as in the original. So a token of white space alone is
    not in the file; such a line stands for U+3000, and the last such line counts.
    """
    try:
        lines = data.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{where} must be UTF-8. Received: other bytes ({error})") from None
    if not lines[-1].strip():
        lines.pop()
    numbers = {}
    for index, line in enumerate(lines, start=1):
        token, tab, number = line.strip().rpartition("\t")
        is_number = number.isascii() and number.isdecimal() and len(number) < 20
        # A token may not be numbered higher than there are lines: a number is a row of a table.
        if "\t" in token or not is_number or int(number) >= len(lines):
            raise ValueError(
                f"{where} must hold a token, a tab and a number below {len(lines):,}, that of its "
                f"lines, on each line. Received: {short_repr(line)} in line {index:,}"
            )
        numbers[token if tab else "\u3000"] = int(number)
    tokens = [None] * (max(numbers.values(), default=-1) + 1)
    for token, number in numbers.items():
        if tokens[number] is not None:
            raise ValueError(
                f"{where} must number each token differently. "
                f"Received: {number} for {short_repr(tokens[number])} and {short_repr(token)}"
            )
        tokens[number] = token
    return tokens
