"""Makes a small random model in the original's format, to try the package without a download.

Its vectors mean nothing: its weights are random numbers. Its files have the format of the
published models, and everything that the package does with those it does with these.

    python examples/random_model.py FOLDER
"""

import sys

import keras

import keras_elmo


def make(folder, seed=0):
    """Writes `options.json` and `weights.hdf5` into a folder."""
    keras.utils.set_random_seed(seed)
    config = keras_elmo.ElmoConfig(
        units=256,
        projection_dim=32,
        filters=[(1, 16), (2, 16), (3, 32), (4, 64)],
        num_highway=1,
    )
    keras_elmo.Elmo(config).save_pretrained(folder)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    make(sys.argv[1])
    print(f"{sys.argv[1]}: a model with RANDOM weights (its vectors mean nothing)")
