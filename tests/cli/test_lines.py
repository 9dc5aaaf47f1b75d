import gzip
import io
import re
import sys

import pytest

from keras_elmo.cli.lines import CountedLines, Lines, open_lines
from keras_elmo.files.records import Fields

LATIN = "The cat\ncaf\xe9\nHello\nna\xefve\n"


def read(content, encoding="utf-8", errors="strict", kind=Lines, **options):
    return list(kind(io.BytesIO(content), "in.txt", encoding, errors, **options))


@pytest.mark.parametrize("kind", [Lines, CountedLines])
def test_lines_of_another_encoding_are_counted_and_the_first_is_named(kind):
    message = (
        "in.txt must be utf-8, and 2 lines are not. Received: line 2: 'caf\ufffd'. Name the "
        'encoding of the file with `encoding` (as latin-1, utf-16), or pass `errors="replace"`'
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        read(LATIN.encode("latin-1"), kind=kind)


@pytest.mark.parametrize("kind", [Lines, CountedLines])
@pytest.mark.parametrize(
    "content, message",
    [
        ("a b\nc\na b \n", "in.txt, line 3, whose sentence is that of line 1 again: 'a b'"),
        ("a\n\n", "in.txt, line 2, whose sentence is empty"),
        (".\n", "in.txt, line 1, whose sentence is a dot alone"),
        ("he / she\n", "in.txt, line 1, whose sentence holds a /"),
        ("a\0b\n", "in.txt, line 1, whose sentence holds a NUL"),
    ],
)
def test_sentences_that_cannot_be_names(content, message, kind):
    with pytest.raises(ValueError, match=message):
        read(content.encode(), as_keys=True, kind=kind)
    assert len(read(content.encode(), kind=kind)) == content.count("\n")


@pytest.mark.parametrize("kind", [Lines, CountedLines])
def test_what_is_read_is_kept_once(kind):
    record = []
    assert read(b" a b \nc\n", kind=kind, record=record) == [" a b ", "c"] == record


@pytest.mark.parametrize("kind", [Lines, CountedLines])
def test_fields_are_kept_once(kind):
    content, record = b'{"text": "a b", "id": 7}\n{"id": 8, "text": ["c d", "e"]}\n', []
    arguments = ["in.txt", "utf-8", "strict", True, record, Fields("text", ["id"], "jsonl")]
    lines = kind(io.BytesIO(content), *arguments)
    assert list(lines) == ["a b", ["c d", "e"]]
    assert record == ["a b", "c d e"] and lines.kept == {"id": [7, 8]}


def test_lines_that_are_counted_can_be_read_afterwards():
    lines = CountedLines(io.BytesIO(b"a\nb\nc"), "in.txt", "utf-8", "strict")
    assert len(lines) == 3 and list(lines) == ["a", "b", "c"]
    assert not hasattr(Lines(io.BytesIO(b"a"), "in.txt", "utf-8", "strict"), "__len__")


@pytest.mark.parametrize("is_counted, kind", [(True, CountedLines), (False, Lines)])
@pytest.mark.parametrize("name", ["in.txt", "in.txt.gz"])
def test_files_may_be_compressed_and_are_counted_when_told(tmp_path, name, is_counted, kind):
    content = b"a b\nc\n"
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with open_lines(str(tmp_path / name), is_counted, "utf-8", "strict") as lines:
        assert type(lines) is kind and lines.name == str(tmp_path / name)
        assert list(lines) == ["a b", "c"]


@pytest.mark.parametrize("is_counted", [True, False])
def test_standard_input_is_read_once_as_bytes(monkeypatch, is_counted):
    stdin = io.TextIOWrapper(io.BytesIO("na\xefve\n\udc80".encode(errors="replace")), "ascii")
    monkeypatch.setattr(sys, "stdin", stdin)
    with open_lines("-", is_counted, "utf-8", "strict") as lines:
        assert type(lines) is Lines and lines.name == "standard input"
        assert list(lines) == ["na\xefve", "?"]
    assert not stdin.buffer.closed
