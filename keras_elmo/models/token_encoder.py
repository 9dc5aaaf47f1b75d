"""`TokenEncoder`: words to token embeddings, the sentence boundaries first."""

from keras import ops

from keras_elmo.backend import ON_TENSORFLOW, Module, tf
from keras_elmo.models.kernel_rounding import traced
from keras_elmo.process.signals import check_signals

WORDS_PER_CALL = 1024  # bounds the memory that the convolutions take


class TokenEncoder(Module):
    """Encodes distinct words with a character encoder, in a model's `KernelRounding`.

    Every result is float, (2 + words, projection_dim): row 0 is `<S>`, row 1 is `</S>`, and row
    k + 2 is word k.
    """

    def __init__(self, encoder, scheme, rounding):
        super().__init__()
        self.encoder, self.scheme, self.kernel_rounding = encoder, scheme, rounding

    def from_character_ids(self, ids, **kwargs):
        """Embeds int32 (words, ids_per_token)."""
        with self.kernel_rounding.context():
            return self.encoder(ops.concatenate([self.scheme.boundaries, ids]), **kwargs)

    @traced
    def from_words(self, words):
        """Embeds strings (words,)."""
        return self.from_character_ids(self.scheme.ids(words))

    def from_many_words(self, words):
        """Like `from_words`, eagerly, for any number of distinct words, a list of bytes.

        Sort them by length: the encoder cuts its characters to the longest word of a call.
        """
        parts = []
        for start in range(0, max(len(words), 1), WORDS_PER_CALL):
            part = words[start : start + WORDS_PER_CALL]
            if ON_TENSORFLOW:
                parts.append(self.from_words(tf.constant(part, tf.string)))
            else:
                parts.append(self.from_character_ids(self.scheme.rows(part)))
            check_signals()
        return ops.concatenate([parts[0][:2], *(part[2:] for part in parts)])


def padded_words(word_index, row_lengths):
    """Sentences as rows of what a `TokenEncoder` gives: int32, (batch, tokens), 0 for padding.

    `word_index`, int32, (N,), says which word each token of all sentences is; `row_lengths`,
    int64, (batch,), how many tokens each sentence has. On Keras's other backends the index is
    (batch, tokens), since no shape depends on values there.
    """
    if not ON_TENSORFLOW:
        is_token = sequence_mask(row_lengths, word_index.shape[1])
        return ops.where(is_token, word_index + 2, 0)
    ragged = tf.RaggedTensor.from_row_lengths(word_index + 2, row_lengths, validate=False)
    return ragged.to_tensor()


def with_boundaries(word_index, row_lengths):
    """Like `padded_words`, with the boundaries put around each sentence: (batch, tokens + 2)."""
    grid = ops.pad(padded_words(word_index, row_lengths), [[0, 0], [1, 1]])
    position = ops.arange(ops.shape(grid)[1], dtype=row_lengths.dtype)
    return ops.where(position == row_lengths[:, None] + 1, 1, grid)


def sequence_mask(row_lengths, width):
    """Which columns of `width` are tokens: bool, (batch, width)."""
    return ops.arange(width, dtype=row_lengths.dtype) < row_lengths[:, None]
