import os

from weights.parts import assert_same_files


def test_checkpoint_becomes_a_model(run, shared, tmp_path):
    folder, output = shared / "fixtures/bilm-checkpoint", tmp_path / "m"
    command = ["convert", folder / "checkpoint", output]
    files = "README.md, options.json, softmax.hdf5, vocab.txt, weights.hdf5"
    assert run(*command, "--vocab", folder / "vocab.txt") == (0, "", f"{output}: {files}\n")
    # As the original's own script wrote it.
    assert_same_files(folder / "weights.hdf5", output / "weights.hdf5")
    # A model is replaced where it is meant to be; without a vocabulary it has no softmax.
    assert "m holds a model already; give --overwrite\n" in run(*command)[2]
    assert len(os.listdir(output)) == 5
    assert run(*command, "--overwrite", "--quiet") == (0, "", "")
    assert sorted(os.listdir(output)) == ["README.md", "options.json", "weights.hdf5"]
