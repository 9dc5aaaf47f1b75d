import json

import pytest

from keras_elmo.analysis import probing

pytestmark = pytest.mark.usefixtures("loaded_once")


def conllu(words):
    """Words with tags, and a blank line after each sentence."""
    lines = []
    for k, (word, tag) in enumerate(words):
        lines += [f"1\t{word}\t_\t{tag}" + "\t_" * 6, *[""] * (k % 3 == 0)]
    return "\n".join(lines)


def test_tags_as_a_table(folder, one_layer_folder, run, monkeypatch):
    monkeypatch.setattr(probing, "_MIX_STEPS", 9)
    words = [("one", "NUM"), ("cat", "NOUN")]
    (folder / "train.conllu").write_text(conllu(words * 9), "utf-16")
    (folder / "test.conllu").write_text(conllu([*words, ("so", "X")]), "utf-16")
    command = ["probe", "tags", "train.conllu", "test.conllu", "-m", one_layer_folder, "-q"]
    status, out, err = run(*command, "--encoding", "utf-16")
    assert (status, err) == (0, "")
    head, row, weights = out.splitlines()
    assert head.split("  ")[0] == "accuracy (%)" and head.endswith("layer 0  layer 1   mix")
    assert row.split() == ["test.conllu", *["66.7"] * 4]
    assert len(head) == len(row)
    assert weights.startswith("weights of the layers in the mix: 0.")


def test_senses_as_json(folder, small_folder, elmo, run):
    for part in ("train", "test"):
        (folder / f"{part}.data.txt").write_text("1\tthe bank .\n1\ta bank lent it\n", "utf-16")
        (folder / f"{part}.gold.txt").write_text("0\n1\n", "utf-16")
    (folder / "classes_map.txt").write_text('{"0": "river", "1": "money"}', "utf-16")
    command = ["probe", "senses", folder, "-m", small_folder, "--json", "-q"]
    result = json.loads(run(*command, "--encoding", "utf-16")[1])
    assert [result[name] for name in ("model", "task", "metric")] == ["small", "senses", "f1"]
    expected = probing.probe_senses(elmo, folder, encoding="utf-16")
    assert [row["f1"] for row in result["rows"]] == [row["f1"] for row in expected]
