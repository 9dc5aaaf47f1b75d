"""Shows how a word's vectors differ from sentence to sentence, layer by layer.

Layer 0 knows only the word: its vectors are the same everywhere. Higher layers know the context,
and a word's nearest neighbours there have its sense.

    python examples/polysemy.py [MODEL]    # tiny without a name
"""

import sys

import numpy as np

import keras_elmo

WORD = "bank"
SENTENCES = [
    "She sat down on the bank of the river.",
    "They fished from the muddy bank of the lake.",
    "He opened an account at the bank.",
    "She borrowed some money from the bank.",
]


def similarities(model="tiny", word=WORD, sentences=SENTENCES):
    """Cosines between the vectors of a word: (num_layers + 1, sentences, sentences)."""
    elmo = keras_elmo.Elmo.from_pretrained(model, tokenizer="treebank")
    tokens, vectors = elmo.tokenize(sentences), elmo.embed(sentences, layers="all")
    vectors = [x[:, row.index(word)] for row, x in zip(tokens, vectors, strict=True)]
    vectors = np.stack(vectors, axis=1)  # (num_layers + 1, sentences, D)
    vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors @ vectors.transpose(0, 2, 1)


def nearest(cosines):
    """Of each sentence the other one whose word is nearest: (num_layers + 1, sentences)."""
    return np.argmax(cosines - 2 * np.eye(cosines.shape[-1]), axis=-1)


if __name__ == "__main__":
    if len(sys.argv) > 2 or "-h" in sys.argv[1:] or "--help" in sys.argv[1:]:
        sys.exit(__doc__)
    cosines = similarities(*sys.argv[1:])
    print(f"The nearest neighbour of {WORD!r} in each sentence, by the cosine of its vectors")
    width = max(map(len, SENTENCES))
    for layer in range(1, len(cosines)):
        print(f"layer {layer}")
        for one, other in enumerate(nearest(cosines)[layer]):
            cosine = cosines[layer, one, other]
            print(f"  {SENTENCES[one]:<{width}}  {cosine:.2f}  {SENTENCES[other]}")
    print(f"layer 0 does not know the sentence: the least cosine is {cosines[0].min():.2f}")
