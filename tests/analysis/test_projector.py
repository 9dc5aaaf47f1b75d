import numpy as np
import pytest

from keras_elmo.analysis.occurrences import find_occurrences
from keras_elmo.analysis.projector import write_projector

SENTENCES = ["They sat on the bank .", "The\u2028bank\x07 lent 猫 bank money ."]


@pytest.fixture
def bank(elmo):
    return find_occurrences(elmo, SENTENCES, ["bank", "bank\x07"])


@pytest.mark.parametrize("tsv", [False, True])
def test_files(bank, tmp_path, tsv):
    folder = tmp_path / "a"
    write_projector(bank, folder, [0, 2], ["river", "a\tb", ""], tsv)
    names = [f"layer_{layer}.{'tsv' if tsv else 'bytes'}" for layer in (0, 2)]
    found = {path.name for path in folder.iterdir()}
    assert found == {*names, "metadata.tsv", "projector_config.pbtxt"}
    for layer, name in zip((0, 2), names, strict=True):
        path = folder / name
        found = np.loadtxt(path) if tsv else np.fromfile(path, "<f4").reshape(3, 16)
        np.testing.assert_array_equal(found.astype(np.float32), bank.vectors[layer])
    *lines, end = (folder / "metadata.tsv").read_text(encoding="utf-8").split("\n")
    cells = [line.split("\t") for line in lines]
    assert end == "" and cells[0] == ["token", "line", "context", "label"]
    assert cells[1] == ["bank", "1", "They sat on the [bank] .", "river"]
    assert [row[3] for row in cells[1:]] == ["river", "a b", " "]
    assert all(len(row) == 4 for row in cells)


def test_only_such_folders_are_replaced(bank, tmp_path):
    write_projector(bank, tmp_path / "a")
    (tmp_path / "b").mkdir()
    (tmp_path / "b/thesis.txt").write_text("mine")
    (tmp_path / "c").write_text("")
    for name, overwrite in [("a", False), ("b", True), ("c", True)]:
        with pytest.raises(FileExistsError, match=name):
            write_projector(bank, tmp_path / name, overwrite=overwrite)
    with pytest.raises(ValueError, match="1 labels"):
        write_projector(bank, tmp_path / "d", labels=["x"])
    write_projector(bank, tmp_path / "a", layers=[1], overwrite=True)
    assert not (tmp_path / "a/layer_0.bytes").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"]


def test_tensorboard_reads_them(bank, tmp_path):
    projector = pytest.importorskip("tensorboard.plugins.projector.projector_plugin")
    write_projector(bank, tmp_path / "a", [1, 2])
    config = projector.ProjectorConfig()
    projector.text_format.Parse((tmp_path / "a/projector_config.pbtxt").read_text(), config)
    layer = config.embeddings[1]
    assert (layer.tensor_name, layer.tensor_shape) == ("layer 2", [3, 16])
    vectors = projector._read_tensor_binary_file(
        str(tmp_path / "a" / layer.tensor_path), layer.tensor_shape
    )
    np.testing.assert_array_equal(vectors, bank.vectors[2])
    assert layer.metadata_path == "metadata.tsv"
