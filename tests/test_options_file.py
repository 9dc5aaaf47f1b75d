import json
import re
import tracemalloc

import pytest

from keras_elmo import options_file
from keras_elmo.options_file import parse_options, read_options_file

OPTIONS = {"lstm": {"dim": 4096}, "char_cnn": {"filters": [[1, 32]]}}


def test_the_object_in_a_file_is_read(tmp_path):
    file = tmp_path / "options.json"
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        file.write_text(json.dumps(OPTIONS), encoding=encoding)
        assert read_options_file(file) == read_options_file(str(file)) == OPTIONS


@pytest.mark.parametrize(
    "text, fault",
    [
        (b"", "JSON file"),
        (b"{", "JSON file"),
        (b"\x89HDF\r\n\x1a\n", "JSON file"),
        (b"[" * 100_000, "JSON file"),
        (b'{"lstm": ' + b"9" * 5000 + b"}", "JSON file"),
        (b"[1, 2]", "hold a JSON object. Received: list"),
        (b"null", "hold a JSON object.* Received: NoneType"),
        (b'"lstm"', "hold a JSON object.* Received: str"),
    ],
    ids=["empty", "cut", "binary", "deep", "long number", "array", "null", "string"],
)
def test_file_that_is_not_a_json_object_is_named(tmp_path, text, fault):
    file = tmp_path / "options.json"
    file.write_bytes(text)
    with pytest.raises(ValueError, match=f"{re.escape(str(file))} must .*{fault}"):
        read_options_file(file)
    for call in (lambda: read_options_file(file, "here"), lambda: parse_options(text, "here")):
        with pytest.raises(ValueError, match=f"^here must .*{fault}"):
            call()


def test_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing.json"):
        read_options_file(tmp_path / "nothing.json")


def test_file_of_more_than_a_megabyte_is_refused_unread(tmp_path, monkeypatch):
    file = tmp_path / "options.json"
    with open(file, "wb") as stream:
        stream.truncate(300 << 20)  # a file with a hole, which takes no space on the disk
    monkeypatch.setattr(options_file, "parse_options", lambda *_: pytest.fail("it was parsed"))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="at most 1,048,576 bytes. Received: 314,572,800"):
            read_options_file(file)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_file_of_a_megabyte_is_read(tmp_path):
    text = json.dumps(OPTIONS).encode()
    file = tmp_path / "options.json"
    file.write_bytes(text.ljust(1 << 20))
    assert read_options_file(file) == OPTIONS
    file.write_bytes(text.ljust((1 << 20) + 1))
    with pytest.raises(ValueError, match="Received: 1,048,577 bytes"):
        read_options_file(file)
