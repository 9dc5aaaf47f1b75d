"""The options of how text files and standard input are read."""

import argparse
import io

from keras_elmo_cli.choices import FORMATS


def add_reading_arguments(parser, formats=FORMATS):
    """Adds the options of how text files are read.

    Args:
        parser: the parser.
        formats: sequence of strings. The choices of `--format`.
    """
    parser.add_argument(
        "--field",
        metavar="NAME",
        help="the field or column that is the text, in JSON Lines (*.jsonl), CSV (*.csv) and TSV "
        "(*.tsv), whose first line names the columns; in JSON Lines it may be a list of tokens; "
        "FASTA (*.fasta, *.fa, *.faa) needs none, and its ids are kept",
    )
    parser.add_argument(
        "--format",
        choices=formats,
        help="of the input, where its name does not say it, as of standard input; text reads each "
        "line as it is",
    )
    add_encoding_arguments(parser)


def add_encoding_arguments(parser):
    """Adds the options of how the bytes of text files are read."""
    parser.add_argument(
        "--encoding",
        default="utf-8",
        type=check_encoding,
        help="of the text (default: %(default)s), such as latin-1 or utf-16",
    )
    parser.add_argument(
        "--errors",
        default="strict",
        choices=["strict", "replace"],
        help="what to do with lines of another encoding: refuse them (strict, the default), or "
        "replace what cannot be read by U+FFFD",
    )


def read_records(options, path, **kwargs):
    """The `Records` of a file, `*.gz` too, or of standard input (`-`), as the options say."""
    from keras_elmo.files.records import Fields, Records

    fields = Fields(options.field, vars(options).get("keep", ()), options.format)
    return Records([path], options.encoding, options.errors, fields, **kwargs)


def check_encoding(name):
    """An encoding as it is typed, if Python has it: the `type` of an option."""
    try:
        io.TextIOWrapper(io.BytesIO(), name)
    except (LookupError, ValueError):
        raise argparse.ArgumentTypeError(f"there is no encoding {name!r}") from None
    return name
