"""The arguments of subcommands that look for words in a text, and what they find."""

import os
import re

from keras_elmo.analysis.annotated_files import read_senses
from keras_elmo.analysis.occurrences import find_occurrences
from keras_elmo.checks import check_integers
from keras_elmo.cli.lines import add_encoding_arguments, open_lines
from keras_elmo.cli.model_argument import MODEL_HELP, add_tokenizer_argument, open_model
from keras_elmo.models import Elmo

_LIMIT = 1000  # enough for a picture or a table; vectors of so many take about 10 MB


def add_occurrence_arguments(parser):
    """Adds the options of the text, of the model, and of what counts as an occurrence."""
    add_model_arguments(parser)
    parser.add_argument("-i", "--ignore-case", action="store_true", help="find Bank for bank, too")
    parser.add_argument(
        "--limit",
        type=int,
        default=_LIMIT,
        metavar="N",
        help="read the text as far as the first N occurrences (%(default)s)",
    )


def add_model_arguments(parser):
    """Adds the options of the model and of how a text is read."""
    parser.add_argument("-m", "--model", required=True, help=MODEL_HELP)
    add_tokenizer_argument(parser)
    add_encoding_arguments(parser, "the text")
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def add_layers_argument(parser):
    """Adds the option that chooses layers."""
    parser.add_argument(
        "-l",
        "--layers",
        metavar="K,K",
        help="numbers of layers with commas between them, as 1,2 (or --layers=-1: the last). "
        "Default: all but layer 0, where a word has the same vector in every sentence",
    )


def add_senses_argument(parser):
    """Adds the text, which may have senses."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a text, one sentence a line; *.gz is decompressed; - for standard input; or a "
        "folder like CoarseWSD-20's of one word, whose test sentences are read, with their senses",
    )
    parser.add_argument(
        "--senses",
        metavar="SENSES",
        help="a text file with a sense (any label) for each line of FILE",
    )


def read_lines(options, path):
    """The lines of a text file as they are typed on the command line: a list of strings."""
    with open_lines(path, False, options.encoding, options.errors) as lines:
        return list(lines)


def load_model(options, check=None):
    """The model, after `check(config)`, which can refuse arguments before the weights are read."""
    with open_model(options.model) as (config, _, source):
        result = check(config) if check else None
        elmo = Elmo.from_pretrained(source, tokenizer=options.tokenizer)
    return (elmo, result) if check else elmo


def find(options, words, sentences, elmo):
    """The occurrences of words in sentences, as the options say."""
    check_integers(1, limit=options.limit)
    progress = not options.quiet
    return find_occurrences(elmo, sentences, words, options.ignore_case, options.limit, progress)


def layers_as_typed(typed, config):
    """The numbers of layers from `--layers`: a list of ints, from 0."""
    last = config.num_layers
    if typed is None:
        return list(range(1, last + 1))
    numbers = typed.split(",")
    if all(re.fullmatch(r" *-?[0-9]+ *", n) and -last - 1 <= int(n) <= last for n in numbers):
        return list(dict.fromkeys(int(n) % (last + 1) for n in numbers))
    raise ValueError(
        f"--layers must be numbers from {-last - 1} to {last} with commas between them. "
        f"Received: --layers {typed}"
    )


def read_sentences_and_senses(options):
    """The sentences of a text or of a folder, and a sense for each of them or `None`."""
    if os.path.isdir(options.file):
        if options.senses:
            raise ValueError("--senses is for a text file. Received: a folder, which has senses")
        sentences, _, senses = read_senses(options.file, "test")
        prefix = os.path.basename(os.path.abspath(options.file)) + "_"
        # CoarseWSD-20's java_java_(programming_language), as people write it
        return sentences, [sense.removeprefix(prefix).replace("_", " ") for sense in senses]
    sentences = read_lines(options, options.file)
    if not options.senses:
        return sentences, None
    senses = [line.strip() for line in read_lines(options, options.senses)]
    if len(senses) != len(sentences):
        raise ValueError(
            f"{options.senses} must have a sense for each line of {options.file}. "
            f"Received: {len(senses):,} senses for {len(sentences):,} lines"
        )
    return sentences, senses
