import os

import h5py
import numpy as np


def test_checkpoint_becomes_a_model(run, shared, tmp_path):
    folder, output = shared / "fixtures/bilm-checkpoint", tmp_path / "m"
    command = ["convert", folder / "checkpoint", output]
    files = "README.md, options.json, softmax.hdf5, vocab.txt, weights.hdf5"
    assert run(*command, "--vocab", folder / "vocab.txt") == (0, "", f"{output}: {files}\n")
    # As the original's own script wrote it.
    with h5py.File(output / "weights.hdf5") as file, h5py.File(folder / "weights.hdf5") as expected:
        names = []
        expected.visititems(lambda name, x: names.append(name) if hasattr(x, "shape") else None)
        assert len(names) > 10
        for name in names:
            np.testing.assert_array_equal(file[name][()], expected[name][()])
    # A model is replaced where it is meant to be; without a vocabulary it has no softmax.
    assert "m holds a model already; give --overwrite\n" in run(*command)[2]
    assert len(os.listdir(output)) == 5
    assert run(*command, "--overwrite", "--quiet") == (0, "", "")
    assert sorted(os.listdir(output)) == ["README.md", "options.json", "weights.hdf5"]
