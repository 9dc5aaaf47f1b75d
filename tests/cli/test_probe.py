import json

import pytest

from keras_elmo.analysis import probing
from keras_elmo_cli.main import main

pytestmark = pytest.mark.usefixtures("loaded_once")


def conllu(words):
    """Words with tags, and a blank line after each sentence."""
    lines = []
    for k, (word, tag) in enumerate(words):
        lines += [f"1\t{word}\t_\t{tag}" + "\t_" * 6, *[""] * (k % 3 == 0)]
    return "\n".join(lines)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    (folder / "train.conllu").write_text(conllu([("one", "NUM"), ("cat", "NOUN")] * 9))
    (folder / "test.conllu").write_text(conllu([("one", "NUM"), ("cat", "NOUN"), ("so", "X")]))
    for part in ("train", "test"):
        (folder / f"{part}.data.txt").write_text("1\tthe bank .\n1\ta bank lent it\n")
        (folder / f"{part}.gold.txt").write_text("0\n1\n")
    (folder / "classes_map.txt").write_text('{"0": "river", "1": "money"}')
    return folder


@pytest.fixture
def utf_16(data, tmp_path):
    """A folder with copies of the files, in UTF-16."""
    for file in data.iterdir():
        (tmp_path / file.name).write_bytes(file.read_text().encode("utf-16"))
    return tmp_path


def test_tags_as_a_table(utf_16, one_layer_folder, capsys, monkeypatch):
    monkeypatch.setattr(probing, "_MIX_STEPS", 9)
    files = [str(utf_16 / "train.conllu"), str(utf_16 / "test.conllu")]
    command = ["probe", "tags", *files, "-m", str(one_layer_folder), "-q", "--encoding", "utf-16"]
    assert main(command) == 0
    out, err = capsys.readouterr()
    head, row, weights = out.splitlines()
    assert err == ""
    assert head.split("  ")[0] == "accuracy (%)" and head.endswith("layer 0  layer 1   mix")
    assert row.startswith(files[1]) and row.split()[1:] == ["66.7"] * 4
    assert len(head) == len(row)
    assert weights.startswith("weights of the layers in the mix: 0.")


def test_senses_as_json(data, utf_16, small_folder, elmo, capsys):
    command = ["probe", "senses", str(utf_16), "-m", str(small_folder), "--json", "-q"]
    assert main([*command, "--encoding", "utf-16"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [result[name] for name in ("model", "task", "metric")] == ["small", "senses", "f1"]
    expected = probing.probe_senses(elmo, data)
    assert [row["f1"] for row in result["rows"]] == [row["f1"] for row in expected]
