import pytest

from keras_elmo.analysis.annotated_files import read_conllu, read_senses


def row(index, word, upos="_", xpos="_"):
    return f"{index}\t{word}\t_\t{upos}\t{xpos}\t_\t_\troot\t_\t_"


def test_conllu_leaves_out_ranges_empty_nodes_and_comments(tmp_path):
    lines = ["# text = don't 10 000", row("1-2", "don't"), row(1, "do", "AUX", "VB")]
    lines += [row(2, "n't", "PART", "RB"), row("2.1", "x", "VERB"), row(3, "10 000", "NUM", "CD")]
    lines += ["", "", "# a comment alone", "", row(1, "Go", "VERB", "VB")]  # no blank line after it
    path = tmp_path / "a.conllu"
    path.write_text("\n".join(lines), encoding="utf-8")
    sentences = [["do", "n't", "10\u00a0000"], ["Go"]]
    assert read_conllu(path) == (sentences, [["AUX", "PART", "NUM"], ["VERB"]])
    assert read_conllu(path, "xpos") == (sentences, [["VB", "RB", "CD"], ["VB"]])
    assert read_conllu(path, None) == (sentences, [["_", "_", "_"], ["_"]])
    path.write_text("\ufeff" + "\r\n".join(lines) + "\r\n\r\n", encoding="utf-8")
    assert read_conllu(path, "deprel") == (sentences, [["root"] * 3, ["root"]])
    path.write_text(row(1, "caf\xe9", "NOUN"), encoding="latin-1")
    assert read_conllu(path, encoding="latin-1") == ([["caf\xe9"]], [["NOUN"]])


@pytest.mark.parametrize(
    "content, column, message",
    [
        (b"", "upos", "upos tags"),
        (row(1, "a").encode(), "xpos", "xpos tags"),
        (b"# text\n1\ta\tNOUN\n", "upos", "3 in line 2"),
        (b"\xff\xfe", "upos", "UTF-8"),
        (row(1, "a", "X").encode(), "case", "`label_field`"),
    ],
)
def test_files_that_are_not_conllu_are_refused(tmp_path, content, column, message):
    (tmp_path / "a.conllu").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_conllu(tmp_path / "a.conllu", column)


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


@pytest.mark.parametrize(
    "data, gold, message",
    [
        ("0\ta b\n1\ta b\n", "1\n", "1 senses for 2 sentences"),
        ("", "", "0 senses"),
        ("2\ta b\n", "1\n", "line 1"),
        ("0\ta b\na b\n", "1\n1\n", "line 2"),
    ],
)
def test_what_has_no_senses_is_refused(senses, data, gold, message):
    with pytest.raises(ValueError, match=message):
        senses(data, gold)
