"""The original's size, with random weights: through the command line, against the reference."""

import h5py
import keras
import numpy as np
import pytest
from files import datasets
from reference import Reference

from keras_elmo import Elmo, ElmoConfig
from keras_elmo_cli.main import main


@pytest.mark.slow
def test_the_command_line_at_full_size(shared, tmp_path):
    text = shared / "bench/sentences-512.txt"
    initializer = keras.initializers.RandomNormal(stddev=0.05, seed=1)
    Elmo(ElmoConfig(), kernel_initializer=initializer).save_pretrained(tmp_path / "model")
    output = tmp_path / "vectors.hdf5"
    assert main(["embed", str(text), "-o", str(output), "-m", str(tmp_path / "model"), "-q"]) == 0
    lines = text.read_text(encoding="utf-8").splitlines()
    reference = Reference(ElmoConfig().to_options(), datasets(tmp_path / "model/weights.hdf5"))
    with h5py.File(output) as vectors:
        assert len(vectors) == len(lines) + 1 == 513
        for number, line in enumerate(lines):
            assert vectors[str(number)].shape == (3, len(line.split()), 1024)
        shortest = min(range(len(lines)), key=lambda n: (len(lines[n].split()) < 5, len(lines[n])))
        expected = reference.sentence(lines[shortest].split())
        np.testing.assert_allclose(vectors[str(shortest)], expected, atol=1e-5)
        assert np.abs(expected).max() > 0.01
