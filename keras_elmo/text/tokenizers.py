"""Raw strings to tokens and their byte offsets, inside the graph.

Two sets of operations give the same tokens: `ops="tensorflow-text"` uses
`RegexSplitWithOffsets`, which every TensorFlow Serving since 2.12 links; `ops="core"` uses
TensorFlow's own alone, for a graph that needs no op library.
"""

import keras
import tensorflow as tf

from keras_elmo.traced_function import TracedFunction

# What str.split() of Python takes for whitespace, by the number of bytes in UTF-8. RE2's \s has
# no vertical tab, and \p{Z} no control characters.
_SPACES = {
    1: r"[ \t-\r\x1c-\x1f]",
    2: r"[\x{85}\x{a0}]",
    3: r"[\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]",
}
OPS = ("tensorflow-text", "core")


@keras.saving.register_keras_serializable("keras_elmo")
class WhitespaceTokenizer:
    """Splits strings on whitespace, as Python's `str.split()` does: Unicode spaces too.

    Any bytes may stand between the spaces (invalid UTF-8, NUL).

    Args:
        ops: `"tensorflow-text"` or `"core"`; both give the same tokens.

    Example:

    >>> WhitespaceTokenizer().tokenize(["The cat  sat .", ""])
    <tf.RaggedTensor [[b'The', b'cat', b'sat', b'.'], []]>
    """

    def __init__(self, ops="tensorflow-text"):
        if ops not in OPS:
            raise ValueError(f"`ops` must be one of {list(OPS)}. Received: ops={ops!r}")
        self.ops = ops
        self._compiled = None

    def tokenize(self, strings):
        """The tokens of each string.

        Args:
            strings: string, (batch,).

        Returns:
            string `RaggedTensor`, (batch, None).
        """
        return self.tokenize_with_offsets(strings)[0]

    def tokenize_with_offsets(self, strings):
        """The tokens of each string, and where they are in it.

        Args:
            strings: string, (batch,).

        Returns:
            Three `RaggedTensor`s, (batch, None): the tokens (string), the byte where each starts
            and the byte after its last (int64).
        """
        strings = tf.convert_to_tensor(strings, tf.string)
        if not tf.executing_eagerly():
            return self._tokenize(strings)
        if self._compiled is None:  # op by op in Python it takes ten times as long
            signature = [tf.TensorSpec([None], tf.string)]
            self._compiled = TracedFunction(self._tokenize, input_signature=signature)
        return self._compiled(strings)

    def _tokenize(self, strings):
        row_lengths, starts, ends = self._split(_blank(strings))
        return _cut(strings, row_lengths, starts, ends)

    def _split(self, strings):
        """Splits on ASCII spaces: row lengths, and the flat starts and ends."""
        if self.ops == "core":
            return _split_core(strings)
        import tensorflow_text

        # The op stops at a NUL byte (tensorflow-text 2.21); the tokens are cut from the source,
        # so that another byte may stand in its place.
        strings = tf.strings.regex_replace(strings, r"\x00", "\x01")
        _, starts, ends = tensorflow_text.regex_split_with_offsets(strings, " +")
        return starts.row_lengths(), starts.flat_values, ends.flat_values

    def get_config(self):
        return {"ops": self.ops}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


@keras.saving.register_keras_serializable("keras_elmo")
class SpaceTokenizer(WhitespaceTokenizer):
    """Splits strings on the ASCII space alone: tabs, line ends and Unicode spaces are letters.

    For text that is tokenised with spaces, as TF Hub's `google/elmo` reads it.

    Args:
        ops: `"tensorflow-text"` or `"core"`; both give the same tokens.

    Example:

    >>> SpaceTokenizer().tokenize(["The  cat\\tsat ."])
    <tf.RaggedTensor [[b'The', b'cat\\tsat', b'.']]>
    """

    def _tokenize(self, strings):
        return _cut(strings, *self._split(strings))


# Rules that insert spaces, and no other byte: the bytes of a token stay in their order, and the
# tokens are cut out of the source by counting them. A rule may put a control byte in the place of
# another byte to keep later rules from it: 1 for a comma or a period inside a token, 2 for an
# apostrophe, and 3 for the other two bytes of a curly apostrophe. Matches do not overlap, so rules
# whose matches share a character run twice.
_CLITIC = r"(?:[sStTdDmM]|re|RE|ve|VE|ll|LL)"
_ABBREVIATION = (
    r"(?:[A-Z]|Mr|Mrs|Ms|Messrs|Mme|Mlle|Dr|Prof|Rev|Hon|Gen|Col|Maj|Capt|Cpl|Lt|Sgt|Adm|Cmdr"
    r"|Sen|Rep|Gov|Pres|Supt|Insp|St|Ste|Mt|Ft|Jr|Sr|Bros|Co|Corp|Inc|Ltd|vs|v|etc|cf|[Ff]ig"
    r"|[Vv]ol|approx|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)"
)
_TREEBANK_RULES = (
    (r"[\x00-\x03]", "\x04"),
    (r"\x{2019}", "'\x03\x03"),
    # Each symbol alone, with the marks that belong to it; runs of dots and of hyphens.
    (r"([^\p{L}\p{N}\p{M}\x{200c}\x{200d} .,'`\-\x03][\p{M}\x{200d}]*)", r" \1 "),
    (r"(\.{2,}|-{2,})", r" \1 "),
    # Commas alone, but inside numbers.
    *[(r"(\p{N}),(\p{N})", "\\1\x01\\2")] * 2,
    (r",", r" , "),
    # don't -> don 't, Europe's -> Europe 's, the 1990's -> the 1990 's; others alone. What is
    # split already (don 't) stays as it is.
    *[(r"([\p{L}\p{M}])'(\x03*\p{L})", "\\1 \x02\\2")] * 2,
    (r"(\p{N})'(\x03*s)\b", "\\1 \x02\\2"),
    *[(rf" '(\x03*{_CLITIC}) ", " \x02\\1 ")] * 2,
    (r"('\x03*)", r" \1 "),
    # A period at the end of a word stands alone, but in U.S., before more of a name (J. K. R.,
    # Dr. No), before a small letter, and in No. 5.
    (r"(\.\p{L})\. ", "\\1\x01 "),
    *[(rf"\b({_ABBREVIATION})\.( +[^ ])", "\\1\x01\\2")] * 2,
    (r"\b(Nos?|pp?|Art)\.( +\p{N})", "\\1\x01\\2"),
    *[(r"([^ .])\.( +\p{Ll})", "\\1\x01\\2")] * 2,
    (r"([^ .])\. ", r"\1 . "),
)


@keras.saving.register_keras_serializable("keras_elmo")
class TreebankTokenizer(WhitespaceTokenizer):
    """Splits raw prose as the text of the 1 Billion Word benchmark is split.

    Splits on whitespace, and parts punctuation, symbols and clitics from words: `don 't`,
    `Europe 's`, `$ 5`, `7-6 ( 7 / 5 )`. Hyphenated words, numbers with commas, and abbreviations
    with their period stay whole. It only splits: no character is changed, and no token spans
    whitespace. Text that is split like this already stays as it is.

    Args:
        ops: `"tensorflow-text"` or `"core"`; both give the same tokens.

    Example:

    >>> TreebankTokenizer().tokenize(["They don't know."])
    <tf.RaggedTensor [[b'They', b'don', b"'t", b'know', b'.']]>

    Reference: Chelba et al. 2014, "One Billion Word Benchmark", whose text was split by the Moses
    tokeniser (Koehn et al. 2007) with its English rules.
    """

    def _tokenize(self, strings):
        blank = _blank(strings)
        spaced = tf.strings.join([" ", blank, " "])
        for pattern, rewrite in _TREEBANK_RULES:
            spaced = tf.strings.regex_replace(spaced, pattern, rewrite)
        row_lengths, starts, ends = self._split(spaced)
        # The n-th byte of all tokens is the n-th byte of all words that is not a space.
        _, word_starts, word_ends = self._split(blank)
        word_lengths = word_ends - word_starts
        words_before = tf.cumsum(word_lengths, exclusive=True)
        token_lengths = ends - starts
        before = tf.cumsum(token_lengths, exclusive=True)
        word = tf.searchsorted(words_before, before, side="right") - 1
        starts = tf.gather(word_starts, word) + before - tf.gather(words_before, word)
        return _cut(strings, row_lengths, starts, starts + token_lengths)


# The names that `get` takes.
TOKENIZERS = {
    "whitespace": WhitespaceTokenizer,
    "treebank": TreebankTokenizer,
    "space": SpaceTokenizer,
}


def get(identifier):
    """A tokenizer by its name, its config, or itself.

    Args:
        identifier: `"whitespace"`, `"treebank"`, `"space"`, a tokenizer or a serialised
            one, or `None` for text that is tokenised already.

    Returns:
        A tokenizer, or `None`.
    """
    tokenizer = identifier
    if isinstance(identifier, dict):
        tokenizer = keras.saving.deserialize_keras_object(identifier)
    elif isinstance(identifier, str) and identifier in TOKENIZERS:
        tokenizer = TOKENIZERS[identifier]()
    if tokenizer is None or hasattr(tokenizer, "tokenize"):
        return tokenizer
    raise ValueError(
        '`tokenizer` must be "whitespace", "treebank", "space", None for tokenised text, or '
        f"an object with a method `tokenize`. Received: tokenizer={identifier!r}"
    )


def _blank(strings):
    """Every whitespace character as ASCII spaces, as many as it has bytes."""
    for width, pattern in _SPACES.items():
        strings = tf.strings.regex_replace(strings, pattern, " " * width)
    return strings


def _cut(strings, row_lengths, starts, ends):
    """The tokens between flat offsets, with those, as ragged tensors."""
    # From one string of all: a source for each token would be copied for each.
    lengths = tf.cast(tf.strings.length(strings), tf.int64)
    first_byte = tf.repeat(tf.cumsum(lengths, exclusive=True), row_lengths)
    tokens = tf.strings.substr(tf.strings.reduce_join(strings), first_byte + starts, ends - starts)
    return tuple(
        tf.RaggedTensor.from_row_lengths(values, row_lengths, validate=False)
        for values in (tokens, starts, ends)
    )


def _split_core(strings):
    """Splits on ASCII spaces by comparing bytes: row lengths, flat starts and ends (int64)."""
    # One string of all, a space before each and one after the last, as bytes.
    joined = tf.strings.join(["", tf.strings.reduce_join(tf.strings.join([" ", strings])), " "])
    is_space = tf.equal(tf.io.decode_raw(joined, tf.uint8), ord(" "))
    changes = tf.where(is_space[1:] != is_space[:-1])[:, 0] + 1
    starts, ends = changes[0::2], changes[1::2]
    lengths = tf.cast(tf.strings.length(strings), tf.int64)
    first_byte = tf.cumsum(lengths + 1, exclusive=True) + 1
    row = tf.searchsorted(first_byte, starts, side="right", out_type=tf.int64) - 1
    row_lengths = tf.math.bincount(
        tf.cast(row, tf.int32), minlength=tf.size(strings), dtype=tf.int64
    )
    shift = tf.gather(first_byte, row)
    return row_lengths, starts - shift, ends - shift
