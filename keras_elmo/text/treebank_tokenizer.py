"""`TreebankTokenizer` and `WebTokenizer`: raw prose to words and punctuation."""

import keras
import tensorflow as tf

from keras_elmo.text.whitespace_tokenizer import WhitespaceTokenizer, blank_whitespace, cut_tokens

# Each rule only inserts spaces. So the bytes of a token stay in their order, and the tokens can be
# cut out of the source by counting bytes. A rule may also replace a byte by a control byte, to hide
# it from later rules: 1 stands for a comma or a period inside a token, 2 for an apostrophe, and 3
# for the other two bytes of a curly apostrophe. Matches do not overlap, so a rule whose matches may
# share a character runs twice.
_CLITIC = r"(?:[sStTdDmM]|re|RE|ve|VE|ll|LL)"
_ABBREVIATION = (
    r"(?:[A-Z]|Mr|Mrs|Ms|Messrs|Mme|Mlle|Dr|Prof|Rev|Hon|Gen|Col|Maj|Capt|Cpl|Lt|Sgt|Adm|Cmdr"
    r"|Sen|Rep|Gov|Pres|Supt|Insp|St|Ste|Mt|Ft|Jr|Sr|Bros|Co|Corp|Inc|Ltd|vs|v|etc|cf|[Ff]ig"
    r"|[Vv]ol|approx|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)"
)
# "O 'Brien" is what the rules make of "O'Brien", or the beginning of a quotation. It is a quotation
# where something in the text shows that the text is raw, since the rules would split it off: a
# mark, a comma or an apostrophe beside a word, or a period at the end of the text.
_RAW = (
    r'[\p{L}\p{N}\p{M}.,][;:!?")]|["(][\p{L}\p{N}]|[\p{L}\p{N}\p{M}], |[\p{L}\p{N}]{2}\. *$'
    r"|[^ '\x03]'\x03*[^\p{L}\x03]"
)
_CONTINUATION = (r"([\p{L}\p{M}]) +'(\x03*\p{L})", "\\1 \x02\\2")  # for text that is not raw
_FIRST_RULES = ((r"[\x00-\x03]", "\x04"), (r"\x{2019}", "'\x03\x03"))
_TREEBANK_RULES = (
    # A symbol stands alone, with the marks that belong to it. So does a run of dots or of hyphens.
    (r"([^\p{L}\p{N}\p{M}\x{200c}\x{200d} .,'`\-\x03][\p{M}\x{200d}]*)", r" \1 "),
    (r"(\.{2,}|-{2,})", r" \1 "),
    # A comma stands alone, except inside a number.
    *[(r"(\p{N}),(\p{N})", "\\1\x01\\2")] * 2,
    (r",", r" , "),
    # don't -> don 't, Europe's -> Europe 's, the 1990's -> the 1990 's. Other apostrophes stand
    # alone. Text that is split already (don 't, do n't, O 'Brien, '') does not change.
    *[(r" ([nN])'(\x03*[tT]) ", " \\1\x02\\2 ")] * 2,
    *[(" '' ", " \x02\x02 ")] * 2,
    *[(r"([\p{L}\p{M}])'(\x03*\p{L})", "\\1 \x02\\2")] * 2,
    (r"(\p{N}) *'(\x03*s)\b", "\\1 \x02\\2"),
    *[(rf" '(\x03*{_CLITIC}) ", " \x02\\1 ")] * 2,
    *[_CONTINUATION] * 2,
    (r"('\x03*)", r" \1 "),
    # A period at the end of a word stands alone, except in U.S., before another part of a name
    # (J. K. R., Dr. No), before a small letter, and in No. 5.
    (r"(\.\p{L})\. ", "\\1\x01 "),
    *[(rf"\b({_ABBREVIATION})\.( +[^ ])", "\\1\x01\\2")] * 2,
    (r"\b(Nos?|pp?|Art)\.( +\p{N})", "\\1\x01\\2"),
    *[(r"([^ .])\.( +\p{Ll})", "\\1\x01\\2")] * 2,
    (r"([^ .])\. ", r"\1 . "),
)
# What `WebTokenizer` keeps whole, where it begins a word, perhaps after a bracket or a quote. Marks
# that follow do not belong to it. Letters outside of ASCII that follow do: no rule splits them off.
_END = r"(?:[A-Za-z0-9_/=&#%~+$-])"  # of an address
_WHOLE = "|".join(
    [
        rf'(?:[hH][tT]{{2}}[pP][sS]?://|[fF][tT][pP]://|[wW]{{3}}\.)[^ "<>]*{_END}',
        r"[A-Za-z0-9_][A-Za-z0-9_.%+-]*@[A-Za-z0-9][A-Za-z0-9.-]*\.[A-Za-z]+",
        rf'[A-Za-z0-9_][A-Za-z0-9_.-]*\.[A-Za-z]{{2,}}/(?:[^ "<>]*{_END})?',  # t.co/abc
        r"@[A-Za-z0-9_]+",
        r"#[0-9_]*\p{L}[A-Za-z0-9_]*",
        r"[:;=][o'-]?(?:[()\[\]|/\\*]+\B|[DpPoO3]\b)",
        r"</?3\b",
    ]
)
_KEPT = (rf"""(^|[ (\["'\x{{201c}}\x{{2018}}])({_WHOLE})""", "\\1\x05\\2\x05")


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

    def _tokenize(self, strings, split):
        blank = blank_whitespace(strings)
        spaced = tf.strings.join([" ", self._hide(blank), " "])
        for rule in _FIRST_RULES:
            spaced = tf.strings.regex_replace(spaced, *rule)
        is_raw = tf.strings.regex_replace(spaced, _RAW, "", replace_global=False) != spaced
        for rule in _TREEBANK_RULES:
            replaced = tf.strings.regex_replace(spaced, *rule)
            spaced = tf.where(is_raw, spaced, replaced) if rule is _CONTINUATION else replaced
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

    def _hide(self, strings):
        strings = tf.strings.regex_replace(strings, "\x05", "\x04")
        parts = tf.strings.split(tf.strings.regex_replace(strings, *_KEPT), "\x05")
        # What is kept lies between two marks: every second part.
        is_kept = tf.ragged.range(parts.row_lengths()).flat_values % 2 == 1
        letters = tf.strings.regex_replace(parts.flat_values, r"\C", "X")  # for each byte
        parts = parts.with_flat_values(tf.where(is_kept, letters, parts.flat_values))
        rows, count = parts.value_rowids(), tf.size(strings)
        return tf.strings.unsorted_segment_join(parts.flat_values, rows, count)
