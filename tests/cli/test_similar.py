import io
import json
import sys

import numpy as np
import pytest

from keras_elmo_cli import inputs
from keras_elmo_cli.main import make_parser

pytestmark = pytest.mark.usefixtures("loaded_once")

TEXT = "by the bank of it\n\na bank , the BANK .\nbanks and banks and once\n"


@pytest.fixture
def similar(folder, run, small_folder):
    """Runs `similar`, which must succeed: what it prints."""
    (folder / "text.txt").write_text(TEXT)

    def similar(word, *arguments, file="text.txt"):
        status, out, err = run("similar", word, file, "-m", small_folder, "-q", *arguments)
        assert (status, err) == (0, "")
        return out

    return similar


def test_the_table_shows_each_occurrence(similar):
    head, *lines = similar("bank", "--ignore-case", "-n", "1").splitlines()
    assert head.startswith("3 occurrences of 'bank'")
    own = [line.split()[0] for line in lines if line and not line.startswith("layer")]
    assert own == ["1", "3", "3"]
    neighbours = [line for line in lines if line.startswith("layer")]
    assert [line[:7] for line in neighbours] == ["layer 1", "layer 2"] * 3
    assert lines[1] == f"{1:>22}  by the [bank] of it"
    contexts = {line[24:] for line in lines if line}
    assert contexts == {"by the [bank] of it", "a [bank] , the BANK .", "a bank , the [BANK] ."}


def test_the_text_may_be_a_folder_with_senses(tmp_path):
    folder = tmp_path / "java"
    folder.mkdir()
    (folder / "test.data.txt").write_text("1\tthe java\n0\tjava island\n")
    (folder / "test.gold.txt").write_text("1\n0\n")
    (folder / "classes_map.txt").write_text('{"0": "java_java", "1": "java_java_(language)"}')
    options = make_parser().parse_args(["similar", "java", str(folder), "-m", "model"])
    sentences, senses = inputs._read_sentences_and_senses(options)
    assert [list(tokens) for tokens in sentences] == [["the", "java"], ["java", "island"]]
    assert senses == ["java (language)", "java"]


def test_json_holds_the_cosines(similar, elmo):
    result = json.loads(similar("bank", "-i", "--json", "--layers", "0,2", "--top", "9"))
    assert result["word"] == "bank"
    places = [(row["line"], row["token"]) for row in result["occurrences"]]
    assert places == [(1, 2), (3, 1), (3, 4)]
    assert result["occurrences"][1]["tokens"] == "a bank , the BANK .".split()
    first, second = elmo.embed(["by the bank of it", "a bank , the BANK ."], layers=2)
    cosine = first[2] @ second[4] / np.linalg.norm(first[2]) / np.linalg.norm(second[4])
    nearest = result["occurrences"][0]["nearest"]
    assert set(nearest) == {"0", "2"}
    assert len(nearest["2"]) == 2
    (found,) = [row for row in nearest["2"] if row["occurrence"] == 2]
    assert found == {"occurrence": 2, "line": 3, "cosine": pytest.approx(cosine, abs=1e-5)}


def test_standard_input_and_limit(similar, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a a a\nb\na")))
    result = json.loads(similar("a", "--limit", "2", "--json", file="-"))
    assert [row["line"] for row in result["occurrences"]] == [1, 1]
