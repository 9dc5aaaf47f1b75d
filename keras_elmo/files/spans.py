"""Texts with spans of characters: JSON as doccano, Prodigy and spaCy write it, brat, and PubTator.

A document is a triple: its place, for errors; its text, or a list of tokens, which its spans then
count; and its spans, triples of a start, an end and a label.
"""

import glob
import os
import re

from keras_elmo.characters import token_spans_of_texts
from keras_elmo.checks import short_repr, warn
from keras_elmo.files.columns import Sentence
from keras_elmo.files.records import Words, as_list
from keras_elmo.files.text_files import input_name, read_lines
from keras_elmo.tags import tags_of_spans

# A line of brat with a mention: T1, a tab, its label and offsets, a tab, and its text.
_BRAT_ROW = re.compile(r"T[^\t]*\t?(?P<label>\S*)(?P<offsets>[^\t]*)\t?(?P<mention>.*)")
# PubTator has a title and an abstract, and a row for each mention. Other rows are relations.
_PUBTATOR = re.compile(r"([^|\t\n]+)\|t\|(.*)\n(?:\1\|a\|(.*)\n)?((?:\1\t.*\n)*)\n*")
_PUBTATOR_ROW = re.compile(r"[^\t]+\t(?P<offsets>\d+\t\d+)\t(?P<mention>.*?)\t(?P<label>[^\t]+)")


def as_spans(value):
    """The spans of a list, or of a cell that holds one as JSON; `None` if it is no such list."""
    items, spans = as_list(value), []
    for item in items if isinstance(items, list) else [None]:
        if isinstance(item, dict):
            names = ("start", "end") if "start" in item else ("start_offset", "end_offset")
            item = [item.get(name) for name in (*names, "label")]
        if not isinstance(item, list) or list(map(type, item)) != [int, int, str]:
            return None
        spans.append(tuple(item))
    return spans


def read_brat(path, encoding, errors):
    """Yields the documents of a pair of files of brat, one of which is named, or of a folder."""
    names = sorted(glob.glob(os.path.join(glob.escape(path), "*.ann")))
    for stem, _ in map(os.path.splitext, names if os.path.isdir(path) else [path]):
        text = "".join(read_lines(f"{stem}.txt", encoding, errors, keep_ends=True))
        rows = read_lines(f"{stem}.ann", encoding, errors)
        yield f"{stem}.ann", text, _spans(f"{stem}.ann", text, rows, _BRAT_ROW)


def read_pubtator(path, encoding, errors):
    """Yields the documents of a file of PubTator. A space joins a title and its abstract."""
    content = "".join(f"{line}\n" for line in read_lines(path, encoding, errors))
    if rest := _PUBTATOR.sub("", content).strip():
        raise ValueError(
            f"{input_name(path)} must be PubTator, with lines id|t|title and id|a|abstract, and "
            f"rows of an id, a start, an end, a mention and a label. Received: {short_repr(rest)}"
        )
    for key, title, abstract, rows in _PUBTATOR.findall(content):
        place, text = f"{input_name(path)}, {key}", f"{title} {abstract}"
        yield place, text, _spans(place, text, rows.split("\n"), _PUBTATOR_ROW)


def _spans(place, text, rows, pattern):
    """The spans of the rows that match. A mention may have parts, as with brat's `0 5;16 23`."""
    spans = []
    for row in filter(None, map(pattern.match, rows)):
        label, offsets, mention = row.group("label", "offsets", "mention")
        numbers = list(map(int, re.findall(r"\d+", offsets)))
        parts = list(zip(numbers[::2], numbers[1::2], strict=False))
        found = " ".join(text[start:end] for start, end in parts)
        if not parts or found.split() != mention.split():
            raise ValueError(
                "The offsets of a mention must count the characters of the text, not bytes. "
                f"Received: {place}, {short_repr(mention)}, where the text has {short_repr(found)}"
            )
        if len(parts) > 1:
            warn(f"A mention in several parts is taken whole. Received: {place}, {mention!r}")
        spans.append((parts[0][0], parts[-1][1], label))
    return spans


def sentences_of(documents, name, tokenizer):
    """The `Sentence`s of documents: each line is one. Warns of what `tags_of_spans` reports."""
    documents, sentences, misfits = list(documents), [], []
    texts = [text for _, text, _ in documents if isinstance(text, str)]
    tokenised = iter(token_spans_of_texts(texts, tokenizer) if texts else [])
    for place, text, spans in documents:
        is_raw, before = isinstance(text, str), 0
        tokens = next(tokenised) if is_raw else [(k, k + 1) for k in range(len(text))]
        tags, others = tags_of_spans(tokens, spans)
        misfits += [f"{place}, {short_repr(text[a:b])} ({a} to {b}, {c})" for a, b, c in others]
        sentences.append(Sentence(Words(), []))
        for (start, end), tag in zip(tokens, tags, strict=True):
            if "\n" in text[before:start] and not tag.startswith("I-"):
                sentences.append(Sentence(Words(), []))
            sentences[-1].tokens.append("".join(text[start:end]))  # of a list, its one token
            sentences[-1].tags.append(tag)
            before = end
    if misfits:
        warn(
            "Spans should begin and end where tokens do, and not overlap. Others take the whole "
            "tokens that they touch, and of those that share a token the longest stays. Received: "
            f"{name}, with {len(misfits):,} others, the first in {misfits[0]}"
        )
    return sentences
