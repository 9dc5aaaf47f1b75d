"""Files with a token a line, in columns: CoNLL, CoNLL-U, and tables with a token a row."""

import collections
import itertools
import re
from typing import NamedTuple

from keras_elmo.checks import short_repr
from keras_elmo.files.records import Words, as_token, column_of, csv_rows
from keras_elmo.files.text_files import decode_lines, input_name, open_text

CONLLU = "id form lemma upos xpos feats head deprel deps misc".split()
_DECLARATION = re.compile(r"#\s*global\.columns\s*=")  # of CoNLL-U Plus
_INTEGER = re.compile(r"-?\d{1,9}")
# The number of a token in its sentence; also of a word of several (1-2), or an empty node (1.1).
_INDEX = re.compile(r"(?:\d{1,9}[-.])?(\d{1,9})")
_JOINTS = "|/_"  # between a word and its tag
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


def read_columns(path, format, encoding, errors, fields, has_tags=True):
    """The `Sentence`s of a file, and parts without tokens; see `read_tagged`.

    `fields` is a dict of its `token_field`, `label_field` and `sentence_field`. If not `has_tags`,
    tokens may have none.
    """
    name, given = input_name(path), [field for field in fields.values() if field is not None]
    rows = _read_rows(path, format, encoding, errors, given)
    names, is_table = CONLLU if format == "conllu" else [], format == "csv"
    if rows and (declaration := _DECLARATION.match(rows[0].line)):
        names = rows[0].line[declaration.end() :].lower().split()
    is_conllu = bool(names)
    if not is_conllu and not all(_INTEGER.fullmatch(str(field)) for field in given):
        rows = list(itertools.dropwhile(_Row.is_blank, rows))
        names = [cell.strip().lower() for row in rows[:1] for cell in row.cells]
        rows, is_table = rows[1:], True
    first_token = names.index("form") if "form" in names else 0
    first_tag = CONLLU.index("upos") if names == CONLLU else -1
    token, label, key = (
        default if field is None else _column(argument, field, names)
        for (argument, field), default in zip(
            fields.items(), (first_token, first_tag, None), strict=True
        )
    )
    blocks = [list(b) for is_blank, b in itertools.groupby(rows, _Row.is_blank) if not is_blank]
    if is_table and key is None and len(blocks) == 1 and len(blocks[0][0].cells) > 2:
        raise _wrong_columns(name, "one sentence without a blank line", blocks[0][0].cells)
    if key is not None:
        blocks = [part for block in blocks for part in _split(block, key)]
    # Lines that begin with # before all other lines of a sentence are comments, or tokens.
    starts = [sum(1 for _ in itertools.takewhile(_Row.has_hash, block)) for block in blocks]
    clear = [row for block, start in zip(blocks, starts, strict=True) for row in block[start:]]
    while clear and not names and not any(row.cells[-1].strip() for row in clear):
        for row in itertools.chain(*blocks):
            if not row.cells[-1].strip():
                row.cells.pop()  # There is a tab at the end of each line.

    def tag_of(row):
        return row.cell(label).strip() if len(row.cells) > 1 else ""

    widths, known = collections.Counter(len(row.cells) for row in clear), {"O", *map(tag_of, clear)}
    width, has_tabs = max(widths, key=widths.get, default=None), any("\t" in x.line for x in clear)

    def is_comment(row):
        is_other = width not in (None, len(row.cells)) or (has_tabs and "\t" not in row.line)
        return is_conllu or is_other or (row.line.startswith("# ") and tag_of(row) not in known)

    indices = [row.cells[0] for row in clear]
    has_indices = names[:1] == ["id"] or (
        token != 0 and all(map(_INDEX.fullmatch, indices)) and any(map(str.isdecimal, indices))
    )
    sentences = []
    for block, start in zip(blocks, starts, strict=True):
        lines = [row.line for row in block] if is_conllu else []
        sentence = Sentence(Words(), [], lines, [], label)
        for place, row in enumerate(block):
            if row.has_hash() and (place < start or is_conllu) and is_comment(row):
                continue
            if row.cells[0] == "-DOCSTART-" or (has_indices and not row.cells[0].isdecimal()):
                continue
            word, tag = as_token(row.cell(token)), tag_of(row)
            count = len(names if is_conllu else block[(sentence.places or [place])[0]].cells)
            if not word or (has_tags and not tag) or len(row.cells) != count:
                raise ValueError(
                    f"Each line of {name} must hold a token and a tag, or be blank. Received: line "
                    f"{row.number:,}, {short_repr(row.line or row.cells)}, with {len(row.cells)} "
                    f"columns in a sentence of {count}"
                )
            sentence.tokens.append(word)
            sentence.tags.append(tag)
            sentence.places.append(place)
        sentences.append(sentence)
    tags = {tag for sentence in sentences for tag in sentence.tags}
    if has_tags and names == CONLLU and tags <= {"_"}:
        raise ValueError(f"{name} must hold words with {CONLLU[label]} tags. Received: none")
    max_words = 1 if is_table else 2 if has_tags else len(sentences)
    check_sentences(name, sentences, max_words, clear[0].cells if clear else ())
    is_open = has_tags and not is_conllu and fields["label_field"] is None and len(clear) > 1
    if is_open and width > 2 and len(tags) == 1 and tags != {"O"}:
        raise _wrong_columns(name, f"the tag {tags.pop()!r} alone", clear[0].cells)
    return sentences


def check_sentences(name, sentences, max_words, cells=()):
    """Refuses what surely is not tokens and tags: sentences of a word each, if there are more than
    `max_words`. `cells` are the columns of the first row."""
    rows = [sentence.tokens for sentence in sentences if sentence.tokens]
    tokens, tags = ([x for row in sentences for x in row[k]] for k in range(2))
    fault, longest = None, max(map(len, rows), default=0)
    if longest > 1 and all(map(_is_count, rows)):
        fault = "tokens that count"
    elif longest > 1 and len(cells) > 2 and all(len(set(row)) == 1 for row in rows):
        fault = "the same token throughout a sentence"
    elif longest == 1 and len(rows) > max_words:
        fault = "one token in each sentence"
    elif 3 < len(set(tags)) >= 0.8 * len(tags) and len(set(tags)) > len(set(tokens)):
        fault = "more tags than tokens"
    elif wrong := next(filter(_PART_OF_LIST.search, tags), None):
        fault = f"a tag {wrong!r}, part of a list"
    if fault:
        raise _wrong_columns(name, fault, cells)
    check_heading(name, tokens, tags)


def _wrong_columns(name, fault, cells):
    columns = ", ".join(f"{index}: {short_repr(cell)}" for index, cell in enumerate(cells))
    return ValueError(
        f"{name} must hold sentences of tokens with tags. `token_field` names the column of the "
        "token, `label_field` that of the tag, and `sentence_field` one that changes where a "
        f"sentence begins. Received: {fault}" + (f"; the first row has {columns}" if cells else "")
    )


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
            f"If the first line of {name} names its columns, `{field}` and `label_field` must be "
            "such names, and the format of texts `tsv`. "
            f"Received: the label {label!r} in the first line alone, beside {text!r}"
        )


def _is_count(tokens):
    """Whether tokens are numbers, each the next of the one before, as 1, 2, 3 or 1-1, 1-2."""
    found = list(map(_INDEX.fullmatch, tokens))
    numbers = [int(x) for x in tokens if x.isdecimal()] or [int(x[1]) for x in found if x]
    return all(found) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _read_rows(path, format, encoding, errors, given):
    name = input_name(path)
    with open_text(path) as file:
        lines = decode_lines(file, name, encoding, errors, keep_ends=format == "csv")
        if format == "csv":
            return [_Row(number, "", cells) for number, cells in csv_rows(lines, name, given)]
        rows = [_Row(number, line, _cells(line)) for number, line in enumerate(lines, start=1)]
    words = [word for row in rows if not row.line.startswith("# ") for word in row.cells]
    joint = next((x for x in _JOINTS if words and all(x in word for word in words)), None)
    if joint is None or not any(len(row.cells) > 1 for row in rows):
        return rows
    count, split = min(word.count(joint) for word in words), []
    for number, _, cells in rows:  # `Ada|B-PER met|O`: a line is a sentence.
        split += [_Row(number, word, word.rsplit(joint, count)) for word in cells]
        split.append(_Row(number, "", []))
    return split


def _cells(line):
    """The columns of a line: between tabs, or between spaces if there is no tab."""
    return line.split("\t") if "\t" in line else [part for part in line.split(" ") if part]


def _column(argument, field, names):
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
