"""Files with a token a line, in columns: CoNLL, CoNLL-U, and tables with a token a row."""

import collections
import itertools
import re
import statistics
from typing import NamedTuple

from keras_elmo.checks import short_repr
from keras_elmo.files.records import as_tokens, columns_of, csv_rows
from keras_elmo.files.text_files import input_name, read_lines

_CONLLU = "id form lemma upos xpos feats head deprel deps misc".split()
_DECLARATION = re.compile(r"#\s*global\.columns\s*=(.*)")  # of CoNLL-U Plus
_INTEGER = re.compile(r"-?\d{1,9}")
# The number of a token in its sentence; also of a word of several (1-2), or an empty node (1.1).
_INDEX = re.compile(r"(?:\d{1,9}[-.])?(\d{1,9})")
_HEADING = re.compile(
    "(text|sentence|word|token|form|review|tweet|message|comment|title|content|label|class|"
    "category|target|sentiment|tag|ner|ne|pos|upos|xpos)s?|v1|v2"
)
_PART_OF_LIST = re.compile(r""".+,$|\[['"]|['"]\]""")


class Sentence(NamedTuple):
    """The tokens and the tags of a sentence; of CoNLL-U also its lines, those of tokens as lists of
    cells, and the column of the tags."""

    tokens: list
    tags: list
    lines: list = ()
    column: int = 0

    def with_tags(self, tags):
        """The lines, with other tags."""
        rows = [line for line in self.lines if isinstance(line, list)]
        for cells, tag in zip(rows, tags, strict=True):
            cells[self.column] = str(tag)
        return ["\t".join(line) if isinstance(line, list) else line for line in self.lines]


class _Row(NamedTuple):
    number: int  # of its line, from 1
    line: str  # of CSV ""
    cells: list

    def is_blank(self):
        return not any(map(str.strip, self.cells))

    def has_hash(self):
        return self.line.startswith("#")

    def cell(self, column):
        """The text of a column; `""` if there is none."""
        return self.cells[column] if -len(self.cells) <= column < len(self.cells) else ""


def read_columns(path, format, decoding, fields, has_tags=True):
    """The `Sentence`s of a file, and parts without tokens; see `read_sentences`.

    `fields` are its `token_field`, `label_field` and `sentence_field`.
    """
    name = input_name(path)
    fields = [int(x) if _INTEGER.fullmatch(str(x)) else x for x in fields]
    rows = _read_rows(path, format, decoding, [field for field in fields if field is not None])
    declared = _DECLARATION.match(rows[0].line) if rows else None
    names = declared[1].lower().split() if declared else _CONLLU if format == "conllu" else []
    is_conllu, is_table = bool(names), format == "csv"
    if not is_conllu and any(isinstance(field, str) for field in fields):
        rows = list(itertools.dropwhile(_Row.is_blank, rows))
        names = [cell.strip().lower() for row in rows[:1] for cell in row.cells]
        rows, is_table = rows[1:], True
    fields = [columns_of([x.lower()], names, name)[0] if isinstance(x, str) else x for x in fields]
    usual = [names.index("form") if "form" in names else 0, 3 if names == _CONLLU else -1, None]
    token, label, key = (y if x is None else x for x, y in zip(fields, usual, strict=True))
    blocks = _blocks(rows, key)
    # Lines that begin with # before the tokens of a sentence are comments, or tokens.
    clear = [row for block in blocks for row in itertools.dropwhile(_Row.has_hash, block)]
    while clear and not names and not any(row.cells[-1].strip() for row in clear):
        for row in itertools.chain(*blocks):
            if not row.cells[-1].strip():
                row.cells.pop()  # There is a tab at the end of each line.

    def tag_of(row):
        return row.cell(label).strip() if len(row.cells) > 1 else ""

    known, indices = {"O", *map(tag_of, clear)}, [row.cells[0] for row in clear]
    width = statistics.mode(len(row.cells) for row in clear) if clear else None
    has_indices = names[:1] == ["id"] or (
        token != 0 and all(map(_INDEX.fullmatch, indices)) and any(map(str.isdecimal, indices))
    )

    def is_comment(row):
        has_width = width in (None, len(row.cells))
        has_known_tag = not row.line.startswith("# ") or tag_of(row) in known
        return row.has_hash() and (is_conllu or not has_width or not has_known_tag)

    sentences, without = [], itertools.filterfalse if is_conllu else itertools.dropwhile
    for block in blocks:
        rows = without(is_comment, block)
        rows = [row for row in rows if not has_indices or row.cells[0].isdecimal()]
        tokens = as_tokens(row.cell(token) for row in rows)
        tags = [tag_of(row) for row in rows if has_tags]
        count = len(names if is_conllu else rows[0].cells if rows else ())
        for row, *found in zip(rows, tokens, tags or tokens, strict=True):
            if not all(found) or len(row.cells) != count:
                raise ValueError(
                    f"Each line of {name} must hold a token and a tag, or be blank. Received: line "
                    f"{row.number:,}, {short_repr(row.line or row.cells)}, with {len(row.cells)} "
                    f"columns in a sentence of {count}. (`format` names others, as pubtator.)"
                )
        numbers = {row.number for row in rows}
        lines = [row.cells if row.number in numbers else row.line for row in block if is_conllu]
        sentences.append(Sentence(tokens, tags, lines, label))
    is_whole = is_table and key is None and len(blocks) == 1
    check_sentences(name, sentences, clear[0].cells if clear else (), is_whole)
    return sentences


def check_sentences(name, sentences, cells=(), is_whole=False):
    """Refuses what surely is not tokens and tags.

    `cells` are the columns of the first row. `is_whole`: nothing separates sentences.
    """
    rows = [sentence.tokens for sentence in sentences if sentence.tokens]
    tokens, tags = ([x for row in sentences for x in row[k]] for k in range(2))
    longest, is_wide = max(map(len, rows), default=0), len(cells) > 2
    part_of_list = next(filter(_PART_OF_LIST.search, tags), None)
    faults = {
        "tokens that count": longest > 1 and all(map(_is_count, rows)),
        "the same token throughout a sentence": (
            longest > 1 and is_wide and all(len(set(row)) == 1 for row in rows)
        ),
        "one token in each sentence": longest == 1 and len(rows) > 2 and tags,
        "one sentence without a blank line": is_whole and is_wide,
        "no tag but _": {*tags} == {"_"},
        f"a tag {part_of_list!r}, part of a list": part_of_list,
    }
    if fault := next(filter(faults.get, faults), None) or fault_of(tokens, tags, "token_field"):
        columns = ", ".join(f"{index}: {short_repr(cell)}" for index, cell in enumerate(cells))
        raise ValueError(
            f"{name} must hold sentences of tokens with tags. `token_field` names the column of "
            "the token, `label_field` that of the tag, and `sentence_field` one that changes where "
            f"a sentence begins. Received: {fault}" + (columns and f"; the first row has {columns}")
        )


def fault_of(texts, labels, field):
    """What surely is wrong with texts, or tokens, and their labels: a string, or `None`."""
    counts, num_texts = collections.Counter(labels), len(set(texts))
    if num_texts < len(counts) >= max(4, 0.8 * len(labels)):
        return f"{len(counts):,} labels for {num_texts:,} texts or tokens"
    (text, *texts), label = texts or [""], next(iter(counts), "")
    if counts.pop(label, 0) != 1 or not counts or len(text.split()) != 1:
        return None
    parts = [re.split(r"[\W_]+", x.lower()) for x in (text, label)]
    is_known = all(any(map(_HEADING.fullmatch, words)) for words in parts)
    is_number = _INTEGER.fullmatch
    is_no_number = len(label) > 1 and not is_number(label) and all(map(is_number, counts))
    is_unlike_texts = min(counts.values()) > 1 and all(len(x.split()) > 1 for x in texts)
    if is_known or is_no_number or is_unlike_texts:
        return f"surely the names of columns: give `{field}={text}` and `label_field={label}`"


def _blocks(rows, key):
    """The rows between blank ones, and where the column `key` has another value, if not a blank."""
    cells = ("" if key is None else row.cell(key).strip() for row in rows)
    values = itertools.accumulate(cells, lambda before, new: new or before)
    groups = itertools.groupby(
        zip(rows, values, strict=True), key=lambda pair: (pair[0].is_blank(), pair[1])
    )
    return [[row for row, _ in pairs] for (is_blank, _), pairs in groups if not is_blank]


def _read_rows(path, format, decoding, given):
    """The rows of a file, without those of -DOCSTART-."""
    lines = read_lines(path, *decoding, keep_ends=format == "csv")
    if format == "csv":
        return [_Row(number, "", row) for number, row in csv_rows(lines, input_name(path), given)]
    lines = list(lines)
    words = [word for line in lines if not line.startswith("# ") for word in line.split()]
    joint = next((x for x in "|/_" if words and all(x in word for word in words)), None)
    if joint and any(" " in line.strip() for line in lines):
        # `Ada|B-PER met|O`: a line is a sentence.
        count = min(word.count(joint) for word in words)
        lines = ["\t".join(x.rsplit(joint, count)) for line in lines for x in (*line.split(), "")]
    # Tabs separate the columns, or else spaces; comments are split as the other lines are.
    has_tabs = any("\t" in line for line in lines if not line.startswith("#"))
    cells = (
        line.split("\t")
        if "\t" in line or (has_tabs and line.startswith("#"))
        else re.findall("[^ ]+", line)
        for line in lines
    )
    rows = map(_Row, itertools.count(1), lines, cells)
    return [row for row in rows if row.cells[:1] != ["-DOCSTART-"]]


def _is_count(tokens):
    """Whether tokens are numbers, each the next of the one before, as 1, 2, 3 or 1-1, 1-2."""
    found = list(map(_INDEX.fullmatch, tokens))
    numbers = [int(x) for x in tokens if x.isdecimal()] or [int(x[1]) for x in found if x]
    return all(found) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
