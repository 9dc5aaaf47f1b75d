"""Files of texts with labels, of tokens with tags (CoNLL, CoNLL-U), and of words with senses."""

import json
import os
import pathlib

from keras_elmo.checks import short_repr
from keras_elmo.files.columns import Sentence, check_sentences, fault_of, read_columns
from keras_elmo.files.records import Fields, Records, as_list, as_tokens, format_by_name, suffix_of
from keras_elmo.files.spans import as_spans, read_brat, read_pubtator, sentences_of
from keras_elmo.files.text_files import input_name, read_lines

_SUFFIXES = {".conllu": "conllu", ".conllup": "conllu", ".ann": "brat", ".pubtator": "pubtator"}
_SPANS = {"brat": read_brat, "pubtator": read_pubtator}
# With which option the tokens of a format are named. Other formats take each, or neither.
_WAYS = dict.fromkeys(("jsonl", "fasta"), ["field"]) | dict.fromkeys(_SPANS, ["neither"])
_WAYS |= {"csv": ["field", "token_field"], "conllu": ["token_field", "neither"]}


def read_texts(path, field=None, label_field=None, format=None, encoding="utf-8", errors="strict"):
    """Reads texts and their labels: a pair of lists of strings.

    Args:
        path: a file with a text, a tab and its label on each line; or with `field` a file of JSON
            Lines, CSV or TSV. `*.gz` is decompressed, and `-` is standard input.
        field, label_field: strings. The names of the fields that are the text and its label, or the
            numbers of columns, from 0, in a file without names. Spaces join a list of tokens.
        format: `"jsonl"`, `"csv"` or `"tsv"`. `None`: by the name of the file.
        encoding, errors: `errors` is `"strict"`, or `"replace"` for what cannot be decoded.
    """
    texts, labels, name = [], [], input_name(path)
    for record in _read_records(path, field, label_field, format, encoding, errors):
        if field is None and not record.text.strip():
            continue  # a blank line
        text, *row = record.text.split("\t") if field is None else [record.line, *record.kept]
        if not (label := _as_label(row[0]) if len(row) == 1 else ""):
            raise ValueError(
                f"Each text of {name} must have a label, a word or an integer. A line is a text, a "
                "tab (no semicolon) and a label, or the first line names the columns, and `field` "
                f"and `label_field` say which they are. Received: line {record.line_number:,}, "
                f"{short_repr(text)} with {short_repr(row)}"
            )
        texts.append(text)
        labels.append(label)
    if fault := fault_of(texts, labels, "field") if texts else "blank lines only":
        raise ValueError(
            f"{name} must hold texts with labels. `field` and `label_field` name their columns, "
            f"as `field=1` and `label_field=0` with `format=tsv`. Received: {fault}"
        )
    return texts, labels


def read_tagged(
    path,
    field=None,
    label_field=None,
    format=None,
    encoding="utf-8",
    errors="strict",
    token_field=None,
    sentence_field=None,
    tokenizer=None,
):
    """Reads sentences as tokens, and their tags: a pair of lists, with a list for each sentence.

    For the arguments see `read_sentences`.
    """
    decoding, columns = (encoding, errors), (token_field, sentence_field)
    found = read_sentences(path, field, label_field, format, *decoding, *columns, tokenizer)
    if not (pairs := [row[:2] for row in found if row.tokens]):
        raise ValueError(
            f"{input_name(path)} must hold tokens with tags. Received: blank lines only"
        )
    sentences, tags = map(list, zip(*pairs, strict=True))
    return sentences, tags


def read_sentences(
    path,
    field=None,
    label_field=None,
    format=None,
    encoding="utf-8",
    errors="strict",
    token_field=None,
    sentence_field=None,
    tokenizer=None,
    has_tags=True,
):
    """Reads a list of `Sentence`s; of a file with a token a line also the parts without tokens.

    The page on files of labels shows the layouts.

    Args:
        path: a file, or a folder of brat. By its name it is CoNLL-U, CSV, TSV, JSON Lines, brat or
            PubTator, and else CoNLL: a token a line, and a blank line after each sentence.
        field, label_field: strings. The names of the fields with the tokens and their tags, or with
            a text and its spans. With a token a line, `label_field` is the column of the tag: its
            number, from 0, or from -1 at the end (the default), or its name in the first line.
        format: `"conll"`, `"conllu"`, `"brat"`, `"pubtator"`, or see `read_texts`, also for
            `encoding` and `errors`.
        token_field: with a token a line, the column of the token (`None`: the first).
        sentence_field: the column whose value changes where a sentence begins.
        tokenizer: an object such as `keras_elmo.TreebankTokenizer()`, which splits the texts of
            files with spans, see `keras_elmo.tasks.tags_of_spans`.
        has_tags: `False` reads a token a line without its tag.

    A space within a word becomes a no-break space: the word stays one token where a text is split.

    Before the tokens of a sentence, CoNLL may have comments. A line that begins with `#` is one if
    it has another number of columns than the file's tokens, or begins with `# ` and has a tag that
    the other lines do not have. (Lines such as `# O` are tokens.)
    """
    is_brat = os.path.isdir(path) or os.path.exists(os.fspath(path).removesuffix(".txt") + ".ann")
    by_name = "brat" if is_brat else _SUFFIXES.get(suffix_of(path)) or format_by_name(path)
    name, format, decoding = input_name(path), format or by_name, (encoding, errors)
    has_columns = (token_field, sentence_field) != (None, None)
    given = {"field": field is not None, "token_field": has_columns}
    way = " and ".join(filter(given.get, given)) or "neither"
    if way not in _WAYS.get(format, ["field", "token_field", "neither"]):
        raise ValueError(
            f"`field` must name the field of {name} with the tokens of a sentence, or "
            "`token_field` that of one token: each token must then be a line of CoNLL or a row of "
            "CSV. CoNLL-U, brat and PubTator must be read without `field`. "
            f"Received: {way}, with the format {format}"
        )
    if format in _SPANS:
        return sentences_of(_SPANS[format](path, *decoding), name, tokenizer)
    if field is None:
        fields = token_field, label_field, sentence_field
        return read_columns(path, format, decoding, fields, has_tags)
    records = list(_read_records(path, field, label_field, format, *decoding))
    spans = [as_spans(record.kept[0]) for record in records]
    if None not in spans and any(spans):
        places = (f"{name}, line {record.line_number:,}" for record in records)
        texts = (record.text for record in records)
        return sentences_of(zip(places, texts, spans, strict=True), name, tokenizer)
    sentences = [_sentence(record, name, field, label_field) for record in records]
    if all(isinstance(record.text, str) for record in records):
        check_sentences(name, sentences)
    return sentences


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


def _read_records(path, field, label_field, format, encoding, errors):
    """The records of a file. Without `field`, those of TSV are lines."""
    if (field is None) != (label_field is None):
        raise ValueError(
            "`field` and `label_field` must be given together. "
            f"Received: field={field!r}, label_field={label_field!r}"
        )
    if field is None:
        fields = Fields(format="text" if (format or suffix_of(path)[1:]) == "tsv" else format)
    else:
        fields = Fields(str(field), [str(label_field)], format)
    return (record for _, record in Records([path], encoding, errors, fields).read())


def _as_label(value):
    """A label, or the only one of a list, as a string; `""` for what is not one."""
    value = as_list(value)
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    return str(value).strip() if isinstance(value, str | int) else ""


def _sentence(record, name, field, label_field):
    """The tokens and the tags of a record."""
    texts, tags = record.text, as_list(record.kept[0])
    texts, tags = (x.split() if isinstance(x, str) else x for x in (texts, tags))
    tokens = as_tokens(texts)
    tags = list(map(_as_label, tags)) if isinstance(tags, list) else []
    if len(tokens) != len(tags) or not all(tokens) or not all(tags):
        raise ValueError(
            f"Each record of {name} must have tokens in {field!r}, and a tag for each of them, or "
            f"spans of the text, in {label_field!r}. Received: line {record.line_number:,}, with "
            f"tokens {short_repr(tokens)} and tags {short_repr(record.kept[0])}"
        )
    return Sentence(tokens, tags)
