"""A tagger of named entities: train, save, load, find entities in raw text.

python examples/tagger.py FILE.keras [MODEL]    # tiny without a name
"""

import pathlib
import sys

import keras

import keras_elmo
from keras_elmo.files.labelled_files import read_tagged

DATA = pathlib.Path(__file__).parent / "data/entities.train.txt"
TEXTS = ["Anna Berg met Peter in Oslo.", "The river was calm."]


def main(path, model="tiny", epochs=20):
    """Trains on the sentences of a file, saves, loads, and returns the entities of the texts."""
    keras.utils.set_random_seed(0)
    sentences, tags = read_tagged(DATA)
    tagger = keras_elmo.Tagger(model, labels=tags)
    tagger.fit(sentences, tags, epochs=epochs, verbose=0)
    tagger.save(path)
    return keras.models.load_model(path).entities(TEXTS)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    for text, entities in zip(TEXTS, main(*sys.argv[1:]), strict=True):
        print(text)
        for entity in entities:
            print(f"    {entity.label:10} {entity.text} ({entity.start} to {entity.end})")
