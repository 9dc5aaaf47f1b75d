"""`keras-elmo similar`: a word's occurrences, and the nearest contexts of each."""

import json
import shutil

from rich.cells import cell_len, set_cell_size

from keras_elmo_cli.arguments import add_occurrence_arguments, add_text_argument, find
from keras_elmo_cli.parsing import pluralize

_CUT = "…"  # stands for what is cut off
HELP = "show the contexts in which a word means the same"
DESCRIPTION = (
    "Finds every occurrence of a word in a text, and shows for each layer the other occurrences "
    "whose vectors are nearest, with the cosines. Occurrences in the same sense are near in the "
    "higher layers."
)
EXAMPLES = (
    "keras-elmo similar bank sentences.txt -m tiny",
    "keras-elmo similar bank sentences.txt -m tiny --layers 2 --top 5 --json",
)


def add_arguments(parser):
    parser.set_defaults(files=("file",))
    parser.add_argument("word", metavar="WORD", help="a token")
    add_text_argument(parser)
    parser.add_argument(
        "-n", "--top", type=int, default=3, metavar="N", help="how many contexts (%(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, and not a table")
    add_occurrence_arguments(parser)


def run(options):
    from keras_elmo.checks import check_integers

    check_integers(1, top=options.top)
    found, layers, _ = find(options, options.word)
    if len(found) < 2:
        raise ValueError(
            f"{options.file} must hold the word {options.word!r} at least twice. "
            f"Received: one occurrence, in line {found.line_numbers[0]:,}"
        )
    nearest = {layer: found.nearest(layer, options.top) for layer in layers}
    (_print_json if options.json else _print_table)(options.word, found, nearest)


def _print_json(word, found, nearest):
    occurrences = []
    for k in range(len(found)):
        before, token, after = found.context(k)
        neighbours = {
            str(layer): [
                {
                    "occurrence": int(n),
                    "line": found.line_numbers[n],
                    "cosine": round(float(cosine), 6),
                }
                for n, cosine in zip(numbers[k], cosines[k], strict=True)
            ]
            for layer, (numbers, cosines) in nearest.items()
        }
        occurrences.append(
            {
                "line": found.line_numbers[k],
                "token": found.token_index[k],
                "tokens": [*before, token, *after],
                "nearest": neighbours,
            }
        )
    print(json.dumps({"word": word, "occurrences": occurrences}, indent=1))


def _print_table(word, found, nearest):
    columns = shutil.get_terminal_size().columns - 1
    digits = max(4, len(f"{found.line_numbers[-1]:,}"))
    label = max(len(f"layer {layer}") for layer in nearest)
    margin = label + digits + 9  # the columns before a context, with their spaces
    width = max(columns - margin, 30)

    def line(name, cosine, k):
        context = keyword_in_context(*found.context(k), width)
        print(f"{name:<{label}}  {cosine:>5}  {found.line_numbers[k]:>{digits},}  {context}")

    print(f"{pluralize(len(found), 'occurrence')} of {word!r}. Columns: layer, cosine, line")
    for k in range(len(found)):
        print()
        line("", "", k)
        for layer, (numbers, cosines) in nearest.items():
            name = f"layer {layer}"
            for n, cosine in zip(numbers[k], cosines[k], strict=True):
                line(name, f"{cosine:.2f}", n)
                name = ""


def keyword_in_context(before, token, after, width):
    """A line of a concordance, in which the token stands in the middle.

    Args:
        before: list of strings. The tokens before it.
        token: str.
        after: list of strings. The tokens after it.
        width: int. Columns of the terminal; wide characters take two.

    Returns:
        str, of at most `width` columns; the token begins at the same column for one `width`.
    """
    half = max((width - 12) // 2, 4)  # 12: room for the token itself
    left = _cut(_printable(" ".join(before))[::-1], half)[::-1]
    right = _cut(_printable(" ".join([token, *after])), width - half - 1)
    return f"{' ' * (half - cell_len(left))}{left} {right}"


def _printable(text):
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def _cut(text, width):
    """A text of at most `width` columns of the terminal."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1) + _CUT
