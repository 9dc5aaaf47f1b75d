"""Shows how a word's vectors differ from sentence to sentence, layer by layer.

Layer 0 knows only the word: its vectors are the same everywhere. Higher layers know the context.
With a random model (`make demo`) the numbers mean nothing; with a trained one, senses separate.

    python examples/polysemy.py MODEL
"""

import itertools
import sys

import numpy as np

import keras_elmo

WORD = "bank"
SENTENCES = [
    "She sat down on the bank of the river .",
    "They fished from the muddy bank of the lake .",
    "The bank raised its interest rate .",
    "He opened an account at the bank .",
]


def similarities(model, word=WORD, sentences=SENTENCES):
    """Cosines between the vectors of a word: (num_layers + 1, sentences, sentences)."""
    elmo = keras_elmo.Elmo.from_pretrained(model)
    vectors = [
        layers[:, sentence.split().index(word)]
        for sentence, layers in zip(sentences, elmo.embed(sentences, layers="all"), strict=True)
    ]
    vectors = np.stack(vectors, axis=1)  # (num_layers + 1, sentences, D)
    vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors @ vectors.transpose(0, 2, 1)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for number, sentence in enumerate(SENTENCES):
        print(f"{number}: {sentence}")
    for layer, cosines in enumerate(similarities(sys.argv[1])):
        pairs = itertools.combinations(range(len(SENTENCES)), 2)
        print(f"layer {layer}: ", *(f"{a}-{b} {cosines[a, b]:.3f} " for a, b in pairs))
