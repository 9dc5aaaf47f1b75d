import gzip
import io
import re

import pytest

from keras_elmo.files.labelled_files import read_senses, read_tagged, read_texts

TWO = ["a film", "a mess"], ["+", "-"]
TAGGED = [["Ada", "met"], ["New\u00a0York"]], [["B-PER", "O"], ["B-LOC"]]
CSV = 'n,y,x\n1,+,"a ""film"", it\r\nis"\n'
TOKENS = '{"t": ["Ada", "met"], "y": ["B-PER", "O"]}\n{"t": ["New York"], "y": ["B-LOC"]}\n'
XY = ("x", "y")
TY = ("t", "y")


def write(path, text, encoding="utf-8"):
    data = text.encode(encoding)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return str(path)


@pytest.mark.parametrize(
    ("name", "text", "arguments", "expected"),
    [
        ("a.tsv", "a film\t+\na mess\t - \n\n", (), TWO),
        ("a.txt.gz", "\ufeffa film\t+\r\n\t\r\na mess\t-\r\n", (), TWO),
        ("a.csv", CSV, XY, (['a "film", it\r\nis'], ["+"])),
        ("a.txt", "y\tx\n+\ta film\n-\ta mess\n", (*XY, "tsv"), TWO),
        ("a.jsonl", '{"x": ["a", "film"], "y": 1}\n{"x": "", "y": true}', XY,
         (["a film", ""], ["1", "True"])),
        ("a.json", '[{"x": "a film", "y": ["+"]},\n{"y": "-", "x": ["a", "mess"]}\n]\n', XY, TWO),
        ("a.csv", 'y;x\n+;"a film"\n-;a mess\n', XY, TWO),
        ("a.csv", "y\tx\n['+']\ta film\n-\ta mess\n", XY, TWO),
        ("a.tsv", "+\ta film\n-\ta mess\n", (1, "0"), TWO),
        ("a.csv", "0,1\n+,a film\n-,a mess\n", ("1", "0"), TWO),  # names that are numbers
    ],
)  # fmt: skip
def test_texts(tmp_path, name, text, arguments, expected):
    assert read_texts(write(tmp_path / name, text), *arguments) == expected


@pytest.mark.parametrize(
    ("name", "text", "arguments", "message"),
    [
        (
            "a.tsv",
            "a film\t+\na mess\n",
            (),
            "a text, a tab (.*) and a label, .* line 2, 'a mess' with",
        ),
        ("a.tsv", "a film\t \n", (), r"`label_field` .* line 1, 'a film' with \[' '\]"),
        ("a.csv", "x,y\na film,\n", XY, r"line 2, 'a film' with \[''\]"),
        ("a.jsonl", '{"x": "a", "y": ["b", "c"]}', XY, r"with \[\['b', 'c'\]\]"),
        ("a.txt", "a film;+\n", (), r"no semicolon.* line 1, 'a film;\+' with \[\]"),
        ("a.tsv", "x\ty\n", XY, "blank lines only"),
        ("a.tsv", "+\ta b\n-\tc\n+\te\n-\tf\n", (), "`field=1` and .*=0`.* 4 labels for 2"),
        ("a.tsv", "Text\tmy label\na\t+\nb\t-\n", (), "`field=Text` and `label_field=my label`"),
        ("a.tsv", "x\ty1\na\t1\nb\t-1\n", (), "surely the names of columns: .* `label_field=y1`"),
        ("a.tsv", "x\ty\n" + "a b\t+\nc d\t-\n" * 2, (), "surely the names of columns"),
    ],
)
def test_wrong_files_of_texts(tmp_path, name, text, arguments, message):
    with pytest.raises(ValueError, match=message):
        read_texts(write(tmp_path / name, text), *arguments)


@pytest.mark.parametrize(
    ("name", "text", "arguments"),
    [
        ("a.csv", "Ada\tB-PER\nmet\tO\n\nNew York\tB-LOC", (None, None, "conll")),
        ("a.jsonl", TOKENS, TY),
        ("a.csv", "t,y\n\"['Ada' 'met']\",\"['B-PER' 'O']\"\n\"['New York']\",['B-LOC']", TY),
        ("a.tsv", "t\ty\nAda met\t['B-PER', 'O']\n[\"New York\"]\t[\"B-LOC\"]", TY),
        ("a.csv", "t,y\nAda met,B-PER O\n['New York'],B-LOC\n", TY),
    ],
)
def test_tagged_tokens(tmp_path, name, text, arguments):
    assert read_tagged(write(tmp_path / name, text), *arguments) == TAGGED


@pytest.mark.parametrize(
    ("name", "text", "arguments", "message"),
    [
        ("a.jsonl", '{"t": ["a", "b"], "y": ["O"]}', TY, "tokens in 't', and a tag .* in 'y'"),
        ("a.jsonl", '{"t": ["", "a"], "y": ["O", null]}', TY, r"tokens \['', 'a'\] and tags"),
        ("a.jsonl", '{"t": ["a"], "y": 7}', TY, "and tags 7"),
        ("a.csv", "t,y\na,O\nb,O\nc,O\n", TY, "`token_field` .* one token in each sentence"),
        ("a.csv", 't,y\na b,"O, B"\n', TY, "a tag 'O,', part of a list"),
        ("a.jsonl", '{"t": ["a"]}', ("t", None), "must be given together"),
        ("a.conllu", "", TY, "CoNLL-U, .* must be read without `field`. Received: field, with"),
        ("a.jsonl", "{}", (), "`field` must name the field .* Received: neither, with"),
    ],
)
def test_wrong_files_of_tokens(tmp_path, name, text, arguments, message):
    with pytest.raises(ValueError, match=message):
        read_tagged(write(tmp_path / name, text), *arguments)


@pytest.mark.parametrize("read", [read_texts, read_tagged])
def test_other_encodings_and_standard_input(tmp_path, monkeypatch, read):
    expected = read(write(tmp_path / "a.txt", "caf\xe9\tO\n"))
    path = write(tmp_path / "b.txt", "caf\xe9\tO\n", "latin-1")
    assert read(path, encoding="latin-1") == expected
    with pytest.raises(ValueError, match="with `encoding`"):
        read(path)
    assert "caf\ufffd" in str(read(path, errors="replace"))
    stdin = io.TextIOWrapper(io.BytesIO("caf\xe9\tO\n".encode()), "ascii")
    monkeypatch.setattr("sys.stdin", stdin)
    assert read("-") == expected and not stdin.buffer.closed
    with pytest.raises(ValueError, match=re.escape("standard input must hold")):
        read("-")


@pytest.fixture
def senses(tmp_path):
    def read(data, gold):
        (tmp_path / "train.data.txt").write_text(data)
        (tmp_path / "train.gold.txt").write_text(gold)
        return read_senses(tmp_path, "train")

    return read


def test_senses_have_their_names(senses, tmp_path):
    text = "2\tby the bank .\n0\tbank loans\n", "1\n0\n"
    sentences, indices = [["by", "the", "bank", "."], ["bank", "loans"]], [2, 0]
    assert senses(*text) == (sentences, indices, ["1", "0"])
    (tmp_path / "classes_map.txt").write_text('{"0": "money", "1": "river"}')
    assert senses(*text) == (sentences, indices, ["river", "money"])
    (tmp_path / "classes_map.txt").write_bytes('{"0": "caf\xe9"}'.encode("latin-1"))
    (tmp_path / "test.data.txt").write_bytes("0\tna\xefve\n".encode("latin-1"))
    (tmp_path / "test.gold.txt").write_text("0\n")
    assert read_senses(tmp_path, "test", "latin-1") == ([["na\xefve"]], [0], ["caf\xe9"])
    with pytest.raises(ValueError, match="classes_map.txt must be utf-8, .* with `encoding`"):
        read_senses(tmp_path, "test")


@pytest.mark.parametrize(
    "data, gold, message",
    [
        ("0\ta b\n1\ta b\n", "1\n", "1 senses for 2 lines"),
        ("", "", "0 senses"),
        ("2\ta b\n", "1\n", "line 1"),
        ("0\ta b\na b\n", "1\n1\n", "line 2"),
    ],
)
def test_what_has_no_senses_is_refused(senses, data, gold, message):
    with pytest.raises(ValueError, match=message):
        senses(data, gold)
