"""A classifier of texts: train, save, load, classify.

python examples/classifier.py FILE.keras [MODEL]    # tiny without a name
"""

import sys

import keras

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
LABELS = ["good"] * 4 + ["bad"] * 4


def main(path, model="tiny"):
    """Trains on the texts, saves, loads, and returns the labels that it gives them then."""
    keras.utils.set_random_seed(0)
    classifier = keras_elmo.TextClassifier(model, labels=["bad", "good"])
    classifier.fit(TEXTS, LABELS, epochs=30, verbose=0)
    classifier.save(path)
    return keras.models.load_model(path).classify(TEXTS)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    for text, label in zip(TEXTS, main(*sys.argv[1:]), strict=True):
        print(f"{label:5} {text}")
