import gzip
import io
import os
import sys

import pytest

from keras_elmo.files.text_files import decode_lines, find_files, read_lines, standard_input


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deep" / "er").mkdir(parents=True)
    for name in ("b.txt", "a.txt", "c.txt.gz", "deep/er/d.txt", "[x].md"):
        (tmp_path / name).write_bytes(b"")
    os.mkfifo(tmp_path / "pipe")
    os.symlink("b.txt", "link.txt")
    return tmp_path


@pytest.mark.parametrize(
    "inputs, expected",
    [
        ("b.txt", ["b.txt"]),
        (["c.txt.gz", "?.txt"], ["c.txt.gz", "a.txt", "b.txt"]),
        (["./b.txt", "*.txt", "b.txt"], ["./b.txt", "a.txt"]),
        ("**/*.txt", ["a.txt", "b.txt", "deep/er/d.txt"]),
        ("*", ["[x].md", "a.txt", "b.txt", "c.txt.gz"]),  # no folder and no pipe
        ("[x].md", ["[x].md"]),
    ],
)
def test_files_come_as_they_are_named_and_those_of_a_pattern_in_order(folder, inputs, expected):
    assert find_files(inputs) == expected


@pytest.mark.parametrize(
    "inputs, error, message",
    [
        ([], FileNotFoundError, "Received: none"),
        ("-", ValueError, "to a file first. Received: -"),
        ("pipe", ValueError, "to a file first. Received: pipe"),
        ("deep", IsADirectoryError, r"'deep/\*'.* Received: deep"),
        ("*.csv", FileNotFoundError, r"\*.csv"),
    ],
)
def test_inputs_that_are_not_files_are_refused(folder, inputs, error, message):
    with pytest.raises(error, match=message):
        find_files(inputs)


def test_text_may_be_compressed(tmp_path):
    packed = gzip.compress(b"one\ntwo\n")
    (tmp_path / "a.txt.gz").write_bytes(packed)
    assert list(read_lines(tmp_path / "a.txt.gz")) == ["one", "two"]
    for broken in (packed[:-9], b"", b"plain text", packed[:12] + b"\xff\xff\xff" + packed[15:]):
        (tmp_path / "b.gz").write_bytes(broken)
        with pytest.raises(ValueError, match="b.gz must be a whole gzip file"):
            list(read_lines(tmp_path / "b.gz"))


def test_standard_input_that_is_closed(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ValueError, match="Standard input must be open"):
        standard_input()


@pytest.mark.parametrize(
    "content, lines",
    [
        (b"The cat\nHello", ["The cat", "Hello"]),
        (b"\xef\xbb\xbfThe cat\r\nHello\r\n", ["The cat", "Hello"]),
        (b"\n a\x00b\x0b \n\n\xe2\x80\xa8\n", ["", " a\x00b\x0b ", "", "\u2028"]),
        (b"", []),
        (b"The cat\r\rHello\r", ["The cat", "", "Hello"]),
        (b"The cat\r\r\nHello\r\r\n", ["The cat", "Hello"]),
    ],
)
def test_only_line_ends_and_a_byte_order_mark_are_not_text(content, lines):
    file = io.BytesIO(content)
    assert list(decode_lines(file, "in.txt")) == lines and not file.closed


@pytest.mark.parametrize(
    "content, encoding, message",
    [
        (b"The cat\ncaf\xe9\n", "utf-8", "and is not. Received: line 2: 'caf\ufffd'. .*`enc"),
        (b"The cat\ncaf\xe9\n", None, "must be UTF-8, .* Convert the file"),  # no such argument
        ("Hello\nthere\n".encode("utf-16")[:-1], "utf-16", "utf-16, and is not.*line 2"),
    ],
)
def test_a_line_of_another_encoding_is_named(content, encoding, message):
    with pytest.raises(ValueError, match=message):
        list(decode_lines(io.BytesIO(content), "in.txt", encoding))
