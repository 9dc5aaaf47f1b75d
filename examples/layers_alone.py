"""The layers by themselves, on character ids. Runs on any Keras backend that they support:

KERAS_BACKEND=jax python examples/layers_alone.py
"""

import keras
import numpy as np

from keras_elmo import characters
from keras_elmo.layers import BiLM, CharCNNEmbedding, MaskedMean, ScalarMix

SENTENCES = [["The", "cat", "sat", "."], ["Hello"]]


def build():
    """Character ids to the mean of the mixed layers."""
    ids = keras.Input((None, 50), dtype="int32")
    tokens = CharCNNEmbedding([(1, 16), (2, 32), (3, 32)], num_highway=1, projection_dim=32)(ids)
    layers = BiLM(units=64, projection_dim=32, cell_clip=3.0, projection_clip=3.0)(tokens)
    return keras.Model(ids, MaskedMean()(ScalarMix()(layers)))


def character_ids(sentences):
    """Sentences of words -> int32 (batch, tokens, 50), padded with zeros."""
    ids = np.zeros((len(sentences), max(map(len, sentences)), 50), np.int32)
    for row, words in enumerate(sentences):
        for column, word in enumerate(words):
            ids[row, column] = characters.word_to_ids(word)
    return ids


if __name__ == "__main__":
    vectors = build().predict(character_ids(SENTENCES), verbose=0)
    print(f"backend {keras.backend.backend()}: vectors of shape {vectors.shape}")
