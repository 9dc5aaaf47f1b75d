"""Trains the tagger `pos` on UD English EWT, and measures it.

    python saved_models/pos/train.py ud-english-ewt keras_elmo/tasks/pos

The folder of the data has `train.conllu`, `dev.conllu` and `test.conllu`. Only the head is written:
the weights of `tiny` are in the package.
"""

import argparse
import pathlib

import h5py
import keras
import numpy as np

from keras_elmo import Tagger
from keras_elmo.files.atomic import replacing_file
from keras_elmo.files.labelled_files import read_tagged
from keras_elmo.tasks.pretrained import TASK_FILE

_DECIMALS = 3  # of the weights in the file


def as_tiny_reads(words):
    """Words of EWT, which splits `do n't`, as the text of `tiny` has them, `don 't`."""
    words = list(words)
    for index, word in enumerate(words[1:], start=1):
        if word.lower() == "n't":
            words[index - 1 : index + 1] = words[index - 1] + word[0], word[1:]
    return words


def read(path):
    sentences, tags = read_tagged(path)
    return [as_tiny_reads(words) for words in sentences], tags


def pack(path):
    """Rounds the weights in a file of Keras, which reads them as before."""
    with replacing_file(path) as temporary:
        with h5py.File(path) as source, h5py.File(temporary, "w") as target:

            def copy(name, item):
                if isinstance(item, h5py.Group):
                    group = target.require_group(name)
                    group.attrs.update(item.attrs)
                elif item.dtype == np.float32 and item.size > 100:
                    target.create_dataset(
                        name, data=item[()], scaleoffset=_DECIMALS, shuffle=True, compression="gzip"
                    )
                else:
                    source.copy(item, target, name)

            source.visititems(copy)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--word-dim", type=int, default=0)
    options = parser.parse_args()
    keras.utils.set_random_seed(0)
    train, dev, test = (read(options.data / f"{part}.conllu") for part in ("train", "dev", "test"))
    labels = sorted({tag for _, tags in (train, dev) for row in tags for tag in row})
    model = Tagger("tiny", labels, crf=False, tokenizer="web", word_dim=options.word_dim)
    model.fit(*train, validation_data=dev, verbose=2)
    model.save_pretrained(options.output)
    (weights,) = options.output.glob("*.weights.h5")
    pack(weights)
    packed = Tagger.from_pretrained(options.output)
    for name, data in {"dev": dev, "test": test}.items():
        print(name, packed.evaluate(*data, verbose=0, return_dict=True)["accuracy"])
    original = read_tagged(options.data / "test.conllu")
    print("test as it is", packed.evaluate(*original, verbose=0, return_dict=True)["accuracy"])
    print({file.name: file.stat().st_size for file in options.output.iterdir()}, TASK_FILE)


if __name__ == "__main__":
    main()
