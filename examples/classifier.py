"""A classifier on raw strings: train, save, load, predict.

python examples/classifier.py FILE.keras [MODEL]    # tiny without a name
"""

import sys

import keras
import numpy as np

import keras_elmo

TEXTS = [
    "a warm and funny film",
    "funny from start to end",
    "what a warm story",
    "a wonderful cast",
    "a dull and endless film",
    "dull from start to end",
    "what an endless story",
    "a wooden cast",
]
LABELS = np.array([1, 1, 1, 1, 0, 0, 0, 0])


def build(model):
    """An untrained classifier on top of a model."""
    classifier = keras.Sequential(
        [
            keras.Input(shape=(), dtype="string"),
            keras_elmo.ElmoEmbedding(model, output="default", trainable_part="mix"),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    classifier.compile(keras.optimizers.Adam(0.1), "binary_crossentropy", metrics=["accuracy"])
    return classifier


def main(path, model="tiny"):
    """Trains on the texts, saves, loads, and returns the loaded classifier's probabilities."""
    keras.utils.set_random_seed(0)
    texts = keras_elmo.strings(TEXTS)
    classifier = build(model)
    classifier.fit(texts, LABELS, epochs=40, verbose=0)
    classifier.save(path)
    return keras.models.load_model(path).predict(texts, verbose=0)[:, 0]


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    for text, probability in zip(TEXTS, main(*sys.argv[1:]), strict=True):
        print(f"{probability:.2f}  {text}")
