"""`TokenEncoder`: words to token embeddings, from a cached vocabulary where there is one."""

import contextlib

import tensorflow as tf

from keras_elmo import text
from keras_elmo.traced_function import TracedFunction

_WORDS_PER_CALL = 1024  # bounds the memory that the convolutions take


class TokenEncoder(tf.Module):
    """Encodes distinct words with a character encoder, sentence boundaries first.

    Args:
        character_encoder: function of character ids (words, max_characters), int32, to embeddings
            (words, projection_dim): a built `CharCNNEmbedding`, or what calls one.
        max_characters: int. Characters of a word.
    """

    def __init__(self, character_encoder, max_characters):
        super().__init__()
        self.character_encoder = character_encoder
        self.max_characters = max_characters
        # Made with the first words that are cached, and kept: graphs hold on to them. The
        # boundaries come first among the embeddings, which are none when nothing is cached.
        self._places = self._cached = None
        self._uses_cache = True
        self._compile()

    def encode_ids(self, ids, **kwargs):
        """Character ids to embeddings, the two sentence boundaries before them.

        Args:
            ids: int32, (words, max_characters).
            **kwargs: what the character encoder takes beside them.

        Returns:
            float, (2 + words, projection_dim).
        """
        boundaries = text.boundary_character_ids(self.max_characters)
        return self.character_encoder(tf.concat([boundaries, ids], 0), **kwargs)

    def encode(self, words):
        """Words to embeddings, the two sentence boundaries before them.

        Args:
            words: string, (words,).

        Returns:
            float, (2 + words, projection_dim).
        """
        if self._places is None or not self._uses_cache:
            return self.encode_ids(text.character_ids(words, self.max_characters))
        # Of the boundaries and the words, the places among what is cached; -1 where they are not.
        is_cached = tf.shape(self._cached)[0] > 0
        boundaries = tf.where(is_cached, [0, 1], [-1, -1])
        found = tf.concat([tf.cast(boundaries, tf.int64), self._places.lookup(words)], 0)
        hits, misses = tf.where(found >= 0)[:, 0], tf.where(found < 0)[:, 0]
        encoded = tf.where(is_cached, 0, 2)  # boundaries among the misses
        missing = text.character_ids(tf.gather(words, misses[encoded:] - 2), self.max_characters)
        boundary_ids = text.boundary_character_ids(self.max_characters)[:encoded]
        embeddings = [
            self.character_encoder(tf.concat([boundary_ids, missing], 0)),
            tf.gather(self._cached, tf.gather(found, hits)),
        ]
        return tf.dynamic_stitch([tf.cast(p, tf.int32) for p in (misses, hits)], embeddings)

    def encode_all(self, words):
        """Like `encode`, eagerly, for any number of distinct words.

        Args:
            words: list of bytes, best sorted by length: the encoder cuts its characters to the
                longest word of a call.
        """
        starts = range(0, max(len(words), 1), _WORDS_PER_CALL)
        calls = [
            self.compiled_encode(tf.constant(words[start : start + _WORDS_PER_CALL], tf.string))
            for start in starts
        ]
        return tf.concat([calls[0][:2], *(call[2:] for call in calls)], 0)

    def cache(self, words):
        """Keeps the embeddings of distinct words (a list of bytes) in the place of earlier ones."""
        self.forget()
        words = sorted(words, key=len)
        embeddings = self.encode_all(words)
        if self._places is None:
            self._places = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
            shape = (None, embeddings.shape[1])
            self._cached = tf.Variable(embeddings, trainable=False, shape=shape)
            self._compile()
        self._cached.assign(embeddings)
        places = tf.range(2, 2 + len(words), dtype=tf.int64)
        self._places.insert(tf.constant(words, tf.string), places)

    def forget(self):
        """Forgets the cached words, also in graphs that were made with them."""
        if self._places is not None:
            self._places.remove(self._places.export()[0])
            self._cached.assign(self._cached[:0])

    @contextlib.contextmanager
    def without_cache(self):
        """Graphs that are made inside encode every word."""
        self._uses_cache = False
        try:
            yield
        finally:
            self._uses_cache = True

    def _compile(self):
        signature = [tf.TensorSpec([None], tf.string)]
        self.compiled_encode = TracedFunction(self.encode, input_signature=signature)


def with_boundaries(index, row_lengths):
    """Sentences of words as rows of what `TokenEncoder.encode` gives, boundaries put around them.

    Args:
        index: int32, (N,). For each token of all sentences, its place among the words.
        row_lengths: int64, (batch,). Tokens of each sentence.

    Returns:
        int32, (batch, tokens + 2). 0 is begin of sentence (and padding), 1 end of sentence.
    """
    ragged = tf.RaggedTensor.from_row_lengths(index + 2, row_lengths, validate=False)
    grid = tf.pad(ragged.to_tensor(), [[0, 0], [1, 1]])
    position = tf.range(tf.shape(grid)[1], dtype=row_lengths.dtype)
    return tf.where(position == row_lengths[:, None] + 1, 1, grid)
