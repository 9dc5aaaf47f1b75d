"""Files of texts with labels, of tokens with tags (CoNLL, CoNLL-U), and of words with senses."""

import collections
import itertools
import json
import pathlib

from keras_elmo.checks import check_choice, short_repr
from keras_elmo.files.records import Fields, decode_records, suffix_of
from keras_elmo.files.text_files import input_name, open_text, read_lines

# The columns of CoNLL-U that hold a tag for each word.
TAG_COLUMNS = {"upos": 3, "xpos": 4, "deprel": 7}


def read_texts(path, field=None, label_field=None, format=None, encoding="utf-8", errors="strict"):
    """Reads texts and their labels: a pair of lists of strings.

    Args:
        path: a file with a text, a tab and its label on each line; or with `field` a file of JSON
            Lines, CSV or TSV. `*.gz` is decompressed, and `-` is standard input.
        field, label_field: strings. The names of the fields that are the text and its label. A text
            that is a list of tokens becomes a string with spaces between them.
        format: `"jsonl"`, `"csv"` or `"tsv"`. `None`: by the name of the file.
        encoding, errors: `errors` is `"strict"`, or `"replace"` for what cannot be decoded.
    """
    texts, labels, name = [], [], input_name(path)
    for record in _read_records(path, field, label_field, format, encoding, errors):
        if not (field or record.text.strip()):
            continue  # a blank line
        text, *row = [record.line, *record.kept] if field else record.text.split("\t")
        if len(row) != 1:
            hint = "Semicolons do not separate them. " if ";" in text and not row else ""
            raise ValueError(
                f"Each line of {name} must hold a text, a tab and a label. {hint}For other columns "
                "put their names into the first line, and give `field` and `label_field`. "
                f"Received: line {record.line_number:,}, {short_repr(record.text)}"
            )
        if not (label := _as_label(row[0])):
            raise ValueError(
                f"Each text of {name} must have a label, a word or an integer. Received: line "
                f"{record.line_number:,}, with {short_repr(row[0]) if row[0] else 'an empty label'}"
            )
        texts.append(text)
        labels.append(label)
    if not texts:
        raise ValueError(f"{name} must hold texts with labels. Received: blank lines only")
    return texts, labels


def read_tagged(path, field=None, label_field=None, format=None, encoding="utf-8", errors="strict"):
    """Reads sentences as tokens, and their tags: a pair of lists, with a list for each sentence.

    Args:
        path: a file in the format of CoNLL: one token a line, its columns with tabs or spaces
            between them, and a blank line after each sentence; `*.conllu`, see `read_conllu`; or
            with `field` a file of JSON Lines, CSV or TSV.
        field, label_field: strings. The names of the fields with the tokens and their tags: lists,
            or strings with spaces between. In CoNLL the token is in the first column, and
            `label_field` is the number of the column of the tag, from 0, or from -1 at the end,
            which is the default.
        format: `"conll"`, `"conllu"`, or see `read_texts`, also for `encoding` and `errors`.

    Before the tokens of a sentence, CoNLL may have comments. A line that begins with `#` is one if
    it has another number of columns than the file's tokens, or begins with `# ` and has a tag that
    the other lines do not have. (Lines such as `# O` are tokens.)
    """
    if (format or suffix_of(path)[1:]) == "conllu":
        if field is not None:
            raise ValueError(f"CoNLL-U must be read without `field`. Received: field={field}")
        return read_conllu(path, label_field or "upos", encoding, errors)
    records = _read_records(path, field, field and label_field, format, encoding, errors)
    read = _conll_sentences if field is None else _sentences
    name = input_name(path)
    pairs = list(read(records, name, field, label_field))
    if not pairs:
        raise ValueError(f"{name} must hold tokens with tags. Received: blank lines only")
    sentences, tags = map(list, zip(*pairs, strict=True))
    return sentences, tags


def read_conllu(path, label_field="upos", encoding="utf-8", errors="strict"):
    """Reads the words and the tags of a CoNLL-U file, like `read_tagged`.

    Words of several tokens (`1-2`) and empty nodes (`1.1`) are left out. A space within a word
    becomes a no-break space, so that the word stays one token wherever a text is split.
    `label_field` is `"upos"`, `"xpos"` or `"deprel"`.
    """
    check_choice(TAG_COLUMNS, label_field=label_field)
    name, sentences, tags = input_name(path), [], []
    for block in _blocks(enumerate(read_lines(path, encoding, errors), start=1)):
        words = []
        for line_number, line in block:
            if line.startswith("#"):
                continue
            fields = line.split("\t")
            if len(fields) != 10:
                raise ValueError(
                    f"{name} must be CoNLL-U, with ten columns between tabs. "
                    f"Received: {len(fields)} in line {line_number:,}"
                )
            if fields[0].isdecimal():
                words.append(fields)
        if words:
            sentences.append([as_token(fields[1]) for fields in words])
            tags.append([fields[TAG_COLUMNS[label_field]] for fields in words])
    if not any(tag != "_" for row in tags for tag in row):
        raise ValueError(f"{name} must hold words with {label_field} tags. Received: none")
    return sentences, tags


def read_senses(folder, part, encoding="utf-8", errors="strict"):
    """Reads sentences with an ambiguous word from its folder, in the format of CoarseWSD-20.

    `PART.data.txt` has a line for each sentence: the index of the word, a tab, and the tokens
    between spaces. `PART.gold.txt` has its sense in the same line. `classes_map.txt`, if there is
    one, names the senses (JSON). `part` is `"train"` or `"test"`; for the others see `read_texts`.

    Returns three lists: the tokens of each sentence, the indices, and the senses, strings.
    """
    folder, names = pathlib.Path(folder), {}
    if (folder / "classes_map.txt").exists():
        names = json.loads("".join(read_lines(folder / "classes_map.txt", encoding, errors)))
    data, gold = folder / f"{part}.data.txt", folder / f"{part}.gold.txt"
    sentences, indices = [], []
    for number, line in enumerate(read_lines(data, encoding, errors), start=1):
        index, _, text = line.partition("\t")
        tokens = text.split()
        if not index.isdecimal() or int(index) >= len(tokens):
            raise ValueError(
                f"{data} must hold on each line the index of a token, a tab, and the tokens. "
                f"Received: line {number:,}, {short_repr(line)}"
            )
        sentences.append(tokens)
        indices.append(int(index))
    senses = read_gold(gold, data.name, len(sentences), encoding, errors)
    return sentences, indices, [names.get(sense, sense) for sense in senses]


def read_gold(path, data, count, encoding, errors):
    """Reads a sense for each of the `count` lines of the file `data`."""
    senses = list(map(str.strip, read_lines(path, encoding, errors)))
    if len(senses) != count or not senses:
        raise ValueError(
            f"{path} must have a sense for each line of {data}. "
            f"Received: {len(senses):,} senses for {count:,} lines"
        )
    return senses


def as_token(text):
    """A text as one token: a space within it becomes a no-break space."""
    return "\u00a0".join(text.split())


def _read_records(path, field, label_field, format, encoding, errors):
    """The records of a file. Without `field`, those of TSV and CoNLL are lines."""
    if (field is None) != (label_field is None):
        raise ValueError(
            "`field` and `label_field` must be given together. "
            f"Received: field={field!r}, label_field={label_field!r}"
        )
    if field is None and (format or suffix_of(path)[1:]) in ("tsv", "conll"):
        format = "text"
    fields = Fields(field, [] if field is None else [label_field], format)
    with open_text(path) as file:
        yield from decode_records(file, input_name(path), encoding, errors, fields)


def _as_label(value):
    """A label as a string; `""` for what is not one."""
    return str(value).strip() if isinstance(value, str | int) else ""


def _sentences(records, name, field, label_field):
    """The tokens and the tags of each record that has tokens."""
    for record in records:
        words, tags = (x.split() if isinstance(x, str) else x for x in (record.text, *record.kept))
        tokens = list(map(as_token, words))
        tags = list(map(_as_label, tags)) if isinstance(tags, list) else []
        if len(tokens) != len(tags) or not all(tokens) or not all(tags):
            raise ValueError(
                f"Each record of {name} must have tokens in {field!r}, and a tag for each of them "
                f"in {label_field!r}. Received: line {record.line_number:,}, with tokens "
                f"{short_repr(tokens)} and tags {short_repr(record.kept[0])}"
            )
        if tokens:
            yield tokens, tags


def _conll_sentences(records, name, field, label_field):
    """The same of columns, where a line is a token."""
    try:
        column = -1 if label_field is None else int(label_field)
    except ValueError:
        raise ValueError(
            f"`label_field` must be the number of a column of {name}, from 0, or from -1 at the "
            f"end. Received: label_field={label_field!r}"
        ) from None

    def tag_of(columns):
        has_tag = len(columns) > 1 and -len(columns) <= column < len(columns)
        return columns[column].strip() if has_tag else ""

    # Lines that begin with # before all other lines of a sentence are comments, or tokens.
    blocks = []
    for block in _blocks((record.line_number, record.text) for record in records):
        rows = [(line_number, line, _columns(line)) for line_number, line in block]
        unclear = list(itertools.takewhile(lambda row: row[1].startswith("#"), rows))
        blocks.append((unclear, rows[len(unclear) :]))
    clear = [columns for _, rows in blocks for *_, columns in rows]
    lengths, known = collections.Counter(map(len, clear)), {"O", *map(tag_of, clear)}
    length = max(lengths, key=lengths.get, default=None)

    def is_token(row):
        _, line, columns = row
        has_known_tag = not line.startswith("# ") or tag_of(columns) in known
        return length in (None, len(columns)) and has_known_tag

    for unclear, rows in blocks:
        tokens, tags = [], []
        for line_number, line, columns in [*filter(is_token, unclear), *rows]:
            if columns[0] == "-DOCSTART-":
                continue
            token, tag = as_token(columns[0]), tag_of(columns)
            if not (token and tag):
                raise ValueError(
                    f"Each line of {name} must hold a token and a tag, or be blank. "
                    f"Received: line {line_number:,}, {short_repr(line)}"
                )
            tokens.append(token)
            tags.append(tag)
        if tokens:
            yield tokens, tags


def _columns(line):
    """The columns of a line: between tabs, or between spaces if there is no tab."""
    return line.split("\t") if "\t" in line else [part for part in line.split(" ") if part]


def _blocks(lines):
    """Yields the lines between blank lines in lists. A line is a pair: its number, and its text."""
    for is_blank, block in itertools.groupby(lines, lambda pair: not pair[1].strip()):
        if not is_blank:
            yield list(block)
