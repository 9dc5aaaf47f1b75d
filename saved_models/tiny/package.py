"""Puts a trained model into a package, its weights rounded to four decimals.

    python saved_models/tiny/package.py MODEL HELDOUT [FOLDER]

FOLDER is that of `tiny`, if it is not given. Shows the largest difference that this makes to any
output of the sentences of HELDOUT, and the least cosine. HDF5's own scale-offset filter packs the
numbers into about 15 bits each, which any reader of HDF5 gives back as float32: smaller than
float16, and nearer to the trained ones. Its Fletcher-32 filter adds a checksum to each chunk, and
the file format of HDF5 1.10 has checksums of all else, so a damaged file is refused. The softmax
and the vocabulary stay out; the softmax alone has more than four times as many numbers as the rest.
"""

import pathlib
import shutil
import sys

import h5py
import numpy as np

import keras_elmo
from keras_elmo.files.atomic import replacing_files
from keras_elmo.training import Corpus

TARGET = pathlib.Path(__file__).resolve().parents[2] / "keras_elmo/weights/tiny"
_DECIMALS = 4
_VERSION = ("v110", "v110")  # of the file format: the oldest whose own parts have checksums


def pack(source, target):
    """Copies a model's options, and its weights rounded."""
    target.mkdir(exist_ok=True)
    with replacing_files(target / "options.json", target / "weights.hdf5") as paths:
        shutil.copyfile(source / "options.json", paths[0])
        read = h5py.File(source / "weights.hdf5")
        new = h5py.File(paths[1], "w", libver=_VERSION)
        with read, new:

            def copy(name, item):
                if isinstance(item, h5py.Dataset):
                    _create(new, name, item.shape)[...] = item[()]

            read.visititems(copy)


def _create(file, name, shape):
    """A dataset of rounded values with checksums.

    `create_dataset` takes one of the two filters only: a checksum of values that the other rounds
    afterwards would never be right. Here the checksum is one of the packed bytes.
    """
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_scaleoffset(h5py.h5z.SO_FLOAT_DSCALE, _DECIMALS)
    properties.set_fletcher32()
    return file.create_dataset(name, shape, np.float32, chunks=True, dcpl=properties)


def differences(source, target, sentences):
    """The largest absolute difference of any output, and the least cosine of a token's vectors."""
    one, other = (
        keras_elmo.Elmo.from_pretrained(folder, tokenizer=None).embed(sentences, layers="all")
        for folder in (source, target)
    )
    largest, least = 0.0, 1.0
    for a, b in zip(one, other, strict=True):
        largest = max(largest, float(np.abs(a - b).max()))
        norms = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
        least = min(least, float((np.sum(a * b, axis=-1) / norms).min()))
    return largest, least


def main(source, text, folder=TARGET):
    source, folder = pathlib.Path(source), pathlib.Path(folder)
    pack(source, folder)
    largest, least = differences(source, folder, list(Corpus(text).sentences()))
    size = sum(path.stat().st_size for path in folder.iterdir() if path.suffix != ".py")
    print(f"{folder}: {size / 1e6:.2f} MB; outputs within {largest:.1e}, cosine >= {least:.7f}")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
