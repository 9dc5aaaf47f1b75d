"""Files with a token a line, in columns: CoNLL, CoNLL-U, and tables with a token a row."""

import collections
import itertools
import re
from typing import NamedTuple

from keras_elmo.checks import short_repr
from keras_elmo.files.records import Words, as_token, column_of, csv_rows
from keras_elmo.files.text_files import decode_lines, input_name, open_text

_CONLLU = "id form lemma upos xpos feats head deprel deps misc".split()
_DECLARATION = re.compile(r"#\s*global\.columns\s*=(.*)")  # of CoNLL-U Plus
_INTEGER = re.compile(r"-?\d{1,9}")
# The number of a token in its sentence; also of a word of several (1-2), or an empty node (1.1).
_INDEX = re.compile(r"(?:\d{1,9}[-.])?(\d{1,9})")
_HEADINGS = (
    "text sentence word token form review tweet message comment title content "
    "label class category target sentiment tag ner ne pos upos xpos"
).split()
_HEADINGS = {*_HEADINGS, *(f"{word}s" for word in _HEADINGS), "v1", "v2"}
_PART_OF_LIST = re.compile(r""".+,$|\[['"]|['"]\]""")


class Sentence(NamedTuple):
    """The tokens and the tags of a sentence; of CoNLL-U also its lines, the places of the tokens
    among them, and the column of the tags."""

    tokens: list
    tags: list
    lines: list = ()
    places: list = ()
    column: int = 0

    def with_tags(self, tags):
        """The lines, with other tags."""
        lines = list(self.lines)
        for place, tag in zip(self.places, tags, strict=True):
            cells = lines[place].split("\t")
            cells[self.column] = str(tag)
            lines[place] = "\t".join(cells)
        return lines


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
    """The `Sentence`s of a file, and parts without tokens; see `read_tagged`.

    For the arguments see `read_sentences`.
    """
    name, given = input_name(path), [field for field in fields.values() if field is not None]
    rows = _read_rows(path, format, decoding, given)
    declared = _DECLARATION.match(rows[0].line) if rows else None
    names = declared[1].lower().split() if declared else _CONLLU if format == "conllu" else []
    is_conllu, is_table = bool(names), format == "csv"
    if not is_conllu and not all(_INTEGER.fullmatch(str(field)) for field in given):
        rows = list(itertools.dropwhile(_Row.is_blank, rows))
        names = [cell.strip().lower() for row in rows[:1] for cell in row.cells]
        rows, is_table = rows[1:], True
    usual = [names.index("form") if "form" in names else 0, 3 if names == _CONLLU else -1, None]
    columns = zip(fields.items(), usual, strict=True)
    token, label, key = (_column(*field, names, default) for field, default in columns)
    blocks = [list(b) for is_blank, b in itertools.groupby(rows, _Row.is_blank) if not is_blank]
    is_whole = is_table and key is None and len(blocks) == 1
    if key is not None:
        blocks = [part for block in blocks for part in _split(block, key)]
    # Lines that begin with # before the tokens of a sentence are comments, or tokens.
    clear = [row for block in blocks for row in itertools.dropwhile(_Row.has_hash, block)]
    while clear and not names and not any(row.cells[-1].strip() for row in clear):
        for row in itertools.chain(*blocks):
            if not row.cells[-1].strip():
                row.cells.pop()  # There is a tab at the end of each line.

    def tag_of(row):
        return row.cell(label).strip() if len(row.cells) > 1 else ""

    widths, known = collections.Counter(len(row.cells) for row in clear), {"O", *map(tag_of, clear)}
    width, indices = max(widths, key=widths.get, default=None), [row.cells[0] for row in clear]
    has_indices = names[:1] == ["id"] or (
        token != 0 and all(map(_INDEX.fullmatch, indices)) and any(map(str.isdecimal, indices))
    )

    def is_token(row, is_first):
        if row.has_hash() and (is_first or is_conllu):
            has_known_tag = not row.line.startswith("# ") or tag_of(row) in known
            return not is_conllu and width in (None, len(row.cells)) and has_known_tag
        return row.cells[0] != "-DOCSTART-" and (not has_indices or row.cells[0].isdecimal())

    sentences = []
    for block in blocks:
        lines = [row.line for row in block] if is_conllu else []
        sentences.append(sentence := Sentence(Words(), [], lines, [], label))
        for place, row in enumerate(block):
            if not is_token(row, is_first=not sentence.places):
                continue
            sentence.tokens.append(as_token(row.cell(token)))
            sentence.tags.extend([tag_of(row)] if has_tags else [])
            sentence.places.append(place)
            count = len(names if is_conllu else block[sentence.places[0]].cells)
            if not all(sentence.tokens[-1:] + sentence.tags[-1:]) or len(row.cells) != count:
                raise ValueError(
                    f"Each line of {name} must hold a token and a tag, or be blank. Received: line "
                    f"{row.number:,}, {short_repr(row.line or row.cells)}, with {len(row.cells)} "
                    f"columns in a sentence of {count}. (`format` names others, as pubtator.)"
                )
    cells, max_words = clear[0].cells if clear else (), 1 if is_table else 2 if has_tags else None
    check_sentences(name, sentences, max_words, cells, is_whole)
    return sentences


def check_sentences(name, sentences, max_words=1, cells=(), is_whole=False):
    """Refuses what surely is not tokens and tags. Of more than `max_words` sentences one must have
    two tokens. `cells` are the columns of the first row. `is_whole`: nothing separates sentences.
    """
    rows = [sentence.tokens for sentence in sentences if sentence.tokens]
    tokens, tags = ([x for row in sentences for x in row[k]] for k in range(2))
    fault, longest, kinds = None, max(map(len, rows), default=0), set(tags)
    if longest > 1 and all(map(_is_count, rows)):
        fault = "tokens that count"
    elif longest > 1 and len(cells) > 2 and all(len(set(row)) == 1 for row in rows):
        fault = "the same token throughout a sentence"
    elif longest == 1 and max_words is not None and len(rows) > max_words:
        fault = "one token in each sentence"
    elif is_whole and len(cells) > 2:
        fault = "one sentence without a blank line"
    elif kinds == {"_"}:
        fault = "no tag but _"
    elif 3 < len(kinds) >= 0.8 * len(tags) and len(kinds) > len(set(tokens)):
        fault = "more tags than tokens"
    elif wrong := next(filter(_PART_OF_LIST.search, tags), None):
        fault = f"a tag {wrong!r}, part of a list"
    if fault:
        columns = ", ".join(f"{index}: {short_repr(cell)}" for index, cell in enumerate(cells))
        raise ValueError(
            f"{name} must hold sentences of tokens with tags. `token_field` names the column of "
            "the token, `label_field` that of the tag, and `sentence_field` one that changes where "
            f"a sentence begins. Received: {fault}" + (columns and f"; the first row has {columns}")
        )
    check_heading(name, tokens, tags)


def check_heading(name, texts, labels, field="token_field"):
    """Refuses a first text and its label that surely are the names of columns."""
    (text, *texts), (label, *labels) = texts or ("",), labels or ("",)
    counts = collections.Counter(labels)
    if label in counts or not labels or len(text.split()) != 1:
        return
    is_heading = all({*re.split(r"[\W_]+", x.lower())} & _HEADINGS for x in (text, label))
    is_word = len(label) > 1 and not _INTEGER.fullmatch(label)
    is_of_another_kind = is_word and all(map(_INTEGER.fullmatch, counts))
    is_unlike_texts = min(counts.values()) > 1 and all(len(x.split()) > 1 for x in texts)
    if is_heading or is_of_another_kind or is_unlike_texts:
        raise ValueError(
            f"The first line of {name} surely names its columns: give `{field}={text}` and "
            f"`label_field={label}`, for texts with the format `tsv`. Received: a label {label!r}"
        )


def _is_count(tokens):
    """Whether tokens are numbers, each the next of the one before, as 1, 2, 3 or 1-1, 1-2."""
    found = list(map(_INDEX.fullmatch, tokens))
    numbers = [int(x) for x in tokens if x.isdecimal()] or [int(x[1]) for x in found if x]
    return all(found) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _read_rows(path, format, decoding, given):
    name = input_name(path)
    with open_text(path) as file:
        lines = decode_lines(file, name, *decoding, keep_ends=format == "csv")
        if format == "csv":
            return [_Row(number, "", cells) for number, cells in csv_rows(lines, name, given)]
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
    return list(map(_Row, itertools.count(1), lines, cells))


def _column(argument, field, names, default):
    """The number of the column that a field names."""
    if field is None:
        return default
    index = column_of(str(field).lower(), names)
    if index is None and not _INTEGER.fullmatch(str(field)):
        raise ValueError(
            f"`{argument}` must be the number of a column, from 0, or from -1 at the end, or its "
            f"name in the first line. Received: {argument}={field!r}, and {short_repr(names)}"
        )
    return int(field) if index is None else index


def _split(block, column):
    """Parts of a block of rows, where a column has another value than before, if not a blank."""
    cells = (row.cell(column).strip() for row in block)
    values = itertools.accumulate(cells, lambda before, new: new or before)
    for _, part in itertools.groupby(zip(values, block, strict=True), key=lambda pair: pair[0]):
        yield [row for _, row in part]
