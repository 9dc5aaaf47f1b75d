"""Train a tagger of tokens, score it, or tag texts with it."""

import json

from keras_elmo_cli import task_steps
from keras_elmo_cli.options import SWITCH, add_commands

_COLUMN = "with a token a line, the number (from 0) or the name of the column "
TASK = task_steps.Task(
    "tagger",
    "Tagger",
    "read_tagged",
    "CoNLL: a token a line, with its tag in another column, and a blank line after each sentence; "
    "or *.conllu; or see --field; or *.ann, with *.txt, or a folder of brat; or *.pubtator",
    "with --field, the field or column with the tags, a list, or tags with spaces between, or "
    "with spans of characters and their labels (of doccano, Prodigy or spaCy); of "
    "*.conllu files upos (the default), xpos or deprel; of other CoNLL the number of the column, "
    "from 0, or from -1, the last, which is the default, or its name in the first line",
    ", or pos: universal parts of speech of English, in the package",
    ("conll", "conllu"),
    ("brat", "pubtator"),
    {
        "token_field": f"{_COLUMN}of the token (default: the first)",
        "sentence_field": f"{_COLUMN}that changes where a sentence begins, as in *.csv files",
    },
)
_EVALUATE = """Score a tagger on a file with tags.

Prints the precision, the recall and the F1 score of each kind of entity for tags like B-PER,
otherwise of each tag, and how many there are.

    keras-elmo tag evaluate test.conll -m entities.keras
    keras-elmo tag evaluate en.conllu -m pos
"""


def add_arguments(parser):
    steps = {
        "train": (_train.__doc__, _add_train_arguments, _train),
        "evaluate": (_EVALUATE, TASK.add_evaluate_arguments, TASK.evaluate),
        "label": (_label.__doc__, _add_label_arguments, _label),
    }
    add_commands(parser, steps)


def _add_train_arguments(parser):
    TASK.add_train_arguments(parser)
    parser.add_argument("--no-crf", **SWITCH, help="choose each tag by itself, which is faster")


def _train(options):
    """Make a tagger from files.

    Trains a tagger on tokens with tags, and says how well it does on the dev and the test file,
    beside each word's most frequent tag: the accuracy of tokens and, for tags like B-PER, the F1
    score of entities.

        keras-elmo tag train train.conll --dev dev.conll -o entities.keras
        keras-elmo tag train en.conllu --label-field xpos -o xpos.keras
    """
    data = TASK.read_parts(options)
    # Those of the other files too: a rare tag may be in one of them alone.
    labels = sorted({tag for _, tags in data.values() for row in tags for tag in row})
    TASK.train(options, data, labels, baseline, crf=not options.no_crf)


def baseline(train, others):
    """Each word's most frequent tag, and the most frequent of all for others."""
    from keras_elmo.analysis.probing import most_frequent_tags
    from keras_elmo.tags import scheme_of
    from keras_elmo.tasks.report import report_of_entities

    tag_of = most_frequent_tags(_flat_pairs(*train))
    found = [list(map(tag_of, words)) for words in others[0]]
    pairs = _flat_pairs(others[1], found)
    scores = {"accuracy": sum(a == b for a, b in pairs) / len(pairs)}
    labels = {tag: tag for rows in (*train[1], *others[1]) for tag in rows}
    if scheme_of(sorted(labels)) is not None:
        scores["f1"] = report_of_entities(others[1], found, labels).averages["micro avg"].f1
    return "each word's most frequent tag", scores


def _flat_pairs(*sides):
    """The pairs of what stands in the same place of two lists of lists."""
    return [p for rows in zip(*sides, strict=True) for p in zip(*rows, strict=True)]


def _add_label_arguments(parser):
    TASK.add_label_arguments(parser)
    help = "the column of CoNLL-U that gets the tags (default: upos)"
    parser.add_argument("--label-field", metavar="NAME", help=help)
    parser.add_argument(
        "--entities",
        **SWITCH,
        help="print each text with its entities and their scores as JSON, for doccano and for `tag "
        "train --field text --label-field label`; of a list of tokens, with numbers of tokens",
    )


def _batches(options):
    """Pairs: a list of texts, or of lists of tokens; and the `Sentence` of each, or `None`."""
    from keras_elmo.files.labelled_files import read_sentences
    from keras_elmo.files.records import as_tokens, suffix_of

    has_columns = (options.token_field, options.sentence_field) != (None, None)
    format = options.format or suffix_of(options.file)[1:].removesuffix("p")
    if has_columns or format in TASK.formats:
        found = read_sentences(options.file, **TASK.reading(options), has_tags=False)
        found = [row for row in found if row.tokens or (row.lines and not options.entities)]
        yield [sentence.tokens for sentence in found], found
        return
    for records in task_steps.batches_of_records(options):
        texts = [record.text for record in records]
        texts = [x if isinstance(x, str) else as_tokens(x) for x in texts]
        yield texts, [None] * len(texts)


def _label(options):
    """Tag new texts.

    Prints a token and its tag on each line, and a blank line after each sentence. CoNLL-U stays as
    it is, with the tags in a column.

        keras-elmo tag label new.txt -m entities.keras --entities
        keras-elmo tag label new.conllu -m pos
    """
    model = TASK.load(options)
    for texts, sentences in _batches(options):
        if options.entities:
            for text, found in zip(texts, model.entities(texts), strict=True):
                spans = [[entity.start, entity.end, entity.label] for entity in found]
                scores = [round(entity.score, 3) for entity in found]
                row = {"text": text, "label": spans, "scores": scores}
                print(json.dumps(row, ensure_ascii=False))
            continue
        for row, sentence in zip(model.tag(texts), sentences, strict=True):
            lines = [f"{token}\t{tag}" for token, tag in row]
            if sentence is not None and sentence.lines:
                lines = sentence.with_tags([tag for _, tag in row])
            print("".join(f"{line}\n" for line in lines))
