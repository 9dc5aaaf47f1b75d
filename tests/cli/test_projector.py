import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("loaded_once")


def test_words_of_a_text(folder, run, small_folder, elmo):
    (folder / "text.txt").write_text("the bank\nno word\na Bank lent it\n")
    (folder / "senses.txt").write_text("river\nnone\nmoney\n")
    model = ["-m", small_folder]
    command = ["projector", "text.txt", "bank", "lent", *model, "-o", "out", "-i"]
    status, _, err = run(*command, "--senses", "senses.txt", "-l", "2")
    assert status == 0
    assert "out: 3 occurrences. To see them: tensorboard --logdir out" in err
    rows = (folder / "out/metadata.tsv").read_text().splitlines()
    assert [row.split("\t")[3] for row in rows] == ["label", "river", "money", "money"]
    vectors = np.fromfile(folder / "out/layer_2.bytes", "<f4").reshape(3, 16)
    np.testing.assert_allclose(vectors[1], elmo.embed(["a Bank lent it"], 2)[0][1], atol=1e-6)
    error = "keras-elmo projector: error: out exists already; --overwrite replaces it"
    assert run(*command, "-q")[2].startswith(error)
    # Without words, every token as far as the limit.
    assert run("projector", "text.txt", *model, "-o", "all", "-q", "--limit", 4, "--tsv")[0] == 0
    assert np.loadtxt(folder / "all/layer_1.tsv").shape == (4, 16)
