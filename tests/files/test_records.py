import csv
import gzip
import hashlib
import io
import json
import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_elmo.files.records import PLAIN, Fields, InputChanged, Records, decode_records

KEPT = Fields("text", ["id"])


def read(name, content, fields=KEPT, **options):
    content = content if isinstance(content, bytes) else content.encode()
    return list(decode_records(io.BytesIO(content), name, fields=fields, **options))


@pytest.mark.parametrize(
    "name, content, expected",
    [
        ("a.jsonl", '{"id": 7, "text": "a b"}\n \n{"text": "", "id": null}',
         [(1, "a b", [7]), (3, "", [None])]),
        ("A.JSONL.gz", '\ufeff{"text": ["New York", "is"], "id": [1]}\r\n',
         [(1, ["New York", "is"], [[1]])]),
        ("a.ndjson", '{"text": "\\u00e9\\n\\ud83d\\ude00", "id": 1.5}',
         [(1, "\xe9\n\U0001f600", [1.5])]),
        ("a.csv", '\ufeffn,text,id\r\n\r\n1,"a, ""b""\r\nc",x\r\n,,\r\n2,d,\r\n',
         [(3, 'a, "b"\r\nc', ["x"]), (6, "d", [""])]),
        ("a.csv", f'text,id\n{200_000 * "a"},"{300_000 * "b"}"\n',
         [(2, 200_000 * "a", [300_000 * "b"])]),
        ("a.csv", "text,id\na;b,1\n", [(2, "a;b", ["1"])]),
        ("a.tsv", 'id\ttext\nx\t"a, b\n\t\ny\tc"\n', [(2, '"a, b', ["x"]), (4, 'c"', ["y"])]),
        ("a.csv", "text,id\n", []),
        *[(name, "", []) for name in ("a.jsonl", "a.csv", "a.tsv.gz")],
    ],
)  # fmt: skip
def test_records_of_every_format(name, content, expected):
    records = read(name, content)
    assert records == expected
    lines = [text if isinstance(text, str) else " ".join(text) for _, text, _ in expected]
    assert [record.line for record in records] == lines


FASTA = "\ufeff;v1\n>P1\ta protein\r\nMKT\r\n;b\n 61 V L* \r\n\r\n>\nG\n>P2\nAC\n"
SEQUENCES = [(2, "MKTVL*", ["P1"]), (7, "G", [""]), (9, "AC", ["P2"])]


@pytest.mark.parametrize("name", ["a.fasta", "a.FA.gz", "a.faa", "a.fas", "a.fna", "a.a3m"])
def test_sequences_of_fasta(name):
    assert read(name, FASTA, Fields("sequence", ["id"])) == SEQUENCES
    assert read(name, FASTA, Fields("sequence", ["description"]))[0].kept == ["a protein"]
    assert read(name, "", Fields()) == []
    with pytest.raises(ValueError, match="must be FASTA.*Received: line 2, 'MKT'"):
        read(name, "\nMKT\n>a\n", Fields())
    with pytest.raises(ValueError, match="must have the fields text. The"):
        read(name, FASTA, Fields("text"))


def test_doubtful_sequences_are_taken_with_a_warning_of_each_kind():
    with pytest.warns(UserWarning) as found:
        records = read("a.fasta", ">\nMk-t\n>x\nAA\nv\n>x\nGG\n>y\n", Fields("sequence", ["id"]))
    assert [(text, *ids) for _, text, ids in records] == [
        ("Mk-t", ""),
        ("AAv", "x"),
        ("GG", "x"),
        ("", "y"),
    ]
    ids, letters = sorted(str(warning.message) for warning in found)
    assert "capitals A-Z" in letters and "a.fasta, line 2, 'Mk-t', which is taken" in letters
    assert "an id of its own" in ids and "a.fasta, line 6, 'x'" in ids


def test_what_is_no_text_file_is_refused_by_its_name(tmp_path):
    for name in ("a.fastq", "a.fq.gz", "a.parquet", "a.xlsx", "a.spacy"):
        with pytest.raises(ValueError, match=f"`format` must be one of text, .*Convert {name}"):
            read(name, "@x\nA", Fields())
    assert read("a.fq", "@x\nA", PLAIN) == [(1, "@x", []), (2, "A", [])]


@pytest.mark.parametrize("name, format", [("a.fasta", None), ("a.txt", "fasta")])
def test_the_ids_of_fasta_are_kept(name, format, tmp_path):
    (tmp_path / name).write_text(FASTA, "utf-8")
    records = Records([str(tmp_path / name)], fields=Fields(format=format))
    assert list(records) == [text for _, text, _ in SEQUENCES]
    assert records.kept == {"id": ["P1", "", "P2"]}
    if format is None:
        with pytest.raises(ValueError, match="must all be FASTA"):
            Records([str(tmp_path / name), str(tmp_path / "b.txt")], fields=Fields())


def test_the_format_is_the_name_or_what_is_said():
    assert read("a.jsonl", "{}\n\n", PLAIN) == [(1, "{}", []), (2, "", [])]
    fields, content = Fields("text", format="csv"), "text\nna\xefve\n".encode("latin-1")
    assert read("a.txt", content, fields, encoding="latin-1") == [(2, "na\xefve", [])]
    assert read("a.csv", b"text\n\xe9\n", Fields("text"), errors="replace")[0].text == "\ufffd"


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("a.jsonl", '{"id": 1, "text": "a"}\n\n{"id": 2}', "Received: line 3, with id: None"),
        ("a.jsonl", '{"text": "a"}', "fields text, id. The first must be a string, or a list"),
        ("a.jsonl", '{"id": 1, "text": ["a", 7]}', "Received: line 1, with id, text: ['a', 7]"),
        ("a.jsonl", '["a"]', "on each line, or in an array. Received: line 1, '[\"a\"]', which"),
        ("a.jsonl", '{"id": 1', "1, '{\"id\": 1', which cannot be read (Expecting ',' delimiter)"),
        ("a.jsonl", '{"text": "\\ud800"}', "surrogates not allowed"),
        ("a.jsonl", 100_000 * "[", "which cannot be read (maximum recursion"),
        ("a.jsonl", '{"id": ' + 5000 * "9", "which cannot be read (Exceeds the limit"),
        ("a.csv", "id,Text\n", "column 'text' in its first line, once. Received: ['id', 'Text']"),
        ("a.tsv", "text\ttext\tid\n", "column 'text' in its first line, once."),
        ("a.csv", "text,id\na, b,1\n", "the 2 fields that its first line names. Received: line 2"),
        ("a.csv", 'text,id\na,1\n"b,2\nc,3\n', "doubled (\"\"). Received: line 3, unexpected end"),
        ("a.csv", 'text,id\n"a" b,1\n', "Received: line 2, ',' expected after '\"'"),
        ("a.tsv", "text,id\na,1\n", "Received: ['text,id']. (`format` says what separates"),
        ("a.txt", "a", "`field` must name the field of a.txt that is the text, if its name"),
    ],
    ids=range(15),
)  # fmt: skip
def test_what_is_no_record_is_named_by_its_line(name, content, message):
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        read(name, content)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("text", "id"), "`keep` must name fields, each once, .* Received: keep='id'"),
        (("text", ["a", "a"]), "`keep` must name fields"),
        ((None, ["a"]), "and be given with `field`"),
        (("text", (), "xml"), "`format` must be one of .* Received: format='xml'"),
    ],
)
def test_wrong_fields(arguments, message):
    with pytest.raises(ValueError, match=message):
        Fields(*arguments)


# Fields with many quotes, separators and ends of lines, of every kind.
SIGNS = st.sampled_from([*"\r\n\t\v\f\x1c\x85\u2028\u2029\ufeff,;\"'", "\r\n"])
TEXTS = st.one_of(
    st.lists(SIGNS | st.sampled_from("ab "), max_size=8).map("".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
)
if sys.version_info < (3, 11):  # whose `csv` neither writes nor reads a NUL
    TEXTS = TEXTS.filter(lambda text: "\0" not in text)


@settings(deadline=None)
@given(
    st.lists(st.tuples(TEXTS, TEXTS), max_size=8),
    # (Python does not quote the ends of lines that are not its own.)
    st.sampled_from([("\r\n", csv.QUOTE_MINIMAL), ("\n", csv.QUOTE_ALL), ("\r", csv.QUOTE_ALL)]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_what_python_writes_is_read(rows, form, encoding):
    lines = "".join(json.dumps({"id": id, "text": text}) + "\n" for text, id in rows)
    content = read("a.jsonl", lines.encode(encoding), encoding=encoding)
    assert [(record.text, *record.kept) for record in content] == rows
    table, (end, quoting) = io.StringIO(newline=""), form
    writer = csv.writer(table, lineterminator=end, quoting=quoting)
    writer.writerows([("text", "id"), *rows])
    table.seek(0)
    assert [tuple(row) for row in csv.reader(table)][1:] == rows
    content = read("a.csv", table.getvalue().encode(encoding), encoding=encoding)
    found = [(record.text, *record.kept) for record in content]
    assert found == [row for row in rows if any(map(str.strip, row))]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b.txt").write_bytes(b"one\r\ntwo\n")
    (tmp_path / "a.txt").write_bytes(b"na\xc3\xafve\n")
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(b"three\n\nfour"))
    (tmp_path / "d.txt").write_bytes(b"")
    return tmp_path


def test_files_are_read_in_order(folder):
    records = Records(["b.txt", "c.txt.gz", "d.txt", "a.txt"])
    assert records.count() == records.count() == len(records) == 6
    content = (folder / "c.txt.gz").read_bytes()
    entry = {"file": "c.txt.gz", "bytes": len(content), "rows": 3}
    assert records.files[1] == entry | {"sha256": hashlib.sha256(content).hexdigest()}
    assert [file["rows"] for file in records.files] == [2, 3, 0, 1]
    lines = [("b.txt", "one"), ("b.txt", "two")]
    lines += [("c.txt.gz", "three"), ("c.txt.gz", ""), ("c.txt.gz", "four"), ("a.txt", "na\xefve")]
    assert [(path, record.text) for path, record in records.read()] == lines
    assert list(records) == [text for _, text in lines]


def test_faults_of_files_are_found_in_the_first_reading(folder):
    with pytest.raises(ValueError, match="a.txt must be ascii"):
        Records(["b.txt", "a.txt"], "ascii").count()
    assert Records(["a.txt"], "ascii", "replace").count() == 1
    with pytest.raises(FileNotFoundError):  # before the reading
        Records(["b.txt", "nothing.txt"])
    with pytest.raises(ValueError, match="`field` must name the field of standard input"):
        Records(["-"], fields=KEPT)


@pytest.mark.parametrize(
    "name, content",
    [
        ("b.txt", b"one\ntwo\n"),
        # The text is the same (padding is allowed), but the hash in the manifest would be wrong.
        ("c.txt.gz", gzip.compress(b"three\n\nfour", mtime=7) + bytes(5)),
    ],
)
def test_a_file_that_changes_meanwhile(folder, name, content):
    records = Records([name])
    records.count()
    (folder / name).write_bytes(content)
    with pytest.raises(InputChanged, match=f"{name} must not change .* Received: other bytes"):
        list(records.read())


def test_an_iteration_keeps_what_it_came_to(folder):
    (folder / "a.jsonl").write_text('{"text": "a b", "id": 7}\n{"id": 8, "text": ["c d", "e"]}\n')
    lines = []
    records = Records(["a.jsonl"], fields=KEPT, lines=lines)
    assert records.count() == 2 and lines == [] and records.kept == {"id": []}
    assert list(records) == ["a b", ["c d", "e"]]
    assert lines == ["a b", "c d e"] and records.kept == {"id": [7, 8]}
