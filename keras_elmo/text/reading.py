"""The one entrance for text: what a user passes, in any form, to sentences, and these to tokens.

`keras_elmo.strings` documents what each form means. `keras_elmo.text.tensors` makes tensors of it.
"""

import itertools
import re

import numpy as np

from keras_elmo import characters
from keras_elmo.backend import ON_TENSORFLOW, is_tensor, tf
from keras_elmo.checks import short_repr, warn
from keras_elmo.files.records import Words

# Bytes of a word that are read: a word also has a begin and an end.
MAX_WORD = characters.DEFAULT_MAX_CHARACTERS - 2
READ_AHEAD = 256  # sentences that are tokenised together: enough to hide the cost of a call
_RULE = (
    "Text must be a string, a list, an array or a tensor of strings, or, tokenised, a list of "
    "lists of strings, a padded (batch, tokens) array, or a RaggedTensor."
)
_MARK = r"[.,;:!?)]+"
# Three letters, or else abbreviations such as `Mr.` and numbers of lists would count, too.
_WORD_WITH_MARK = re.compile(rf"[^\W\d_]{{3}}{_MARK}(?!\S)")
_SEQUENCES = re.compile(r">.*\n[A-Za-z*.-]+(\n|$)|@.*\n.*\n\+")
_MARK_ALONE = re.compile(rf"(?<!\S){_MARK}(?!\S)")
_MANY_MARKS = 3


class Tokens(list):
    """Sentences that are known to be tokens, as lists of bytes: they are not checked again."""


def read_sentences(texts, tokenizer):
    """Text of any form, or batches of a `tf.data.Dataset`: an iterable for `as_sentence`."""
    if isinstance(texts, str | bytes):
        return [texts]
    if hasattr(texts, "element_spec"):  # a `tf.data.Dataset`
        batches = (batch[0] if isinstance(batch, tuple) else batch for batch in texts)
        return itertools.chain.from_iterable(read_sentences(b, tokenizer) for b in batches)
    if is_tensor(texts) or hasattr(texts, "__array__"):  # also pandas, pyarrow and polars
        texts = check_array(texts if is_tensor(texts) else np.asarray(texts))
        if is_tensor(texts) and isinstance(texts, tf.RaggedTensor):
            return Tokens(texts.to_list())
        array = np.atleast_1d(np.asarray(texts))
        return (array if tokenizer is None else raw_strings(array)).tolist()
    if isinstance(texts, dict) or not hasattr(texts, "__iter__"):
        raise TypeError(f"{_RULE} Received: {type(texts).__name__}")
    return texts


def list_sentences(texts, tokenizer):
    """Text of any form as a list, of which each is a string, or a list of tokens, bytes."""
    sentences = read_sentences(texts, tokenizer)
    if isinstance(sentences, Tokens):
        return sentences
    return [as_sentence(sentence, row) for row, sentence in enumerate(sentences)]


def check_array(texts):
    """An array or a tensor of strings with at most two axes, or an error."""
    if is_tensor(texts) and isinstance(texts, tf.SparseTensor):
        raise TypeError(f"{_RULE} Received: a SparseTensor; pass tf.sparse.to_dense(it, '')")
    # NumPy calls strings U, S, T (StringDType) and O. An empty array may have any dtype.
    is_array, dtype, shape = not is_tensor(texts), texts.dtype, texts.shape
    if (dtype.kind not in "USTO" and texts.size) if is_array else dtype != tf.string:
        raise TypeError(f"{_RULE} Received: an array or a tensor of dtype {dtype.name}")
    if (texts.ndim if is_array else shape.rank or 0) > 2:
        raise ValueError(f"{_RULE} Received: an array or a tensor of shape {tuple(shape)}")
    return texts


def raw_strings(texts):
    """An array or a tensor of raw strings, (), (batch,) or (batch, 1), without its second axis."""
    rank = texts.shape.rank if is_tensor(texts) else texts.ndim
    if rank == 2 and texts.shape[1] == 1:
        return texts[:, 0]
    if rank is None or rank > 1:
        raise ValueError(
            "Raw strings must have shape (), (batch,) or (batch, 1); pass tokens as lists or "
            "a RaggedTensor, or make the model with `tokenizer=None`. "
            f"Received: strings of shape {texts.shape}"
        )
    return texts


def as_sentence(sentence, row):
    """A sentence, the row of a text: a string, or a list of tokens, bytes, without padding."""
    if hasattr(sentence, "__array__"):
        sentence = np.asarray(sentence).tolist()
    if isinstance(sentence, str | bytes):
        return sentence
    if not isinstance(sentence, list | tuple):
        raise _not_text(sentence, f"row {row}")
    tokens = without_padding(sentence)
    for index, token in enumerate(tokens):
        if not isinstance(token, str | bytes):
            raise _not_text(token, f"token {index} of row {row}")
    tokens = [characters.text_to_bytes(token) for token in tokens]
    return Words(tokens) if isinstance(sentence, Words) else tokens


def without_padding(tokens):
    """The tokens of a sentence, a list, without the `""` at its end."""
    end = len(tokens)
    while end and isinstance(tokens[end - 1], str | bytes) and not tokens[end - 1]:
        end -= 1
    return tokens[:end]


def read_tokens(texts, tokenizer, max_tokens=None):
    """The first `max_tokens` tokens (or all) of each sentence: an iterator of lists of bytes."""
    sentences = read_sentences(texts, tokenizer)
    checks = [] if isinstance(sentences, Tokens) else None
    sentences, first = iter(sentences), 0
    while ahead := list(itertools.islice(sentences, READ_AHEAD)):
        ahead = [as_sentence(sentence, row) for row, sentence in enumerate(ahead, first)]
        checks = look_at(ahead, tokenizer, checks, may_refuse=first == 0)
        for tokens in _tokenize(ahead, tokenizer, first):
            yield tokens[:max_tokens]
        first += len(ahead)


def read_words(texts, tokenizer, max_tokens=None):
    """Like `read_tokens`, but lists of `str`. Bytes that are not UTF-8 are lone surrogates."""
    for tokens in read_tokens(texts, tokenizer, max_tokens):
        yield [token.decode("utf-8", "surrogateescape") for token in tokens]


def _tokenize(sentences, tokenizer, first):
    """The tokens of each sentence, lists of bytes. `first` is the row of the first, for errors."""
    raw = [index for index, sentence in enumerate(sentences) if not isinstance(sentence, list)]
    if not raw:
        return sentences
    if tokenizer is None:
        raise ValueError(
            "With `tokenizer=None` each sentence must be a list of tokens. "
            f"Received: {short_repr(sentences[raw[0]])} in row {first + raw[0]}"
        )
    texts = [characters.text_to_bytes(sentences[index]) for index in raw]
    tokens = dict(zip(raw, _split(texts, tokenizer), strict=True))
    return [tokens.get(index, sentence) for index, sentence in enumerate(sentences)]


def _split(texts, tokenizer):
    """The tokens of raw strings, a list of bytes: a list of lists of bytes."""
    if not ON_TENSORFLOW:
        return tokenizer.tokenize(texts)
    return tokenizer.tokenize(tf.constant(texts)).to_list()


def _not_text(value, place):
    """A `TypeError` for a value that is not a string, in a place such as `"row 3"`."""
    cure = ""
    # A missing text in a table is None, NaN, or pandas's NA.
    is_nan = isinstance(value, float | np.floating) and value != value
    if value is None or is_nan or type(value).__name__ == "NAType":
        cure = '; drop the rows without a text, or put "" in its place (pandas: `.fillna("")`)'
    elif hasattr(value, "text"):
        cure = "; pass the strings, of spaCy's tokens `[token.text for token in doc]`"
    return TypeError(
        f"{_RULE} Received: {short_repr(value)} ({type(value).__name__}) in {place}{cure}"
    )


def look_at(sentences, tokenizer, checks=None, may_refuse=True):
    """Warns of what looks like a mistake; returns the checks that are left for more sentences.

    Most tokens of the first sentences may be refused, but lists beside raw strings are meant so.
    """
    may_refuse = may_refuse and all(isinstance(sentence, list) for sentence in sentences)
    checks = _CHECKS if checks is None else checks
    return [check for check in checks if not check(sentences, tokenizer, may_refuse)]


# Each check says whether it is done, and need not look at further sentences.


def _check_long_words(sentences, tokenizer, may_refuse):
    """Warns of a raw string without spaces of which a model reads only the beginning."""
    for text in sentences if getattr(tokenizer, "splits_on_spaces", False) else ():
        data = characters.text_to_bytes(text) if isinstance(text, str | bytes) else b""
        shown = data.decode("utf-8", "replace") if len(data) > MAX_WORD else ""
        if len(shown.split(None, 1)) == 1:
            warn(
                "A text without spaces is one token, of which a model reads a beginning, usually "
                f'{MAX_WORD} bytes. For proteins take tokenizer="characters"; for a language '
                f"without spaces, pass lists of words. Received: {short_repr(shown)}"
            )
            return True
    return False


def _check_marks(sentences, tokenizer, may_refuse):
    """Warns of raw prose, where marks touch their words, and the tokenizer leaves them there."""
    if not getattr(tokenizer, "keeps_punctuation", False):
        return True
    raw = [text for text in sentences if not isinstance(text, list)]
    raw = [text.decode("utf-8", "replace") if isinstance(text, bytes) else text for text in raw]
    words = [word for text in raw for word in _WORD_WITH_MARK.finditer(text)]
    num_alone = sum(len(_MARK_ALONE.findall(text)) for text in raw)
    if len(words) >= _MANY_MARKS and len(words) > num_alone:
        start = words[0].string.rfind(" ", 0, words[0].start()) + 1
        warn(
            "Text that is split at spaces alone must have spaces around its punctuation marks. For "
            'raw prose set model.tokenizer = "treebank", or pass tokenizer="treebank". Received: '
            f"{short_repr(words[0].string[start : words[0].end()])} as a token, and "
            f"{len(words):,} such words"
        )
    return bool(raw)


def check_tokens(sentences, tokenizer, may_refuse=True):
    """Warns of tokens, bytes, that the tokenizer would split, or refuses where most are such."""
    if tokenizer is None:
        return False
    typed = [x for x in sentences if isinstance(x, list) and not isinstance(x, Words)]
    tokens = [token for tokens in typed for token in tokens]
    spaced = [token for token in tokens if len(token.decode("utf-8", "replace").split()) > 1]
    if not spaced:
        return False
    parts = zip(spaced, _split(spaced, tokenizer), strict=True)
    split = [token for token, tokens_of_it in parts if len(tokens_of_it) > 1]
    if not split:
        return False
    message = (
        "Lists of strings in a list are tokens, which are not split again, and must not hold "
        f"whitespace. Received: {short_repr(split[0].decode('utf-8', 'replace'))} as a token"
    )
    if may_refuse and 2 * len(split) > len(tokens):
        raise ValueError(
            f'{message}; pass raw strings as "a cat", not as ["a cat"]. Where these are tokens, '
            "pass `keras_elmo.strings(...)` of them, or make the model with `tokenizer=None`"
        )
    warn(
        f"{message}, and {len(split):,} of {len(tokens):,} tokens with whitespace. They are taken "
        "as they are; `keras_elmo.strings(...)` of them is taken without this warning"
    )
    return True


def _check_sequences(sentences, tokenizer, may_refuse):
    """Refuses FASTA and FASTQ whose lines are read as texts."""
    raw = "\n".join(text for text in sentences[:3] if isinstance(text, str))
    if getattr(tokenizer, "is_of_letters", False) and _SEQUENCES.match(raw):
        raise ValueError(
            "Sequences must be texts without lines of their ids; read FASTA with `format=fasta`, "
            f"and convert FASTQ to it. Received: {short_repr(sentences[0])} as a text"
        )
    return True


_CHECKS = [_check_long_words, _check_marks, _check_sequences, check_tokens]
