"""Four things that help when ELMo is a part of a larger model, each in a few lines.

python examples/building_blocks.py [MODEL]    # tiny without a name

- `pooled_classifier`: dropout on ELMo's output, and pooling that leaves the padding out.
- `tagger_with_word_vectors`: layer norm before ELMo is joined with vectors that train from scratch.
- `tagger_with_two_mixes`: ELMo at the input and at the output of a tagger's LSTMs, each place with
  a mix of its own (Peters et al. 2018, section 3.3 and table 3).
- `mix_of_another_encoder`: a `ScalarMix` over the layers of any other model.
"""

import sys

import keras
import numpy as np
from keras import ops

import keras_elmo

SENTENCES = [["The", "bank", "of", "the", "river"], ["Banks", "lend", "money"]]


@keras.saving.register_keras_serializable("building_blocks")
class MaskedMax(keras.layers.Layer):
    """The maximum over a sentence's real tokens; `keras_elmo.MaskedMean` is its counterpart.

    `keras.layers.GlobalMaxPooling1D` reads the padding too, whose zeros are often the maximum.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs, mask=None):
        if mask is not None:
            inputs = ops.where(mask[..., None], inputs, -1e9)  # (batch, tokens, features)
        return ops.max(inputs, axis=1)

    def compute_mask(self, inputs, mask=None):
        return None  # the result has no tokens


def pooled_classifier(model, num_classes):
    """Raw strings, (batch,), to probabilities of classes, (batch, num_classes)."""
    texts = keras.Input((), dtype="string")
    x = keras_elmo.ElmoEmbedding(model, dropout=0.5)(texts)  # (batch, tokens, D)
    x = keras.layers.concatenate([keras_elmo.MaskedMean()(x), MaskedMax()(x)])
    x = keras.layers.Dropout(0.5)(x)
    return keras.Model(texts, keras.layers.Dense(num_classes, activation="softmax")(x))


def tagger_with_word_vectors(model, words, num_tags):
    """Tokens, (batch, tokens), padded with "", to probabilities of tags, (batch, tokens, num_tags).

    Args:
        words: list of strings, those that get a vector of their own.
    """
    tokens = keras.Input((None,), dtype="string")
    elmo = keras_elmo.ElmoEmbedding(model, tokenizer=None, dropout=0.5)(tokens)
    numbers = keras.layers.StringLookup(vocabulary=words, mask_token="")(tokens)
    vectors = keras.layers.Embedding(len(words) + 2, 50, mask_zero=True)(numbers)
    # ELMo's numbers are many times larger than those of new vectors. The norm makes them alike;
    # without it, the LSTMs hardly see the smaller ones.
    elmo = keras.layers.LayerNormalization()(elmo)
    x = keras.layers.concatenate([elmo, vectors])
    x = keras.layers.Bidirectional(keras.layers.LSTM(64, return_sequences=True))(x)
    return keras.Model(tokens, keras.layers.Dense(num_tags, activation="softmax")(x))


def tagger_with_two_mixes(model, num_tags):
    """Like `tagger_with_word_vectors`. The biLM runs once for both mixes."""
    tokens = keras.Input((None,), dtype="string")
    outputs = keras_elmo.Elmo.from_pretrained(model, tokenizer=None, num_mixes=2)(tokens)
    x = keras.layers.Dropout(0.5)(keras.layers.LayerNormalization()(outputs["elmo"]))
    x = keras.layers.Bidirectional(keras.layers.LSTM(64, return_sequences=True))(x)
    second = keras.layers.Dropout(0.5)(keras.layers.LayerNormalization()(outputs["elmo_2"]))
    x = keras.layers.concatenate([x, second])
    return keras.Model(tokens, keras.layers.Dense(num_tags, activation="softmax")(x))


def mix_of_another_encoder(vocabulary_size, num_layers=3, units=32):
    """Word numbers, (batch, tokens), 0 for padding, to a mix of an encoder's layers.

    The encoder is three GRUs here. Any list of tensors of one shape can be mixed: the hidden states
    of a transformer, say.
    """
    numbers = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(vocabulary_size, units, mask_zero=True)(numbers)
    layers = [x]
    for _ in range(num_layers):
        x = keras.layers.GRU(units, return_sequences=True)(x)
        layers.append(x)
    return keras.Model(numbers, keras_elmo.ScalarMix(do_layer_norm=True)(layers))


def main(model="tiny"):
    """Makes each of them, and returns its output by its name."""
    tokens = keras_elmo.strings(SENTENCES).to_tensor("")
    texts = keras_elmo.strings([" ".join(words) for words in SENTENCES])
    words = sorted({word for sentence in SENTENCES for word in sentence})
    return {
        "pooled_classifier": pooled_classifier(model, 2)(texts),
        "tagger_with_word_vectors": tagger_with_word_vectors(model, words, 3)(tokens),
        "tagger_with_two_mixes": tagger_with_two_mixes(model, 3)(tokens),
        "mix_of_another_encoder": mix_of_another_encoder(10)(np.array([[1, 2, 3], [4, 0, 0]])),
    }


if __name__ == "__main__":
    for name, output in main(*sys.argv[1:]).items():
        print(f"{name}: {tuple(output.shape)}")
