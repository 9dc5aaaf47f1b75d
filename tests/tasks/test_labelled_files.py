import gzip

import pytest

from keras_elmo.tasks.labelled_files import read_tagged, read_texts


def write(path, text):
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return str(path)


TWO = ["a film", "a mess"], ["+", "-"]


@pytest.mark.parametrize(
    ("name", "text", "columns", "expected"),
    [
        ("a.tsv", "a film\t+\na mess\t - \n\n", (), TWO),
        ("a.tsv.gz", "\ufeffa film\t+\r\na mess\t-\r\n", (), TWO),
        ("a.csv", '"a film",+\n"a mess",-\n', (), TWO),
        ("a.csv", 'n,y,x\n1,+,"a ""film"", it\nis"\n', ("x", "y"), (['a "film", it\nis'], ["+"])),
        ("a.tsv", "y\tx\n+\ta film\n-\ta mess\n", ("x", "y"), TWO),
    ],
)
def test_texts(tmp_path, name, text, columns, expected):
    assert read_texts(write(tmp_path / name, text), *columns) == expected


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("a film\t+\na mess\n", (), "a text and a label.*Received: line 2, .'a mess'."),
        ("a film\t \n", (), "Received: line 1"),
        ("a film\t+\n" * 3 + "a\tmess\t-\n", (), "more columns.*Received: line 4"),
        ("\n\n", (), "blank lines only"),
        (
            "x\ty\na\t+\n",
            ("x", "z"),
            "must have a column 'z' in its first line, once. Received: .'x', 'y'",
        ),
        ("x\ty\n", ("x", "y"), "blank lines only"),
        ("a\t+\n", ("x",), "must be given together"),
        ("text\tlabel\na\t+\nb\t+\n", (), "'label' in the first line alone; if that names"),
    ],
)
def test_wrong_files_of_texts(tmp_path, text, columns, message):
    with pytest.raises(ValueError, match=message):
        read_texts(write(tmp_path / "a.tsv", text), *columns)


@pytest.mark.parametrize(
    "text",
    [
        "Ada B-PER\nmet O\n\nNew\u00a0York B-LOC\n",
        "-DOCSTART- -X- O\n\nAda NNP B-PER\nmet VBD O\n\n\n\nNew\u00a0York X B-LOC\n\n",
        "Ada\tB-PER\r\nmet\tO\r\n\r\nNew York\tB-LOC",
    ],
)
def test_tagged_tokens(tmp_path, text):
    sentences, tags = read_tagged(write(tmp_path / "a.conll", text))
    assert sentences == [["Ada", "met"], ["New\u00a0York"]]
    assert tags == [["B-PER", "O"], ["B-LOC"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Ada B-PER\nmet\n", "a token and a tag, or be blank. Received: line 2, 'met'"),
        ("\n", "blank lines only"),
        ("Ada\t\n", "Received: line 1"),
    ],
)
def test_wrong_files_of_tokens(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_tagged(write(tmp_path / "a.conll", text))


def test_another_column(tmp_path):
    path = write(tmp_path / "a.conll", "Ada NNP B-PER\n")
    assert read_tagged(path, tag_column=1) == ([["Ada"]], [["NNP"]])
    with pytest.raises(ValueError, match="line 1"):
        read_tagged(path, tag_column=3)
