"""Arguments that several subcommands have: their help, their checks, and what they name."""

import contextlib
import os
import re

from keras_elmo_cli.choices import MATMUL_DTYPES, TOKENIZERS
from keras_elmo_cli.reading import add_reading_arguments, read_records

_MODEL_ARGUMENTS = ("tokenizer", "matmul_dtype")  # of `Elmo`, if a subcommand has such options
MODEL_HELP = (
    "tiny (in the package), a published name, a folder, a zip or tar file, an address "
    "(https://.../model.zip, hf://user/model), or OPTIONS,WEIGHTS: two files or addresses with a "
    "comma between them"
)
ANY_MODEL_HELP = f"a *.keras file (of classify, tag or Keras), or an Elmo: {MODEL_HELP}"


def add_tokenizer_argument(parser):
    """Adds the option that says how the model splits text."""
    parser.add_argument(
        "-t",
        "--tokenizer",
        choices=TOKENIZERS,
        metavar="NAME",
        help="whitespace (default) for text that is tokenised; treebank for raw prose; space: "
        "the ASCII space alone, as TF Hub's module does; characters: each one, as of proteins",
    )


def model_source(name):
    """What `from_pretrained` takes for a model as it is typed: the name, or a pair of paths."""
    options, comma, weights = name.partition(",")
    # The comma may be within an address. Of a pair that begins with one, the other is one, too.
    is_one_address = "://" in options and "://" not in weights
    if not comma or is_one_address or os.path.exists(name):
        return name
    return options, weights


@contextlib.contextmanager
def open_model_argument(name):
    """Finds a model and reads its options, so that an error appears before the weights are loaded.

    Args:
        name: the model as it is typed.

    Yields:
        Its `ElmoConfig` and its weights, as `keras_elmo.weights.sources.open_model` gives them.
    """
    from keras_elmo.weights import sources

    config, weights = sources.open_model(model_source(name))
    if isinstance(weights, str | os.PathLike) and not os.path.exists(weights):
        raise FileNotFoundError(f"There is no weight file {weights}")
    yield config, weights


def load_elmo(options, check=None, **kwargs):
    """Loads the model that `options.model` names.

    Args:
        options: the arguments as they are typed.
        check: function of the config, which can refuse arguments before the weights are read.
        **kwargs: arguments of `Elmo`, in the place of those that the options have.

    Returns:
        The `Elmo`; with `check`, a pair of it and what `check` returned.
    """
    from keras_elmo.models import Elmo

    kwargs = typed_arguments(options) | kwargs
    with open_model_argument(options.model) as (config, weights):
        result = check(config) if check else None
        elmo = Elmo.from_files(config, weights, source=options.model, **kwargs)
    return (elmo, result) if check else elmo


def load_any_model(options, classes=None):
    """Loads the model that `options.model` names: an `Elmo`, a task, or that of a *.keras file.

    Args:
        options: the arguments as they are typed.
        classes: tuple of the classes that the model of a *.keras file may have; `None`: any.

    Raises:
        ValueError: see `load_keras_model`; or an option is typed that a *.keras file does not take.
    """
    import keras

    from keras_elmo.tasks.pretrained import find_task, load_keras_model

    path = find_task(options.model)
    if path is None:
        return load_elmo(options)
    for name, value in typed_arguments(options).items():
        raise ValueError(
            f"With a *.keras file or a task, `{name}` must not be given: the model has its own. "
            f"Received: {name}={value}"
        )
    return load_keras_model(path, *(classes or (keras.Model,)))


def typed_arguments(options):
    """The arguments of an `Elmo` that were typed: a dict."""
    typed = {name: vars(options).get(name) for name in _MODEL_ARGUMENTS}
    return {name: value for name, value in typed.items() if value is not None}


def typed_layers(typed):
    """The argument `layers` of `Elmo.embed` for what was typed: numbers are ints."""
    typed = typed.strip()
    return int(typed) if re.fullmatch(r"-?[0-9]+", typed) else typed


def _layer_numbers(typed, config):
    """The numbers of layers from `--layers`, from 0: a list. `None`: all but layer 0."""
    from keras_elmo.models.embed_stream import parse_layers

    if typed is None:
        return list(range(1, config.num_layers + 1))
    layers = [typed_layers(part) for part in typed.split(",")]
    if any(isinstance(layer, str) for layer in layers):
        raise ValueError(
            f"`layers` must be numbers of layers with commas between them. Received: layers={typed}"
        )
    layers = parse_layers(config, layers, num_mixes=1)
    return list(dict.fromkeys(layer % (config.num_layers + 1) for layer in layers))


def is_same_file(path, other):
    """Whether two paths are one existing file or folder."""
    return os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other)


def check_overwrite(output, overwrite):
    """Raises an error if an output has no folder, or exists and is not to be replaced."""
    folder = os.path.dirname(os.path.abspath(output))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{folder} must be an existing folder. Received: {output}")
    if os.path.isfile(output) and not overwrite:
        raise FileExistsError(
            f"{output} exists already; give --overwrite to replace it, or name another file"
        )


def reading_bar(files, is_shown):
    """A `ProgressBar` of the bytes of some files that are read."""
    from keras_elmo.process.progress import ProgressBar

    return ProgressBar("reading", sum(map(os.path.getsize, files)), "B", is_shown, leave=False)


def check_readable(path):
    """Raises Python's own error, such as a PermissionError, early."""
    open(path, "rb").close()


def check_output(output, model, overwrite):
    """Raises an error if an output would replace a file, or lie in the model's folder.

    Args:
        output: the path to write.
        model: the model as it is typed.
        overwrite: bool.
    """
    folder = os.path.dirname(os.path.abspath(output))
    source = model_source(model)
    files = [] if isinstance(source, str) else source
    is_in_folder = os.path.isdir(model) and is_same_file(folder, model)
    if is_in_folder or any(is_same_file(file, output) for file in files):
        raise ValueError(
            "The output must not lie in the model's folder, where it could replace the weights."
            f" Received: --output {output}"
        )
    check_overwrite(output, overwrite)


def add_occurrence_arguments(parser):
    """Adds the options of layers, of the model, and of what counts as an occurrence."""
    add_layers_argument(parser)
    add_model_arguments(parser)
    parser.add_argument("-i", "--ignore-case", action="store_true", help="find Bank for bank, too")
    parser.add_argument(
        "--limit",
        type=int,
        default=1000,  # enough for a picture or a table; their vectors take about 10 MB
        metavar="N",
        help="read the text as far as the first N occurrences (%(default)s)",
    )


def add_model_arguments(parser):
    """Adds the options of the model and of how a text is read."""
    add_reading_arguments(parser)
    parser.add_argument("-m", "--model", required=True, help=MODEL_HELP)
    add_tokenizer_argument(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def add_matmul_dtype_argument(parser):
    """Adds the option of the dtype in which matrices are multiplied."""
    parser.add_argument(
        "--matmul-dtype",
        choices=MATMUL_DTYPES,
        help="multiply matrices in bfloat16, and compute all else in float32: about twice as fast "
        "on processors with AMX, and slower on most others",
    )


def add_embedding_arguments(parser, layers_help):
    """Adds the options that `embed` and `embed-corpus` have in common."""
    parser.add_argument(
        "--keep",
        metavar="NAME",
        action="append",
        default=[],
        help="a field or column, as an id, whose values are stored beside the vectors; it may be "
        "given several times",
    )
    add_model_arguments(parser)
    add_matmul_dtype_argument(parser)
    parser.add_argument("-l", "--layers", default="all", help=layers_help)
    parser.add_argument(
        "--token-budget",
        type=int,
        metavar="N",
        help="tokens of a batch (memory grows with it). The default is 4096, and more where "
        "sentences are long",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing output")


def add_layers_argument(parser):
    """Adds the option that chooses layers."""
    parser.add_argument(
        "-l",
        "--layers",
        metavar="K,K",
        help="numbers of layers with commas between them, as 1,2 (or --layers=-1: the last). "
        "Default: all but layer 0, where a word has the same vector in every sentence",
    )


def add_text_argument(parser, has_senses=False):
    """Adds the text in which words are sought, and perhaps the file of its senses."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a text, one sentence a line; *.gz is decompressed; - for standard input; or a "
        "folder like CoarseWSD-20's of one word, whose test sentences are read, with their senses",
    )
    if has_senses:
        parser.add_argument("--senses", help="a text file with a sense for each line of FILE")


def load_elmo_and_layers(options):
    """Loads the model that `options.model` names: a pair of the `Elmo` and a list of layers."""
    return load_elmo(options, lambda config: _layer_numbers(options.layers, config))


def find(options, words):
    """Finds words in the text, as the options say.

    Returns:
        The `Occurrences`; the layers to show, a list of ints; and the sense of each occurrence, a
        list of strings or `None`.
    """
    from keras_elmo.analysis.occurrences import find_occurrences

    sentences, senses = _read_sentences_and_senses(options)
    elmo, layers = load_elmo_and_layers(options)
    found = find_occurrences(
        elmo, sentences, words, options.ignore_case, options.limit, not options.quiet
    )
    labels = None if senses is None else [senses[number - 1] for number in found.line_numbers]
    return found, layers, labels


def _read_sentences_and_senses(options):
    """The sentences of a text or of a folder, and a sense for each of them or `None`."""
    from keras_elmo.files.labelled_files import read_senses
    from keras_elmo.files.text_files import read_lines

    senses_file = vars(options).get("senses")
    if os.path.isdir(options.file):
        if senses_file or options.field:
            raise ValueError(
                "With --senses or --field, FILE must be a text file. Received: a folder"
            )
        sentences, _, senses = read_senses(options.file, "test", options.encoding, options.errors)
        prefix = os.path.basename(os.path.abspath(options.file)) + "_"
        # CoarseWSD-20's java_java_(programming_language), as people write it
        return sentences, [sense.removeprefix(prefix).replace("_", " ") for sense in senses]
    sentences = list(read_records(options, options.file))
    if not senses_file:
        return sentences, None
    senses = list(map(str.strip, read_lines(senses_file, options.encoding, options.errors)))
    if len(senses) != len(sentences):
        raise ValueError(
            f"{senses_file} must have a sense for each line of {options.file}. "
            f"Received: {len(senses):,} senses for {len(sentences):,} lines"
        )
    return sentences, senses
