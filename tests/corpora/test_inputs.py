import gzip
import hashlib
import os
import sys

import pytest

from keras_elmo.corpora.inputs import InputFile, read_files, scan_files
from keras_elmo.files.records import Fields


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b.txt").write_bytes(b"one\r\ntwo\n")
    (tmp_path / "a.txt").write_bytes(b"na\xc3\xafve\n")
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(b"three\n\nfour"))
    (tmp_path / "d.txt").write_bytes(b"")
    return tmp_path


def test_files_are_read_in_order_and_once_in_each_pass(folder):
    opened = []

    def record(event, args):
        if event == "open" and str(args[0]).endswith("b.txt"):
            opened.append(args[0])

    sys.addaudithook(record)
    files, _ = scan_files(["b.txt", "c.txt.gz", "d.txt", "a.txt"], "utf-8", "strict")
    assert len(opened) == 1
    content = (folder / "c.txt.gz").read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    assert files[1] == InputFile("c.txt.gz", len(content), digest, 3)
    assert [file.rows for file in files] == [2, 3, 0, 1]
    lines = [("b.txt", "one"), ("b.txt", "two")]
    lines += [("c.txt.gz", "three"), ("c.txt.gz", ""), ("c.txt.gz", "four"), ("a.txt", "na\xefve")]
    assert [row for _, row in read_files(files, "utf-8", "strict")] == lines
    assert len(opened) == 2


def test_faults_are_found_in_the_scan(folder):
    with pytest.raises(ValueError, match="a.txt must be ascii"):
        scan_files(["b.txt", "a.txt"], "ascii", "strict")
    assert scan_files(["a.txt"], "ascii", "replace")[0][0].rows == 1
    (folder / "c.txt.gz").write_bytes((folder / "c.txt.gz").read_bytes()[:-9])
    with pytest.raises(ValueError, match="c.txt.gz must be a whole gzip file"):
        scan_files(["c.txt.gz"], "utf-8", "strict")
    with pytest.raises(ValueError, match="UTF-8"):
        scan_files(["b.txt", os.fsdecode(b"\xff.txt")], "utf-8", "strict")


@pytest.mark.parametrize(
    "name, content",
    [
        *[("b.txt", b) for b in (b"one\n", b"one\ntwo\nthree\n", b"one\r\ntoo\n", b"one\ntwo\n")],
        # The text is the same (padding is allowed), but the hash in the manifest would be wrong.
        ("c.txt.gz", gzip.compress(b"three\n\nfour", mtime=7) + bytes(5)),
    ],
)
def test_a_file_that_changes_meanwhile(folder, name, content):
    files, _ = scan_files([name], "utf-8", "strict")
    assert len(list(read_files(files, "utf-8", "strict"))) == files[0].rows
    (folder / name).write_bytes(content)
    with pytest.raises(ValueError, match=f"{name} must not change .* Received: {files[0].rows} r"):
        list(read_files(files, "utf-8", "strict"))


@pytest.mark.parametrize(
    "values, expected, stored",
    [
        ("7 null -8", "int64", [7, None, -8]),
        ("7 0.5 NaN", "float64", [7.0, 0.5, None]),
        ("true null false", "bool", [True, None, False]),
        ('"a" null ""', "string", ["a", None, ""]),
        ("null null", "string", [None, None]),
        ('7 "a" null', "json", ["7", '"a"', None]),
        ("7 true", "json", ["7", "true"]),
        ("9223372036854775807 -9223372036854775808", "int64", [2**63 - 1, -(2**63)]),
        ("9223372036854775808 0", "json", ["9223372036854775808", "0"]),
        ("9007199254740992 0.5", "float64", [2.0**53, 0.5]),
        ("9007199254740993 0.5 7", "json", ["9007199254740993", "0.5", "7"]),
        ("9007199254740993 7", "int64", [2**53 + 1, 7]),
        ('["\\u00e9"] {"a":1}', "json", ['["\xe9"]', '{"a": 1}']),
    ],
)
def test_fields_that_are_kept_have_a_type(folder, values, expected, stored):
    """That of all values, of all files."""
    values = values.split(" ")
    for name, part in {"a.jsonl": values[:1], "b.jsonl": values[1:]}.items():
        lines = [f'{{"text": ["x y", "z"], "n": {value}}}\n' for value in part]
        (folder / name).write_text("".join(lines))
    fields = Fields("text", ["n"])
    files, types = scan_files(["a.jsonl", "b.jsonl"], "utf-8", "strict", fields)
    assert types == {"n": expected} and [file.rows for file in files] == [1, len(values) - 1]
    records, rows = zip(*read_files(files, "utf-8", "strict", fields, types), strict=True)
    assert {tuple(record.text) for record in records} == {("x y", "z")}
    assert [text for _, text, _ in rows] == ["x y z"] * len(values)
    found = [value for *_, value in rows]
    assert found == stored and [type(x) for x in found] == [type(x) for x in stored]
