import os

import h5py
import numpy as np
import pytest

from keras_elmo_cli.main import main


@pytest.fixture
def checkpoint(shared):
    """A checkpoint of the original trainer, and its vocabulary."""
    folder = shared / "fixtures/bilm-checkpoint"
    return str(folder / "checkpoint"), str(folder / "vocab.txt")


def test_checkpoint_becomes_a_model(checkpoint, shared, tmp_path, capsys):
    model, vocabulary = checkpoint
    output = tmp_path / "m"
    assert main(["convert", model, str(output), "--vocab", vocabulary]) == 0
    files = "README.md, options.json, softmax.hdf5, vocab.txt, weights.hdf5"
    assert capsys.readouterr() == ("", f"{output}: {files}\n")
    # As the original's own script wrote it.
    with h5py.File(output / "weights.hdf5") as file:
        with h5py.File(shared / "fixtures/bilm-checkpoint/weights.hdf5") as expected:
            names = []
            expected.visititems(lambda name, x: names.append(name) if hasattr(x, "shape") else None)
            assert len(names) > 10
            for name in names:
                np.testing.assert_array_equal(file[name][()], expected[name][()])
    # A model is replaced where it is meant to be; without a vocabulary it has no softmax.
    assert main(["convert", model, str(output)]) == 2
    assert "m holds a model already; give --overwrite\n" in capsys.readouterr().err
    assert len(os.listdir(output)) == 5
    assert main(["convert", model, str(output), "--overwrite", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert sorted(os.listdir(output)) == ["README.md", "options.json", "weights.hdf5"]
