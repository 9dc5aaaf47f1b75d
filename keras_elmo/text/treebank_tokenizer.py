"""`TreebankTokenizer` and `WebTokenizer`: raw prose to words and punctuation."""

import keras

from keras_elmo.backend import tf
from keras_elmo.splitting import CONTINUATION, KEPT, RAW, TREEBANK_RULES
from keras_elmo.text.whitespace_tokenizer import WhitespaceTokenizer, blank_whitespace, cut_tokens

# Control bytes hide others from later rules, see there: a curly apostrophe has three bytes.
_FIRST_RULES = ((r"[\x00-\x03]", "\x04"), (r"\x{2019}", "'\x03\x03"))


@keras.saving.register_keras_serializable("keras_elmo")
class TreebankTokenizer(WhitespaceTokenizer):
    """Splits raw prose as the text of the 1 Billion Word benchmark is split.

    Splits on whitespace, and splits punctuation, symbols and clitics off words: `don 't`,
    `Europe 's`, `$ 5`, `7-6 ( 7 / 5 )`. Hyphenated words, numbers with commas, and abbreviations
    with their period stay whole. It only splits: no character is changed, and no token spans
    whitespace. Text that is split like this already does not change, nor do the tokens of raw prose
    when they are joined by spaces and split again. See `WhitespaceTokenizer` for `ops`.

    Example:

    >>> TreebankTokenizer().tokenize(["They don't know."])
    <tf.RaggedTensor [[b'They', b'don', b"'t", b'know', b'.']]>

    Reference: Chelba et al. 2014, "One Billion Word Benchmark", whose text was split by the Moses
    tokeniser (Koehn et al. 2007) with its English rules.
    """

    keeps_punctuation = False
    in_python = "treebank"

    def _tokenize(self, strings, split):
        blank = blank_whitespace(strings)
        spaced = tf.strings.join([" ", self._hide(blank), " "])
        for rule in _FIRST_RULES:
            spaced = tf.strings.regex_replace(spaced, *rule)
        is_raw = tf.strings.regex_replace(spaced, RAW, "", replace_global=False) != spaced
        for rule in TREEBANK_RULES:
            replaced = tf.strings.regex_replace(spaced, *rule)
            spaced = tf.where(is_raw, spaced, replaced) if rule is CONTINUATION else replaced
        row_lengths, starts, ends = split(spaced)
        # The rules inserted only spaces: the n-th byte of all tokens is the n-th byte of all words.
        # So the number of bytes before a token gives the word that it is in, and its offset there.
        _, word_starts, word_ends = split(blank)
        word_lengths = word_ends - word_starts
        words_before = tf.cumsum(word_lengths, exclusive=True)
        token_lengths = ends - starts
        before = tf.cumsum(token_lengths, exclusive=True)
        word = tf.searchsorted(words_before, before, side="right") - 1
        starts = tf.gather(word_starts, word) + before - tf.gather(words_before, word)
        return cut_tokens(strings, row_lengths, starts, starts + token_lengths)

    def _hide(self, strings):
        """Puts letters in the place of the bytes of what the rules must not split."""
        return strings


@keras.saving.register_keras_serializable("keras_elmo")
class WebTokenizer(TreebankTokenizer):
    """Splits as `TreebankTokenizer` does, but keeps what people write in messages whole.

    This is addresses (`http://t.co/abc`, `www.x.org`, `me@x.org`), `@names`, `#tags`, and emoticons
    such as `:)`, `;-)`, `:D` and `<3`. The text of the original has them split (`me @ x.org`), so
    take it where a label belongs to the whole, and `TreebankTokenizer` for other prose.

    Example:

    >>> WebTokenizer().tokenize(["@katy see http://t.co/abc :)"])
    <tf.RaggedTensor [[b'@katy', b'see', b'http://t.co/abc', b':)']]>
    """

    in_python = "web"

    def _hide(self, strings):
        strings = tf.strings.regex_replace(strings, "\x05", "\x04")
        parts = tf.strings.split(tf.strings.regex_replace(strings, KEPT, "\\1\x05\\2\x05"), "\x05")
        # What is kept lies between two marks: every second part.
        is_kept = tf.ragged.range(parts.row_lengths()).flat_values % 2 == 1
        letters = tf.strings.regex_replace(parts.flat_values, r"\C", "X")  # for each byte
        parts = parts.with_flat_values(tf.where(is_kept, letters, parts.flat_values))
        rows, count = parts.value_rowids(), tf.size(strings)
        return tf.strings.unsorted_segment_join(parts.flat_values, rows, count)
