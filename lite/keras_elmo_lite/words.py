"""Texts to tokens, and tokens to character ids, in plain Python.

The tokens are those of the tokenizers of `keras_elmo.text`, and the ids those of
`keras_elmo.characters`. Tokens are bytes.
"""

import codecs
import functools
import io
import itertools
import re
import struct
import unicodedata

import numpy as np

# What Python's str.split() takes for whitespace, as bytes of UTF-8.
_SPACE = re.compile(
    rb"[ \t-\r\x1c-\x1f]|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]"
    rb"|\xe2\x81\x9f|\xe3\x80\x80"
)
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
# What is not UTF-8 is one unknown character for each run of such bytes.
_ONE_UNKNOWN = "keras_elmo_lite.one_unknown"
codecs.register_error(_ONE_UNKNOWN, lambda error: ("\udcff", error.end))

_BEGIN_SENTENCE, _END_SENTENCE, _BEGIN_WORD, _END_WORD, _WORD_PADDING = range(257, 262)


_NO_BYTE = re.compile("[\ud800-\udc7f\udd00-\udfff]")  # surrogates that do not stand for a byte
_REPLACEMENT = "\ufffd"
_WORD_ROWS = 2**15  # of the table of word vectors
_MASK_64 = 2**64 - 1


def text_to_bytes(text):
    """Encodes a text as UTF-8. See `keras_elmo.characters`."""
    if isinstance(text, bytes):
        return text
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return _NO_BYTE.sub(_REPLACEMENT, text).encode("utf-8", "surrogateescape")


def to_strings(tokens):
    """Tokens, a list of bytes, as a list of `str`. Bytes that are not UTF-8 are lone surrogates."""
    return [token.decode("utf-8", "surrogateescape") for token in tokens]


def _split_whitespace(text):
    return _SPACE.sub(b" ", text).split(b" ")


def _split_space(text):
    return text.split(b" ")


# A character of UTF-8; else the bytes of one that is cut short, which are one unknown character by
# Unicode's standard; else a byte.
_CHARACTER = re.compile(
    rb"[\x00-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]?"
    rb"|\xed[\x80-\x9f][\x80-\xbf]?|[\xe1-\xec\xee\xef][\x80-\xbf]{1,2}"
    rb"|\xf0[\x90-\xbf][\x80-\xbf]{0,2}|[\xf1-\xf3][\x80-\xbf]{1,3}"
    rb"|\xf4[\x80-\x8f][\x80-\xbf]{0,2}|[\x00-\xff]"
)


def _split_characters(text):
    characters = _CHARACTER.findall(_SPACE.sub(b" ", text))
    return [character for character in characters if character != b" "]


# The Treebank tokenizer's rules are for characters of these classes. A letter, number or mark
# outside of ASCII stands for all of its class; the rest that is not ASCII is a symbol. Bytes that
# are not UTF-8 belong to no class, and no rule splits them off. (Python's Unicode may be older than
# TensorFlow's. What it does not know yet is a symbol.)
_LETTER, _SMALL_LETTER, _NUMBER, _MARK, _SYMBOL, _INVALID = "\ue000\ue001\ue002\ue003\ue004\ue005"
# A curly apostrophe; joiners, which are part of a word; and quotes, before which words begin.
_KEPT = "\u2019\u200c\u200d\u201c\u2018"


class _Classes(dict):
    """Code points to the characters that stand for their classes, for `str.translate`."""

    def __missing__(self, point):
        character = chr(point)
        category = unicodedata.category(character)
        if point < 128 or character in _KEPT:
            stands = character
        elif 0xDC80 <= point <= 0xDCFF:  # a byte that is not UTF-8
            stands = _INVALID
        elif category == "Ll":
            stands = _SMALL_LETTER
        else:
            stands = {"L": _LETTER, "N": _NUMBER, "M": _MARK}.get(category[0], _SYMBOL)
        self[point] = stands
        return stands


_classes = _Classes({point: "\x04" for point in range(4)})
_L, _N = f"A-Za-z{_LETTER}{_SMALL_LETTER}", f"0-9{_NUMBER}"
_CLITIC = "(?:[sStTdDmM]|re|RE|ve|VE|ll|LL)"
_ABBREVIATION = (
    "(?:[A-Z]|Mr|Mrs|Ms|Messrs|Mme|Mlle|Dr|Prof|Rev|Hon|Gen|Col|Maj|Capt|Cpl|Lt|Sgt|Adm|Cmdr"
    "|Sen|Rep|Gov|Pres|Supt|Insp|St|Ste|Mt|Ft|Jr|Sr|Bros|Co|Corp|Inc|Ltd|vs|v|etc|cf|[Ff]ig"
    "|[Vv]ol|approx|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)"
)
_CONTINUATION = (f"([{_L}{_MARK}]) +'(\x03*[{_L}])", "\\1 \x02\\2")  # for text that is not raw
_RAW = re.compile(
    f'[{_L}{_N}{_MARK}.,][;:!?")]|["(][{_L}{_N}]|[{_L}{_N}{_MARK}], |[{_L}{_N}]{{2}}\\. *$'
    f"|[^ '{_INVALID}\x03]'\x03*[^{_L}{_INVALID}\x03]"
)
# The rules of `keras_elmo.text.treebank_tokenizer`, in the classes above. They insert spaces, and
# hide characters from later rules: 1 is a comma or period inside a token, 2 an apostrophe.
_TREEBANK_RULES = [
    (re.compile(pattern), rewrite)
    for pattern, rewrite in [
        (f"([^{_L}{_N}{_MARK}{_INVALID}\u200c\u200d .,'`\\-\x03][{_MARK}\u200d]*)", r" \1 "),
        (r"(\.{2,}|-{2,})", r" \1 "),
        *[(f"([{_N}]),([{_N}])", "\\1\x01\\2")] * 2,
        (",", " , "),
        *[(" ([nN])'(\x03*[tT]) ", " \\1\x02\\2 ")] * 2,
        *[(" '' ", " \x02\x02 ")] * 2,
        *[(f"([{_L}{_MARK}])'(\x03*[{_L}])", "\\1 \x02\\2")] * 2,
        (rf"([{_N}]) *'(\x03*s)\b", "\\1 \x02\\2"),
        *[(f" '(\x03*{_CLITIC}) ", " \x02\\1 ")] * 2,
        *[_CONTINUATION] * 2,
        ("('\x03*)", r" \1 "),
        (rf"(\.[{_L}])\. ", "\\1\x01 "),
        *[(rf"\b({_ABBREVIATION})\.( +[^ {_INVALID}])", "\\1\x01\\2")] * 2,
        (rf"\b(Nos?|pp?|Art)\.( +[{_N}])", "\\1\x01\\2"),
        *[(rf"([^ .{_INVALID}])\.( +[a-z{_SMALL_LETTER}])", "\\1\x01\\2")] * 2,
        (rf"([^ .{_INVALID}])\. ", r"\1 . "),
    ]
]


# What the tokenizer "web" keeps whole.
_END = r"(?:[A-Za-z0-9_/=&#%~+$-])"  # of an address
_WHOLE = "|".join(
    [
        rf'(?:[hH][tT]{{2}}[pP][sS]?://|[fF][tT][pP]://|[wW]{{3}}\.)[^ "<>{_INVALID}]*{_END}',
        r"[A-Za-z0-9_][A-Za-z0-9_.%+-]*@[A-Za-z0-9][A-Za-z0-9.-]*\.[A-Za-z]+",
        rf'[A-Za-z0-9_][A-Za-z0-9_.-]*\.[A-Za-z]{{2,}}/(?:[^ "<>{_INVALID}]*{_END})?',
        r"@[A-Za-z0-9_]+",
        rf"#[0-9_]*[{_L}][A-Za-z0-9_]*",
        r"[:;=][o'-]?(?:[()\[\]|/\\*]+\B|[DpPoO3]\b)",
        r"</?3\b",
    ]
)
_WHOLE_WORD = re.compile(rf"""(^|[ (\["'\u201c\u2018])({_WHOLE})""", re.ASCII)


def _split_web(text):
    return _split_treebank(text, lambda words: _WHOLE_WORD.sub(_hide, words))


def _hide(match):
    return match[1] + "X" * len(match[2])


def _split_treebank(text, hide=str):
    blank = _SPACE.sub(b" ", text)
    # TensorFlow takes the bytes of a surrogate for a symbol. Python does not decode them.
    decoded = _SURROGATE.sub(_REPLACEMENT.encode(), blank).decode("utf-8", "surrogateescape")
    spaced = hide(decoded.translate(_classes)).replace("\u2019", "'\x03")
    spaced = f" {spaced} "
    is_raw = _RAW.search(spaced)
    for pattern, rewrite in _TREEBANK_RULES:
        if not (is_raw and pattern.pattern == _CONTINUATION[0]):
            spaced = pattern.sub(rewrite, spaced)
    # The rules inserted only spaces, and a mark after each curly apostrophe.
    characters, source = iter(decoded.replace(" ", "")), io.BytesIO(blank.replace(b" ", b""))
    sizes = (len(token.replace("\x03", "")) for token in spaced.split(" "))
    tokens = ("".join(itertools.islice(characters, size)) for size in sizes)
    return [source.read(len(text_to_bytes(token))) for token in tokens]


TOKENIZERS = {
    "whitespace": _split_whitespace,
    "treebank": _split_treebank,
    "web": _split_web,
    "space": _split_space,
    "characters": _split_characters,
}


def tokenize(text, tokenizer):
    """The tokens of a text, a list of bytes.

    Args:
        text: str or bytes.
        tokenizer: a key of `TOKENIZERS`.
    """
    return [token for token in TOKENIZERS[tokenizer](text_to_bytes(text)) if token]


def spans(text, tokens, tokenizer):
    """Where the tokens of a text are: pairs of the first character, and the one after the last.

    Args:
        text: str.
        tokens: list of bytes, what `tokenize` gives for it.
        tokenizer: a key of `TOKENIZERS`.
    """
    data, end, result = text_to_bytes(text), 0, []
    if tokenizer != "space":  # Only spaces stand between the tokens then.
        data = _SPACE.sub(lambda match: b" " * len(match[0]), data)
    sizes = [len(text_to_bytes(character)) for character in text]
    character_at = np.repeat(np.arange(len(text) + 1), [*sizes, 1])  # by the index of a byte
    for token in tokens:
        start = data.index(token, end)
        end = start + len(token)
        result.append((int(character_at[start]), int(character_at[end])))
    return result


@functools.lru_cache(2**16)
def word_row(word):
    """The row of a word, bytes, in the table of word vectors of a classifier or tagger.

    keras_elmo has it from `tf.strings.lower`, which ends a word at a NUL, and
    `to_hash_bucket_strong`. Python may not know the small letters of a later Unicode.
    """
    lower = word.split(b"\0")[0].decode("utf-8", "replace").lower().encode()
    return _siphash(lower) % _WORD_ROWS


def _siphash(data):
    """SipHash-2-4 with the key 0. Reference: Aumasson and Bernstein 2012."""
    a, b, c, d = 0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573
    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) % 256])
    blocks = [block for (block,) in struct.iter_unpack("<Q", padded)]
    for block in [*blocks, None]:  # and what ends the hash
        c ^= 0xFF if block is None else 0
        d ^= block or 0
        for _ in range(4 if block is None else 2):
            a, c = (a + b) & _MASK_64, (c + d) & _MASK_64
            b, d = _rotate(b, 13) ^ a, _rotate(d, 16) ^ c
            a, c = (_rotate(a, 32) + d) & _MASK_64, (c + b) & _MASK_64
            b, d, c = _rotate(b, 17) ^ c, _rotate(d, 21) ^ a, _rotate(c, 32)
        a ^= block or 0
    return a ^ b ^ c ^ d


def _rotate(number, bits):
    return ((number << bits) | (number >> (64 - bits))) & _MASK_64


class ByteScheme:
    """The original's character ids: bytes + 1. See `keras_elmo.characters`."""

    def __init__(self, max_characters):
        self.ids_per_token = max_characters
        self._room = max_characters - 2

    def boundaries(self):
        """The rows of `<S>` and `</S>`: int32, (2, ids_per_token)."""
        return self._rows([[_BEGIN_SENTENCE], [_END_SENTENCE]])

    def ids(self, words):
        """Words, a list of bytes, to int32, (words, ids_per_token)."""
        return self._rows([[byte + 1 for byte in word[: self._room]] for word in words])

    def _rows(self, words):
        rows = np.full((len(words), self.ids_per_token), _WORD_PADDING, np.int32)
        for row, characters in zip(rows, words, strict=True):
            row[: len(characters) + 2] = [_BEGIN_WORD, *characters, _END_WORD]
        return rows


class DictionaryScheme:
    """The ids of ELMoForManyLangs, by a model's dictionary. See `keras_elmo.characters`."""

    def __init__(self, characters, words, max_characters):
        self._characters = {entry: index + 1 for index, entry in enumerate(characters)}
        self._words = words and {entry: index + 1 for index, entry in enumerate(words)}
        self._room = max_characters - 2
        self.ids_per_token = max_characters + (words is not None)

    def boundaries(self):
        """See `ByteScheme`."""
        return self.ids([b"<bos>", b"<eos>"])

    def ids(self, words):
        """See `ByteScheme`."""
        rows = [self._row(word.decode("utf-8", _ONE_UNKNOWN)[: self._room]) for word in words]
        return np.array(rows, np.int32).reshape(len(words), self.ids_per_token)

    def _row(self, word):
        body = [word] if word in ("<bos>", "<eos>") else word
        row = ["<eow>", *body, "<bow>"]  # the original has the two marks swapped
        row += ["<pad>"] * (self._room + 2 - len(row))
        unknown = self._characters["<oov>"]
        ids = [self._characters.get(character, unknown) for character in row]
        if self._words is not None:
            ids.append(self._words.get(word, self._words["<oov>"]))
        return ids


def scheme_of(options):
    """The character scheme of a model, by its options.json, a dict."""
    max_characters = options["char_cnn"]["max_characters_per_token"]
    if "dictionary" in options:
        return DictionaryScheme(**options["dictionary"], max_characters=max_characters)
    return ByteScheme(max_characters)
