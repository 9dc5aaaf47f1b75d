"""Texts to tokens, in plain Python: what the tokenizers do without TensorFlow.

keras-elmo-lite has this file, too, so it imports nothing of the package. Tokens are bytes.
"""

import functools
import io
import itertools
import re
import unicodedata

# What Python's str.split() takes for whitespace, as bytes of UTF-8.
SPACE = re.compile(
    rb"[ \t-\r\x1c-\x1f]|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]"
    rb"|\xe2\x81\x9f|\xe3\x80\x80"
)
_NO_BYTE = re.compile("[\ud800-\udc7f\udd00-\udfff]")  # surrogates that do not stand for a byte
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_REPLACEMENT = "\ufffd"


def text_to_bytes(text):
    """Encodes a `str` as UTF-8; `bytes` are returned unchanged.

    A lone surrogate becomes the byte that it stands for (Python's `surrogateescape`), or else
    U+FFFD, since it is not text.
    """
    if isinstance(text, bytes):
        return bytes(text)
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return _NO_BYTE.sub(_REPLACEMENT, text).encode("utf-8", "surrogateescape")


# The rules of the tokenizers "treebank" and "web", as RE2 spells them, which TensorFlow runs.
# Classes such as \p{L} stand in brackets, as `_compiled` needs them.
#
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
RAW = (
    r'[\p{L}\p{N}\p{M}.,][;:!?")]|["(][\p{L}\p{N}]|[\p{L}\p{N}\p{M}], |[\p{L}\p{N}]{2}\. *$'
    r"|[^ '\x03]'\x03*[^\p{L}\x03]"
)
CONTINUATION = (r"([\p{L}\p{M}]) +'(\x03*[\p{L}])", "\\1 \x02\\2")  # for text that is not raw
TREEBANK_RULES = (
    # A symbol stands alone, with the marks that belong to it. So does a run of dots or of hyphens.
    (r"([^\p{L}\p{N}\p{M}\x{200c}\x{200d} .,'`\-\x03][\p{M}\x{200d}]*)", r" \1 "),
    (r"(\.{2,}|-{2,})", r" \1 "),
    # A comma stands alone, except inside a number.
    *[(r"([\p{N}]),([\p{N}])", "\\1\x01\\2")] * 2,
    (r",", r" , "),
    # don't -> don 't, Europe's -> Europe 's, the 1990's -> the 1990 's. Other apostrophes stand
    # alone. Text that is split already (don 't, do n't, O 'Brien, '') does not change.
    *[(r" ([nN])'(\x03*[tT]) ", " \\1\x02\\2 ")] * 2,
    *[(" '' ", " \x02\x02 ")] * 2,
    *[(r"([\p{L}\p{M}])'(\x03*[\p{L}])", "\\1 \x02\\2")] * 2,
    (r"([\p{N}]) *'(\x03*s)\b", "\\1 \x02\\2"),
    *[(rf" '(\x03*{_CLITIC}) ", " \x02\\1 ")] * 2,
    *[CONTINUATION] * 2,
    (r"('\x03*)", r" \1 "),
    # A period at the end of a word stands alone, except in U.S., before another part of a name
    # (J. K. R., Dr. No), before a small letter, and in No. 5.
    (r"(\.[\p{L}])\. ", "\\1\x01 "),
    *[(rf"\b({_ABBREVIATION})\.( +[^ ])", "\\1\x01\\2")] * 2,
    (r"\b(Nos?|pp?|Art)\.( +[\p{N}])", "\\1\x01\\2"),
    *[(r"([^ .])\.( +[\p{Ll}])", "\\1\x01\\2")] * 2,
    (r"([^ .])\. ", r"\1 . "),
)
# What "web" keeps whole, where it begins a word, perhaps after a bracket or a quote. Marks that
# follow do not belong to it. Letters outside of ASCII that follow do: no rule splits them off.
_END = r"(?:[A-Za-z0-9_/=&#%~+$-])"  # of an address
_WHOLE = "|".join(
    [
        rf'(?:[hH][tT]{{2}}[pP][sS]?://|[fF][tT][pP]://|[wW]{{3}}\.)[^ "<>]*{_END}',
        r"[A-Za-z0-9_][A-Za-z0-9_.%+-]*@[A-Za-z0-9][A-Za-z0-9.-]*\.[A-Za-z]+",
        rf'[A-Za-z0-9_][A-Za-z0-9_.-]*\.[A-Za-z]{{2,}}/(?:[^ "<>]*{_END})?',  # t.co/abc
        r"@[A-Za-z0-9_]+",
        r"#[0-9_]*[\p{L}][A-Za-z0-9_]*",
        r"[:;=][o'-]?(?:[()\[\]|/\\*]+\B|[DpPoO3]\b)",
        r"</?3\b",
    ]
)
KEPT = rf"""(^|[ (\["'\x{{201c}}\x{{2018}}])({_WHOLE})"""


# In Python the rules are for characters of these classes. A letter, number or mark outside of ASCII
# stands for all of its class; the rest that is not ASCII is a symbol. Bytes that are not UTF-8
# belong to no class, and no rule splits them off. (Python's Unicode may be older than TensorFlow's.
# What it does not know yet is a symbol.)
_LETTER, _SMALL_LETTER, _NUMBER, _MARK, _SYMBOL, _INVALID = "\ue000\ue001\ue002\ue003\ue004\ue005"
# A curly apostrophe; joiners, which are part of a word; and quotes, before which words begin.
_KEPT_CHARACTERS = "\u2019\u200c\u200d\u201c\u2018"


class _Classes(dict):
    """Code points to the characters that stand for their classes, for `str.translate`."""

    def __missing__(self, point):
        character = chr(point)
        category = unicodedata.category(character)
        if point < 128 or character in _KEPT_CHARACTERS:
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
_SPELLINGS = {
    r"\p{L}": f"A-Za-z{_LETTER}{_SMALL_LETTER}",
    r"\p{Ll}": f"a-z{_SMALL_LETTER}",
    r"\p{N}": f"0-9{_NUMBER}",
    r"\p{M}": _MARK,
    "[^": f"[^{_INVALID}",
}


@functools.cache
def _compiled(pattern):
    """A rule's pattern for text in the classes above."""
    pattern = re.sub(r"\\x\{(\w+)\}", lambda match: chr(int(match[1], 16)), pattern)
    for name, spelling in _SPELLINGS.items():
        pattern = pattern.replace(name, spelling)
    return re.compile(pattern, re.ASCII)


# A character of UTF-8; else the bytes of one that is cut short, which are one unknown character by
# Unicode's standard; else a byte.
_CHARACTER = re.compile(
    rb"[\x00-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]?"
    rb"|\xed[\x80-\x9f][\x80-\xbf]?|[\xe1-\xec\xee\xef][\x80-\xbf]{1,2}"
    rb"|\xf0[\x90-\xbf][\x80-\xbf]{0,2}|[\xf1-\xf3][\x80-\xbf]{1,3}"
    rb"|\xf4[\x80-\x8f][\x80-\xbf]{0,2}|[\x00-\xff]"
)


def _split_characters(text):
    characters = _CHARACTER.findall(SPACE.sub(b" ", text))
    return [character for character in characters if character != b" "]


def _split_treebank(text, kept=None):
    blank = SPACE.sub(b" ", text)
    # TensorFlow takes the bytes of a surrogate for a symbol. Python does not decode them.
    decoded = _SURROGATE.sub(_REPLACEMENT.encode(), blank).decode("utf-8", "surrogateescape")
    spaced = decoded.translate(_classes)
    if kept is not None:
        spaced = _compiled(kept).sub(lambda match: match[1] + "X" * len(match[2]), spaced)
    spaced = f" {spaced} ".replace("\u2019", "'\x03")
    is_raw = _compiled(RAW).search(spaced)
    for rule in TREEBANK_RULES:
        if not (is_raw and rule is CONTINUATION):
            spaced = _compiled(rule[0]).sub(rule[1], spaced)
    # The rules inserted only spaces, and a mark after each curly apostrophe.
    characters, source = iter(decoded.replace(" ", "")), io.BytesIO(blank.replace(b" ", b""))
    sizes = (len(token.replace("\x03", "")) for token in spaced.split(" "))
    tokens = ("".join(itertools.islice(characters, size)) for size in sizes)
    return [source.read(len(text_to_bytes(token))) for token in tokens]


TOKENIZERS = {
    "whitespace": lambda text: SPACE.sub(b" ", text).split(b" "),
    "treebank": _split_treebank,
    "web": lambda text: _split_treebank(text, KEPT),
    "space": lambda text: text.split(b" "),
    "characters": _split_characters,
}


def tokenize(text, tokenizer):
    """The tokens of a text, `str` or `bytes`, by a key of `TOKENIZERS`: a list of bytes."""
    return [token for token in TOKENIZERS[tokenizer](text_to_bytes(text)) if token]
