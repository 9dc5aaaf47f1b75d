"""Show the contexts in which a word means the same.

Finds every occurrence of a word in a text, and shows for each layer the other occurrences whose
vectors are nearest, with the cosines. Occurrences in the same sense are near in the higher layers.

    keras-elmo similar bank sentences.txt -m tiny
    keras-elmo similar bank sentences.txt -m tiny --layers 2 --top 5 --json
"""

import json

from keras_elmo_cli.inputs import find_words, pluralize
from keras_elmo_cli.options import COUNT, SWITCH, add_occurrence_arguments


def add_arguments(parser):
    parser.add_argument("word", metavar="WORD", help="a token")
    add_occurrence_arguments(parser)
    parser.add_argument("-n", "--top", **COUNT, default=3, help="how many contexts (%(default)s)")
    parser.add_argument("--json", **SWITCH, help="print JSON, and not a table")


def run(options):
    found, layers, _ = find_words(options, options.word)
    nearest = {layer: found.nearest(layer, options.top) for layer in layers}
    (_print_json if options.json else _print_table)(options.word, found, nearest)


def _print_json(word, found, nearest):
    occurrences = []
    for k in range(len(found)):
        before, token, after = found.context(k)
        neighbours = {}
        for layer, (numbers, cosines) in nearest.items():
            neighbours[layer] = [
                {"occurrence": n, "line": found.line_numbers[n], "cosine": round(cosine, 6)}
                for n, cosine in zip(numbers[k].tolist(), cosines[k].tolist(), strict=True)
            ]
        row = {"line": found.line_numbers[k], "token": found.token_index[k]}
        row |= {"tokens": [*before, token, *after], "nearest": neighbours}
        occurrences.append(row)
    print(json.dumps({"word": word, "occurrences": occurrences}, indent=1))


def _print_table(word, found, nearest):
    print(f"{pluralize(len(found), 'occurrence')} of {word!r}. Columns: layer, cosine, line")
    for k in range(len(found)):
        print(f"\n{found.line_numbers[k]:>22,}  {found.short_context(k)}")
        for layer, (numbers, cosines) in nearest.items():
            for n, cosine in zip(numbers[k], cosines[k], strict=True):
                line = found.line_numbers[n]
                print(f"layer {layer:<2}  {cosine:>5.2f}  {line:>5,}  {found.short_context(n)}")
