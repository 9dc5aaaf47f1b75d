"""`WhitespaceTokenizer`, `SpaceTokenizer`, `CharacterTokenizer`: strings to tokens and offsets.

Two sets of operations give the same tokens. In graphs `ops="tensorflow-text"` uses
`RegexSplitWithOffsets`, which every TensorFlow Serving since 2.12 links; `ops="core"`, as eager
calls, only TensorFlow's own operations, which are traced in a fifth of the time and no slower.
"""

from typing import Any

import keras

from keras_elmo import splitting
from keras_elmo.backend import ON_TENSORFLOW, tf
from keras_elmo.checks import check_choice
from keras_elmo.process.traced_function import TracedFunction

# The characters that Python's str.split() takes for whitespace, by their number of bytes in UTF-8.
# RE2's own classes differ: \s lacks the vertical tab, and \p{Z} lacks the control characters.
_SPACES = {
    1: r"[ \t-\r\x1c-\x1f]",
    2: r"[\x{85}\x{a0}]",
    3: r"[\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]",
}
OPS = ("tensorflow-text", "core")


@keras.saving.register_keras_serializable("keras_elmo")
class WhitespaceTokenizer:
    """Splits strings on whitespace, as Python's `str.split()` does, on Unicode's spaces too.

    A token may consist of any bytes, including invalid UTF-8 and NUL.

    Args:
        ops: `"tensorflow-text"` or `"core"`; both give the same tokens. Where tensorflow-text is
            not installed, both are `"core"`.

    Example:

    >>> WhitespaceTokenizer().tokenize(["The cat  sat .", ""])
    <tf.RaggedTensor [[b'The', b'cat', b'sat', b'.'], []]>
    """

    splits_on_spaces = True  # so a text without spaces is one token
    keeps_punctuation = True  # as part of the word that it touches
    in_python = "whitespace"  # what splits in the same way in `keras_elmo.splitting`

    def __init__(self, ops: str = "tensorflow-text") -> None:
        check_choice(OPS, ops=ops)
        self.ops = ops
        self._traced = {}  # by the operations

    def tokenize(self, strings: Any) -> Any:
        """The tokens of strings, (batch,): a string `RaggedTensor`, (batch, None).

        On Keras's other backends it is a list of lists of bytes.
        """
        if not ON_TENSORFLOW:
            return [splitting.tokenize(string, self.in_python) for string in strings]
        return self.tokenize_with_offsets(strings)[0]

    def tokenize_with_offsets(self, strings: Any) -> tuple[Any, Any, Any]:
        """The tokens of strings, (batch,), and where they are in them.

        Returns:
            Three `RaggedTensor`s, (batch, None): the tokens (string), and for each token the index
            of its first byte and of the byte after its last (int64).
        """
        # Without a graph, an eager call takes ten times as long. Graphs call the traced function,
        # too: tracing the tokenizer anew would take a fifth of the time of tracing a whole model.
        ops = "core" if tf.executing_eagerly() else self.ops
        if ops not in self._traced:
            split = _split_core if ops == "core" else _split_by_text
            self._traced[ops] = TracedFunction(
                lambda strings: self._tokenize(strings, split),
                input_signature=[tf.TensorSpec([None], tf.string)],
            )
        return self._traced[ops](tf.convert_to_tensor(strings, tf.string))

    def _tokenize(self, strings, split):
        """See `tokenize_with_offsets`. `split` does what `_split_core` does."""
        return cut_tokens(strings, *split(blank_whitespace(strings)))

    def __getstate__(self):
        return {**self.__dict__, "_traced": {}}  # Graphs cannot be copied or pickled.

    def get_config(self):
        return {"ops": self.ops}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


@keras.saving.register_keras_serializable("keras_elmo")
class SpaceTokenizer(WhitespaceTokenizer):
    """Splits strings on the ASCII space alone. Tabs, line ends and Unicode's spaces are letters.

    This is for tokens that are joined by spaces, as TF Hub's `google/elmo` reads them.

    Example:

    >>> SpaceTokenizer().tokenize(["The  cat\\tsat ."])
    <tf.RaggedTensor [[b'The', b'cat\\tsat', b'.']]>
    """

    in_python = "space"

    def _tokenize(self, strings, split):
        return cut_tokens(strings, *split(strings))


@keras.saving.register_keras_serializable("keras_elmo")
class CharacterTokenizer(WhitespaceTokenizer):
    """Splits strings into their Unicode characters, without the spaces.

    This is for sequences such as proteins, whose letters are the tokens of SeqVec and catELMo, and
    for models of the characters of a language that is written without spaces. Bytes that are not
    UTF-8 are tokens, too. Both `ops` are the same here.

    Example:

    >>> CharacterTokenizer().tokenize(["MKT V", "日本"])
    <tf.RaggedTensor [[b'M', b'K', b'T', b'V'], [b'\\xe6\\x97\\xa5', b'\\xe6\\x9c\\xac']]>
    """

    splits_on_spaces = keeps_punctuation = False
    is_of_letters = True
    in_python = "characters"

    def _tokenize(self, strings, split):
        points, offsets = tf.strings.unicode_decode_with_offsets(
            blank_whitespace(strings), "UTF-8", errors="replace"
        )
        starts, rows = offsets.flat_values, offsets.value_rowids()  # (N,): of all characters
        # A character ends where the next one of its string begins, or with the string.
        lengths = tf.cast(tf.strings.length(strings), tf.int64)  # (batch,)
        is_last = tf.concat([rows[1:] != rows[:-1], [True]], 0)[: tf.size(rows)]
        following = tf.concat([starts[1:], [0]], 0)[: tf.size(rows)]
        ends = tf.where(is_last, tf.gather(lengths, rows), following)
        is_token = points.flat_values != ord(" ")
        row_lengths = tf.math.unsorted_segment_sum(
            tf.cast(is_token, tf.int64), rows, tf.size(strings)
        )
        return cut_tokens(strings, row_lengths, starts[is_token], ends[is_token])


def blank_whitespace(strings):
    """Replaces each whitespace character by ASCII spaces, one for each of its bytes."""
    for width, pattern in _SPACES.items():
        strings = tf.strings.regex_replace(strings, pattern, " " * width)
    return strings


def cut_tokens(strings, row_lengths, starts, ends):
    """The tokens, starts and ends as `RaggedTensor`s, from what `_split_core` returns."""
    # Cut from one string, all strings joined: `substr` of many would need a copy for each token.
    lengths = tf.cast(tf.strings.length(strings), tf.int64)  # (batch,)
    first_byte = tf.repeat(tf.cumsum(lengths, exclusive=True), row_lengths)  # (N,)
    tokens = tf.strings.substr(tf.strings.reduce_join(strings), first_byte + starts, ends - starts)
    return tuple(
        tf.RaggedTensor.from_row_lengths(values, row_lengths, validate=False)
        for values in (tokens, starts, ends)
    )


def _split_core(strings):
    """Splits strings, (batch,), on ASCII spaces, by comparing bytes.

    The results are int64: the number of tokens of each string, (batch,); and the offsets in its
    string where each token starts and ends, (N,), string by string.
    """
    # All strings are joined, with a space before each and one after the last, and read as bytes.
    joined = tf.strings.join(["", tf.strings.reduce_join(tf.strings.join([" ", strings])), " "])
    is_space = tf.equal(tf.io.decode_raw(joined, tf.uint8), ord(" "))  # (bytes,)
    changes = tf.where(is_space[1:] != is_space[:-1])[:, 0] + 1
    starts, ends = changes[0::2], changes[1::2]  # (N,), offsets in the joined string
    lengths = tf.cast(tf.strings.length(strings), tf.int64)
    first_byte = tf.cumsum(lengths + 1, exclusive=True) + 1  # (batch,)
    row = tf.searchsorted(first_byte, starts, side="right") - 1  # (N,)
    row_lengths = tf.math.bincount(row, minlength=tf.size(strings), dtype=tf.int64)
    shift = tf.gather(first_byte, row)
    return row_lengths, starts - shift, ends - shift


def _split_by_text(strings):
    """Does the same as `_split_core` with tensorflow-text, where this is installed."""
    try:
        import tensorflow_text
    except ImportError:  # It has no wheels for Windows and for the newest Pythons.
        return _split_core(strings)

    # The operation stops at NUL (tensorflow-text 2.21). The tokens are cut from the source.
    strings = tf.strings.regex_replace(strings, r"\x00", "\x01")
    _, starts, ends = tensorflow_text.regex_split_with_offsets(strings, " +")
    return starts.row_lengths(), starts.flat_values, ends.flat_values
