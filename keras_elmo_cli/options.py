"""What can be typed: the options and their values, the parsers, and errors in the words of options.

The values and defaults, also in the commands, are those of the library without its import, which
takes seconds: a misspelt option is answered at once. tests/cli/test_options.py compares them.
"""

import argparse
import inspect
import re

# Those of other packages are entry points.
MODELS = (
    "tiny small medium original original_5.5B pubmed portuguese_wikipedia portuguese_brwac pos"
).split()
TOKENIZERS = ("whitespace", "treebank", "web", "space", "characters")
FORMATS = ("text", "jsonl", "csv", "tsv", "fasta")
TAG_COLUMNS = ("upos", "xpos", "deprel")


def at_least(minimum):
    """What `add_argument` takes for an integer of at least so much."""

    def check(typed):
        if not typed.isdecimal() or int(typed) < minimum:
            rule = f"must be an integer of at least {minimum}"
            raise argparse.ArgumentTypeError(f"{rule}. Received: {typed}")
        return int(typed)

    return {"type": check, "metavar": "N"}


# And for other numbers, and for a switch.
COUNT, INTEGER = at_least(1), {"type": int, "metavar": "N"}
SWITCH = {"action": "store_true"}
MODEL_HELP = (
    "tiny (in the package), a published name, a folder, a zip or tar file, an address "
    "(https://.../model.zip, hf://user/model), or OPTIONS,WEIGHTS: two files or addresses with a "
    "comma between them"
)
ANY_MODEL_HELP = f"a *.keras file (of classify, tag or Keras), or an Elmo: {MODEL_HELP}"
TOKENIZERS_HELP = (
    "how raw text is split: whitespace for text that is tokenised; treebank for raw prose; web for "
    "prose with addresses and #tags; space: at the ASCII space alone; characters: each one, as of "
    "proteins"
)
VECTORS_HELP = (
    "average, top, elmo (the learned mix; in a new model the average), word_emb, lstm_outputs1, "
    "lstm_outputs2, ..., or the number of a layer, -1 being the last"
)
DECODING = ("--encoding", "--errors")
READING = ("--field", "--format", *DECODING)


def check_encoding(name):
    """An encoding as it is typed, if Python has it: the `type` of an option."""
    try:
        "".encode(name)
    except (LookupError, ValueError):
        raise argparse.ArgumentTypeError(f"there is no encoding {name!r}") from None
    return name


# Options that may be typed as their first letter, too.
_WITH_LETTER = ("--layers", "--model", "--output", "--quiet", "--tokenizer")
_SHARED = {
    "--encoding": {
        "default": "utf-8",
        "type": check_encoding,
        "help": "of the text (default: %(default)s), such as latin-1 or utf-16",
    },
    "--errors": {
        "default": "strict",
        "choices": ["strict", "replace"],
        "help": "strict (default) refuses lines of another encoding; replace reads U+FFFD there",
    },
    "--field": {
        "metavar": "NAME",
        "help": "the field or column of the text in JSON Lines (*.jsonl; it may be a list of "
        "tokens), CSV (*.csv) and TSV (*.tsv), whose first line names the columns; FASTA (*.fasta, "
        "*.fa, *.fas, *.fna, *.faa, *.a3m) needs none, and its ids are kept",
    },
    "--format": {
        "choices": FORMATS,
        "help": "of the input, where its name does not say it; text reads each line as it is",
    },
    "--layers": {
        "metavar": "K,K",
        "help": "numbers of layers with commas between them, as 1,2 (or --layers=-1: the last). "
        "Default: all but layer 0, where a word has the same vector in every sentence",
    },
    "--matmul-dtype": {
        "choices": ("bfloat16",),
        "help": "multiply matrices in bfloat16, and compute all else in float32: about twice as "
        "fast on processors with AMX, slower on most others",
    },
    "--model": {"required": True, "help": MODEL_HELP},
    "--output": {"required": True},
    "--overwrite": {**SWITCH, "help": "replace an existing output"},
    "--quiet": {**SWITCH, "help": "show nothing but results and errors"},
    "--tokenizer": {
        "choices": TOKENIZERS,
        "metavar": "NAME",
        "help": f"{TOKENIZERS_HELP} (default: the model's own, or whitespace)",
    },
}


class CommandParser(argparse.ArgumentParser):
    """A parser whose help ends with examples, and which knows what `inputs.check_files` needs."""

    examples = ()
    input_names = ()
    output_name, output_suffixes = None, ()
    libraries = ()  # which must be installed: modules, their names and extras

    def add_input(self, *names, **kwargs):
        """`add_argument` for a file to read, or for several."""
        self.input_names += (self.add_argument(*names, **kwargs).dest,)

    def add_output(self, *names, suffixes=(), **kwargs):
        """`add_argument` for the file to write, and `--overwrite`. Its name ends with a suffix."""
        names, shared = names or ("-o", "--output"), {} if names else _SHARED["--output"]
        self.output_name = self.add_argument(*names, **shared, **kwargs).dest
        self.output_suffixes = suffixes
        self.add_shared("--overwrite")

    def add_shared(self, *names, **changes):
        """Adds options that several subcommands have. Changes replace what `add_argument` gets."""
        for name in names:
            letter = [name[1:3]] if name in _WITH_LETTER else []
            self.add_argument(*letter, name, **{**_SHARED[name], **changes})

    def option_names(self):
        """How options are typed, by the names of their values."""
        return {x.dest: x.option_strings[-1] for x in self._actions if x.option_strings}

    def print_help(self, file=None):
        print(self.format_help(), end="", file=file, flush=True)  # argparse hides a full disk

    def format_help(self):
        lines = "".join(f"  {example}\n" for example in self.examples)
        return f"{super().format_help()}\nexamples:\n{lines}"


def add_commands(parser, subcommands):
    """Makes a command take subcommands, a dict by their names; without one, it shows its help.

    Each has a docstring (a line for the list, perhaps a description, and two examples, which are
    indented), a function that adds arguments, and one that runs, or `None` if it has subcommands.
    The help ends with examples of the first and the last.
    """
    commands = parser.add_subparsers(metavar="COMMAND", parser_class=CommandParser)
    for name, (text, add_arguments, run) in subcommands.items():
        help, _, text = inspect.cleandoc(text or "").partition("\n\n")  # no text with `python -OO`
        description, *examples = text.split("\n    ")
        command = commands.add_parser(name, help=help, description=description or help)
        command.examples = examples
        add_arguments(command)
        command.set_defaults(run=run, parser=command)
    first, *_, last = commands.choices.values()
    parser.examples = (*first.examples[:1], *last.examples[:1])


def add_corpus_arguments(parser, tokenizer="whitespace"):
    """Adds the options with which text files are read and split."""
    help = f"{TOKENIZERS_HELP} (default: %(default)s)"
    parser.add_shared("--tokenizer", default=tokenizer, help=help)
    parser.add_shared(*DECODING)


def add_embedding_arguments(parser, layers_help):
    """Adds the options that `embed` and `embed-corpus` have in common."""
    parser.add_argument(
        "--keep",
        metavar="NAME",
        action="append",
        default=[],
        help="a field or column (as an id; several times: several) to store beside the vectors",
    )
    parser.add_shared(*READING, "--model", "--tokenizer", "--matmul-dtype")
    parser.add_shared("--layers", default="all", metavar=None, help=layers_help)
    parser.add_argument(
        "--token-budget",
        **COUNT,
        help="tokens of a batch, for which memory grows (4096, and more where sentences are long)",
    )
    parser.add_shared("--quiet")


def add_occurrence_arguments(parser, has_senses=False):
    """Adds the text in which words are found, perhaps its senses, and the options of `find`."""
    parser.add_input(
        "file",
        metavar="FILE",
        help="a text, one sentence a line; *.gz is decompressed; - for standard input; or a "
        "folder like CoarseWSD-20's of one word, whose test sentences are read, with their senses",
    )
    if has_senses:
        parser.add_input("--senses", help="a text file with a sense for each line of FILE")
    parser.add_shared("--layers", *READING, "--model", "--tokenizer", "--quiet")
    parser.add_argument("-i", "--ignore-case", **SWITCH, help="find Bank for bank, too")
    parser.add_argument(
        "--limit",
        **COUNT,
        default=1000,  # enough for a picture or a table; their vectors take about 10 MB
        help="read the text as far as the first N occurrences (%(default)s)",
    )


# An argument in backquotes that are not part of a path, and one with its value after "Received: ".
_QUOTED = re.compile(r"(?<![^\s(])`(?P<name>\w+)(?:=(?P<value>[^`\s]+))?`(?![\w/])")
_RECEIVED = re.compile(r"(?<=Received: )(?P<name>\w+)=(?P<value>[^\s;,]+)")


def as_typed(message, options):
    """An error of the library, with options as they are typed for the names of arguments.

    Only `` `name` `` and `` `name=value` `` are translated, and name=value after "Received: ", if
    the message has the name in backquotes. Other words may be paths, such as runs/seed=1.
    """
    names = {match["name"] for match in _QUOTED.finditer(message)} & options.keys()

    def typed(match):
        name, value = match["name"], match["value"]
        if name not in names:
            return match[0]
        return options[name] + (f" {value}" if value and value != "True" else "")

    return _QUOTED.sub(typed, _RECEIVED.sub(typed, message))
