import numpy as np
import pytest

from keras_elmo_cli.main import main

pytestmark = pytest.mark.usefixtures("loaded_once")


def test_words_of_a_text(tmp_path, monkeypatch, capsys, small_folder, elmo):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("the bank\nno word\na Bank lent it\n")
    (tmp_path / "senses.txt").write_text("river\nnone\nmoney\n")
    command = ["projector", "text.txt", "bank", "lent", "-m", str(small_folder), "-o", "out", "-i"]
    assert main([*command, "--senses", "senses.txt", "-l", "2"]) == 0
    assert "out: 3 occurrences. To see them: tensorboard --logdir out" in capsys.readouterr().err
    rows = (tmp_path / "out/metadata.tsv").read_text().splitlines()
    assert [row.split("\t")[3] for row in rows] == ["label", "river", "money", "money"]
    vectors = np.fromfile(tmp_path / "out/layer_2.bytes", "<f4").reshape(3, 16)
    np.testing.assert_allclose(vectors[1], elmo.embed(["a Bank lent it"], 2)[0][1], atol=1e-6)
    assert main([*command, "-q"]) == 2
    error = "keras-elmo projector: error: out exists already; --overwrite replaces it"
    assert capsys.readouterr().err.startswith(error)
    # Without words, every token as far as the limit.
    tokens = ["projector", "text.txt", "-m", str(small_folder), "-o", "all", "-q", "--limit", "4"]
    assert main([*tokens, "--tsv"]) == 0
    assert np.loadtxt(tmp_path / "all/layer_1.tsv").shape == (4, 16)
