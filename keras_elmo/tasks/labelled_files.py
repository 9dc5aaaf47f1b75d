"""Files of texts with labels (TSV, CSV), and of tokens with tags (CoNLL)."""

import os

from keras_elmo.checks import short_repr
from keras_elmo.records import Fields, decode_records, read_rows
from keras_elmo.text_files import decode_lines, open_text, read_lines


def read_texts(path, text_column=None, label_column=None):
    """Reads texts and their labels.

    Args:
        path: a file with a text on each line; `*.csv` (or `*.csv.gz`) is CSV, others have tabs
            between their columns.
        text_column, label_column: the names of the columns, which the first line then holds.
            `None`: there is no such line, and there are two columns: the text and its label.

    Returns:
        A pair of lists of strings: the texts, and their labels.

    Raises:
        ValueError: the file is of another format.
    """
    if (text_column is None) != (label_column is None):
        raise ValueError(
            "`text_column` and `label_column` must be given together. "
            f"Received: text_column={text_column!r}, label_column={label_column!r}"
        )
    texts, labels = [], []
    is_csv = os.fspath(path).removesuffix(".gz").endswith(".csv")
    with open_text(path) as file:
        if text_column is None:
            rows = read_rows(decode_lines(file, path), path, is_csv)
        else:
            fields = Fields(text_column, [label_column], "csv" if is_csv else "tsv")
            records = decode_records(file, path, fields=fields)
            rows = ((record.line_number, [record.text, *record.kept]) for record in records)
        for number, row in rows:
            if len(row) != 2 or not row[-1].strip():
                raise ValueError(
                    f"Each line of {path} must hold a text and a label; if there are more columns, "
                    f"give the names of two, which the first line holds. Received: line "
                    f"{number:,}, {short_repr(row)}"
                )
            texts.append(row[0])
            labels.append(row[-1].strip())
    if not texts:
        raise ValueError(f"{path} must hold texts with labels. Received: blank lines only")
    if len(labels) > 2 and labels.count(labels[0]) == 1 and text_column is None:
        raise ValueError(
            f"{path} must have labels that occur more than once. Received: {labels[0]!r} in the "
            "first line alone; if that names the columns, give the names of both"
        )
    return texts, labels


def read_tagged(path, tag_column=-1):
    """Reads tokens and their tags: one token a line, and a blank line after each sentence.

    Args:
        path: a file whose first column is the token, with tabs between the columns, or spaces. Of
            CoNLL-U see `keras_elmo.analysis.annotated_files.read_conllu`.
        tag_column: int. Which column is the tag, from 0, or from -1 at the end.

    Returns:
        A pair of lists with a list for each sentence: its tokens, and their tags.

    Raises:
        ValueError: the file is of another format.
    """
    sentences, tags, tokens, row = [], [], [], []

    def end_sentence():
        if tokens:
            sentences.append(list(tokens))
            tags.append(list(row))
            tokens.clear()
            row.clear()

    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            end_sentence()
            continue
        columns = line.split("\t") if "\t" in line else [c for c in line.split(" ") if c]
        if columns[0] == "-DOCSTART-":
            continue
        has_tag = len(columns) > 1 and -len(columns) <= tag_column < len(columns)
        token, tag = columns[0].strip(), columns[tag_column].strip() if has_tag else ""
        if not (token and tag):
            raise ValueError(
                f"Each line of {path} must hold a token and a tag, or be blank. "
                f"Received: line {number:,}, {line[:60]!r}"
            )
        tokens.append("\u00a0".join(token.split()))
        row.append(tag)
    end_sentence()
    if not sentences:
        raise ValueError(f"{path} must hold tokens with tags. Received: blank lines only")
    return sentences, tags
