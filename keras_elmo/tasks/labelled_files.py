"""Files of texts with labels, and of tokens with tags: columns of text, JSON Lines, CSV and TSV."""

import collections
import itertools

from keras_elmo.checks import short_repr
from keras_elmo.records import Fields, decode_records, suffix_of
from keras_elmo.text_files import input_name, open_text


def read_texts(path, field=None, label_field=None, format=None, encoding="utf-8", errors="strict"):
    """Reads texts and their labels.

    Args:
        path: a file with a text, a tab and its label on each line; or with `field` a file of JSON
            Lines, CSV or TSV. `*.gz` is decompressed, and `-` is standard input.
        field, label_field: strings. The names of the fields that are the text and its label. A text
            that is a list of tokens becomes a string with spaces between them.
        format, encoding, errors: see `keras_elmo.records.Fields`, and
            `keras_elmo.text_files.decode_lines`.

    Returns:
        A pair of lists of strings: the texts, and their labels.

    Raises:
        ValueError: the file is of another format.
    """
    _check_fields(field, label_field)
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
    """Reads sentences as tokens, and their tags.

    Args:
        path: a file in the format of CoNLL: one token a line, its columns with tabs or spaces
            between them, and a blank line after each sentence; or with `field` a file of JSON
            Lines, CSV or TSV. (Of CoNLL-U see `keras_elmo.analysis.annotated_files.read_conllu`.)
        field, label_field: strings. The names of the fields with the tokens and their tags: lists,
            or strings with spaces between. In CoNLL the token is in the first column, and
            `label_field` is the number of the column of the tag, from 0, or from -1 at the end,
            which is the default.
        format: `"conll"`, or see `read_texts`.
        encoding, errors: see `keras_elmo.text_files.decode_lines`.

    Before the tokens of a sentence, CoNLL may have comments. A line that begins with `#` is one if
    it has another number of columns than the file's tokens, or begins with `# ` and has a tag that
    the other lines do not have. (Lines such as `# O` are tokens.)

    Returns:
        A pair of lists with a list for each sentence: its tokens, and their tags.

    Raises:
        ValueError: the file is of another format.
    """
    if field is not None:
        _check_fields(field, label_field)
    records = _read_records(path, field, label_field, format, encoding, errors)
    read = _conll_sentences if field is None else _sentences
    pairs = list(read(records, input_name(path), field, label_field))
    if not pairs:
        raise ValueError(
            f"{input_name(path)} must hold tokens with tags. Received: blank lines only"
        )
    sentences, tags = map(list, zip(*pairs, strict=True))
    return sentences, tags


def as_token(text):
    """A text as one token: a space within it becomes a no-break space."""
    return "\u00a0".join(text.split())


def _check_fields(field, label_field):
    if (field is None) != (label_field is None):
        raise ValueError(
            "`field` and `label_field` must be given together. "
            f"Received: field={field!r}, label_field={label_field!r}"
        )


def _read_records(path, field, label_field, format, encoding, errors):
    """The records of a file. Without `field`, those of TSV and CoNLL are lines."""
    if field is None and (format or suffix_of(path)[1:]) in ("tsv", "conll"):
        format = "text"
    fields = Fields(field, [] if field is None else [label_field], format)
    with open_text(path) as file:
        yield from decode_records(file, input_name(path), encoding, errors, fields)


def _as_label(value):
    """A label as a string without spaces around it; `""` for what is not one."""
    return str(value).strip() if isinstance(value, str | int) else ""


def _sentences(records, name, field, label_field):
    """The tokens and the tags of each record that has tokens."""
    for record in records:
        row = [x.split() if isinstance(x, str) else x for x in (record.text, *record.kept)]
        tokens, tags = map(as_token, row[0]), row[1] if isinstance(row[1], list) else []
        tokens, tags = list(filter(None, tokens)), list(filter(None, map(_as_label, tags)))
        if len(tokens) != len(tags):
            raise ValueError(
                f"Each record of {name} must have as many tags in {label_field!r} as tokens in "
                f"{field!r}. Received: line {record.line_number:,}, with {len(tokens)} tokens and "
                f"{len(tags)} tags"
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
    rows = [(record, _columns(record.text)) for record in records]
    groups = itertools.groupby(rows, lambda row: bool(row[1]))
    sentences = [list(group) for has_columns, group in groups if has_columns]
    # The lines before the first that does not begin with #. They are comments, or tokens.
    starts = [list(itertools.takewhile(_begins_with_hash, sentence)) for sentence in sentences]
    tokens = [
        columns
        for sentence, start in zip(sentences, starts, strict=True)
        for _, columns in sentence[len(start) :]
    ]
    usual = collections.Counter(map(len, tokens)).most_common(1)

    def tag_of(columns):
        has_tag = len(columns) > 1 and -len(columns) <= column < len(columns)
        return columns[column].strip() if has_tag else ""

    known = {"O", *map(tag_of, tokens)}

    def is_comment(record, columns):
        if usual and len(columns) != usual[0][0]:
            return True
        return record.text.startswith("# ") and tag_of(columns) not in known

    for sentence, start in zip(sentences, starts, strict=True):
        words, tags = [], []
        for index, (record, columns) in enumerate(sentence):
            if columns[0] == "-DOCSTART-" or (index < len(start) and is_comment(record, columns)):
                continue
            word, tag = as_token(columns[0]), tag_of(columns)
            if not (word and tag):
                raise ValueError(
                    f"Each line of {name} must hold a token and a tag, or be blank. "
                    f"Received: line {record.line_number:,}, {record.text[:60]!r}"
                )
            words.append(word)
            tags.append(tag)
        if words:
            yield words, tags


def _columns(line):
    """The columns of a line, between tabs or spaces; of a blank line there are none."""
    if not line.strip():
        return []
    return line.split("\t") if "\t" in line else [part for part in line.split(" ") if part]


def _begins_with_hash(row):
    return row[0].text.startswith("#")
