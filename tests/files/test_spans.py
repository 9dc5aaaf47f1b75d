"""Texts with spans of characters, as tools for annotation write them."""

import json

import pytest

from keras_elmo import TreebankTokenizer
from keras_elmo.files.labelled_files import read_tagged

TEXT = "\U0001f600 Anna Berg lives.\nIn Oslo."
SPANS = [[2, 11, "PER"], [22, 26, "LOC"]]
RIGHT = (
    [["\U0001f600", "Anna", "Berg", "lives", "."], ["In", "Oslo", "."]],
    [["O", "B-PER", "I-PER", "O", "O"], ["O", "B-LOC", "O"]],
)
PRODIGY = [{"start": start, "end": end, "label": label} for start, end, label in SPANS]
DOCCANO = [{"start_offset": start, "end_offset": end, "label": x} for start, end, x in SPANS]
SPACY = [TEXT, {"entities": SPANS}]
BRAT = "T1\tPER 2 11\tAnna Berg\nT2\tLOC 22 26\tOslo\nR1\tlives Arg1:T1 Arg2:T2\n#1\tNote T1\tx\n"
TITLE, ABSTRACT = TEXT.split("\n")
PUBTATOR = f"7|t|{TITLE}\n7|a|{ABSTRACT}\n7\t2\t11\tAnna Berg\tPER\t-\n7\t22\t26\tOslo\tLOC\n"
PUBTATOR += "7\tCID\tD1\tD2\n\n"


@pytest.fixture
def read(tmp_path):
    def read(name, text, *arguments, **beside):
        for suffix, content in beside.items():
            (tmp_path / name).with_suffix(f".{suffix}").write_text(content, "utf-8", newline="")
        (tmp_path / name).write_text(text, "utf-8", newline="")
        return read_tagged(tmp_path / name, *arguments, tokenizer=TreebankTokenizer())

    return read


@pytest.mark.parametrize(
    ("content", "label_field"),
    [
        ({"text": TEXT, "label": SPANS}, "label"),
        ({"text": TEXT, "entities": DOCCANO}, "entities"),
        ({"text": TEXT, "spans": PRODIGY}, "spans"),
        (SPACY, "entities"),
        ([SPACY], "entities"),
    ],
)
def test_json_of_tools(read, content, label_field):
    line = json.dumps(content)
    assert read("a.json", line, "text", label_field) == RIGHT
    other = json.dumps(["so", {label_field: []}])
    assert read("a.jsonl", f"{line}\n{other}\n", "text", label_field)[1] == [*RIGHT[1], ["O"]]


def test_spans_of_a_list_of_tokens_count_tokens(read):
    line = json.dumps({"text": RIGHT[0][0], "label": [[1, 3, "PER"]]})
    assert read("a.jsonl", line, "text", "label") == tuple(part[:1] for part in RIGHT)


def test_brat_and_pubtator(read, tmp_path):
    assert read("a.txt", TEXT, ann=BRAT) == RIGHT
    text = TEXT.replace("\n", "\r\n").replace("In ", "I ")  # brat counts both ends of a line
    assert read("a.ann", BRAT, txt=text)[1] == RIGHT[1]
    read("b.ann", "", txt="So.")
    assert read_tagged(tmp_path, tokenizer=TreebankTokenizer())[1] == [*RIGHT[1], ["O", "O"]]
    joined = tuple([sum(rows, [])] for rows in RIGHT)
    assert read("a.pubtator", PUBTATOR) == joined
    two = read("p.txt", f"{PUBTATOR}\n8|t|So.\n", None, None, "pubtator")
    assert two == (joined[0] + [["So", "."]], joined[1] + [["O", "O"]])


@pytest.mark.parametrize(
    ("name", "text", "arguments", "message"),
    [
        ("a.ann", BRAT.replace("22 26", "21 25"), (), "a.ann, 'Oslo', where .* has ' Osl'"),
        ("a.ann", "T1\tPER\n", (), "count the characters"),
        ("a.pubtator", PUBTATOR.replace("\t2\t11", "\t5\t14"), (), "not bytes. .*, 7, 'Anna Berg'"),
        ("a.pubtator", "a\tb\n", (), r"must be PubTator, .* Received: 'a\\tb'"),
        ("a.jsonl", json.dumps({"text": "a b", "label": [[0, 1, None]]}), ("text", "label"),
         "or spans of the text, in 'label'"),
        ("a.txt", PUBTATOR, (), "`format` names others"),
    ],
)  # fmt: skip
def test_wrong_files_of_spans(read, name, text, arguments, message):
    with pytest.raises(ValueError, match=message):
        read(name, text, *arguments, **({"txt": TEXT} if name == "a.ann" else {}))


def test_text_without_annotations_is_refused(read, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"a\.ann"):
        read("a.txt", TEXT, None, None, "brat")
    (tmp_path / "b.jsonl").write_text(json.dumps({"text": TEXT, "label": SPANS}))
    with pytest.raises(ValueError, match="`tokenizer` must have"):
        read_tagged(tmp_path / "b.jsonl", "text", "label")


def test_spans_that_are_not_tokens_are_counted(read):
    spans = [[2, 9, "PER"], [7, 11, "X"], [22, 26, "LOC"], [90, 99, "X"]]
    line = json.dumps({"text": TEXT, "label": spans})
    message = r"a.jsonl, with 3 others, the first in .*, line 1, 'Anna Be' \(2 to 9, PER\)"
    with pytest.warns(UserWarning, match=message):
        assert read("a.jsonl", line, "text", "label") == RIGHT
    parts = BRAT.replace("2 11\tAnna Berg", "2 6;7 11\tAnna Berg")
    with pytest.warns(UserWarning, match="several parts is taken whole. .*a.ann, 'Anna Berg'"):
        assert read("a.txt", TEXT, ann=parts) == RIGHT
