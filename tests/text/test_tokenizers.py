import functools
import json
import re
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keras_elmo import SpaceTokenizer, TreebankTokenizer, WhitespaceTokenizer, text

TOKENIZERS = [WhitespaceTokenizer, TreebankTokenizer, SpaceTokenizer]
OPS = ["tensorflow-text", "core"]
SPACES = " \t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000"
NO_SPACES = "\u200b\u180e\ufeff\u2060\u200d\x08\x1b\x84\x86\x9f\xa1"  # Python does not split here
PUNCTUATION = ".,;:!?'\u2019\"-$%()&@/\u2026\x00\x01\x02\x03\x04"
LETTERS = "aAtTsS09éИ猫ह\u093f\u0301😀"


@functools.cache  # each traces a graph
def tokenizer_of(kind, ops="tensorflow-text"):
    return kind(ops)


texts = st.text(
    st.sampled_from(SPACES + NO_SPACES + PUNCTUATION + LETTERS)
    | st.characters(exclude_categories=["Cs"])
)
# Random bytes, with many that are part of a space.
noise = st.lists(
    st.binary(max_size=4)
    | st.sampled_from([space.encode() for space in SPACES])
    | st.sampled_from(
        [b"\xc2", b"\xe2", b"\xe2\x80", b"\xe1\x9a", b"\xe3\x80", b"\x00", b"'s", b"."]
    )
).map(b"".join)


def split(tokenizer, strings):
    return tokenizer.tokenize(tf.constant(strings, tf.string)).to_list()


def python_split(string):
    words = string.decode("utf-8", "surrogateescape").split()
    return [word.encode("utf-8", "surrogateescape") for word in words]


# Splitting on whitespace


@settings(deadline=None, max_examples=100)
@given(st.lists(texts, max_size=4))
@example(["two\u00a0words", "", SPACES, f"a{SPACES}b"])
def test_whitespace_splits_text_as_python_does(strings):
    assert split(tokenizer_of(WhitespaceTokenizer), strings) == [
        [word.encode() for word in string.split()] for string in strings
    ]


@settings(deadline=None, max_examples=100)
@given(st.lists(noise, max_size=4))
def test_whitespace_splits_any_bytes_as_python_does(strings):
    assert split(tokenizer_of(WhitespaceTokenizer), strings) == [
        python_split(string) for string in strings
    ]


@pytest.mark.parametrize("space", SPACES, ids=lambda space: f"U+{ord(space):04X}")
def test_every_space_of_python_splits(space):
    assert split(tokenizer_of(WhitespaceTokenizer), [f"two{space}words"]) == [[b"two", b"words"]]


@pytest.mark.parametrize("other", NO_SPACES, ids=lambda other: f"U+{ord(other):04X}")
def test_what_python_does_not_split_stays_whole(other):
    assert split(tokenizer_of(WhitespaceTokenizer), [f"one{other}word"]) == [
        [f"one{other}word".encode()]
    ]


@settings(deadline=None, max_examples=100)
@given(st.lists(noise, max_size=4))
@example([b"two\xc2\xa0words", b"", b"a \tb  c\n"])
def test_space_splits_any_bytes_on_the_space_alone(strings):
    expected = [[word for word in string.split(b" ") if word] for string in strings]
    assert split(tokenizer_of(SpaceTokenizer), strings) == expected


@settings(deadline=None, max_examples=80)
@given(st.lists(noise, max_size=5), st.sampled_from(TOKENIZERS))
def test_both_sets_of_ops_give_the_same(strings, tokenizer):
    strings = tf.constant(strings, tf.string)
    ours, core = (tokenizer_of(tokenizer, ops).tokenize_with_offsets(strings) for ops in OPS)
    for one, other in zip(ours, core, strict=True):
        assert one.dtype == other.dtype
        assert one.to_list() == other.to_list()


@settings(deadline=None, max_examples=80)
@given(st.lists(noise, max_size=5), st.sampled_from(TOKENIZERS), st.sampled_from(OPS))
def test_offsets_cut_the_tokens_from_the_source(strings, tokenizer, ops):
    tokens, starts, ends = tokenizer_of(tokenizer, ops).tokenize_with_offsets(
        tf.constant(strings, tf.string)
    )
    assert starts.dtype == ends.dtype == tf.int64
    for string, *row in zip(
        strings, tokens.to_list(), starts.to_list(), ends.to_list(), strict=True
    ):
        assert row[0] == [string[start:end] for start, end in zip(*row[1:], strict=True)]
        places = [place for pair in zip(*row[1:], strict=True) for place in pair]
        assert places == sorted(places), "tokens stand in order and do not overlap"
        assert all(row[0]), "no token is empty"


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@pytest.mark.parametrize("ops", OPS)
class TestEdges:
    def test_empty_batch(self, tokenizer, ops):
        tokens = tokenizer(ops).tokenize(tf.constant([], tf.string))
        assert tokens.to_list() == [] and tokens.dtype == tf.string

    @pytest.mark.parametrize("string", ["", " ", "\n\t \u3000"])
    def test_strings_without_words(self, tokenizer, ops, string):
        if tokenizer is SpaceTokenizer:
            string = " " * len(string)
        assert split(tokenizer(ops), [string]) == [[]]
        assert split(tokenizer(ops), [string, "a b", string]) == [[], [b"a", b"b"], []]

    def test_nul_bytes_do_not_end_a_string(self, tokenizer, ops):
        (tokens,) = split(tokenizer(ops), [b"a\x00 b\x00\x00 \x00 c"])
        assert b"".join(tokens) == b"a\x00b\x00\x00\x00c"
        assert tokens[-1] == b"c"

    def test_invalid_utf8_comes_through(self, tokenizer, ops):
        assert split(tokenizer(ops), [b"\xff\xfe x\xe2 \x80"]) == [[b"\xff\xfe", b"x\xe2", b"\x80"]]

    def test_words_of_ten_thousand_bytes(self, tokenizer, ops):
        words = [b"a" * 10_000, "é".encode() * 5_000]
        assert split(tokenizer(ops), [b" ".join(words), b"b"]) == [words, [b"b"]]

    def test_inside_a_graph_of_any_batch(self, tokenizer, ops):
        graph = tf.function(
            tokenizer_of(tokenizer, ops).tokenize_with_offsets,
            input_signature=[tf.TensorSpec([None], tf.string)],
        )
        for strings in ([], [""], ["a  b", "", "\u00a0c"]):
            strings = tf.constant(strings, tf.string)
            eager = tokenizer_of(tokenizer, ops).tokenize_with_offsets(strings)
            for one, other in zip(graph(strings), eager, strict=True):
                assert one.to_list() == other.to_list()

    def test_memory_of_a_long_line_does_not_grow_with_its_square(self, tokenizer, ops):
        resource = pytest.importorskip("resource")

        def highest():
            unit = 1 if sys.platform == "darwin" else 1024
            return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        tokenizer(ops).tokenize(tf.constant(["warm up"]))
        before = highest()
        (tokens,) = split(tokenizer(ops), ["words " * 20_000])
        assert tokens == [b"words"] * 20_000
        # A copy of the line for each of its tokens would be 2.4e9 bytes.
        assert highest() - before < 0.5e9


# Splitting prose, as the text of the 1 Billion Word benchmark is split

PROSE = {
    "They don't know.": "They don 't know .",
    "We'll say I'm sure they've won, she'd think; you're it.": (
        "We 'll say I 'm sure they 've won , she 'd think ; you 're it ."
    ),
    "ALL CAPS DON'T, IT'S": "ALL CAPS DON 'T , IT 'S",
    "Europe's largest banks' profits": "Europe 's largest banks ' profits",
    "the 1990's": "the 1990 's",
    "Don 't split Europe 's again": "Don 't split Europe 's again",
    "Don\u2019t, it\u2019s": "Don \u2019t , it \u2019s",
    "\u201cCurly,\u201d she said.": "\u201c Curly , \u201d she said .",
    '"Quoted," he said.': '" Quoted , " he said .',
    '"He left."': '" He left . "',
    'He said "don\'t".': 'He said " don \'t " .',
    "It cost $5.50, not £1,000,000.": "It cost $ 5.50 , not £ 1,000,000 .",
    "Up 3.5% to 1,234.": "Up 3.5 % to 1,234 .",
    "5,000 and 1,2,3, ok": "5,000 and 1,2,3 , ok",
    "Mr. Smith met Dr. No in Washington, D.C., today.": (
        "Mr. Smith met Dr. No in Washington , D.C. , today ."
    ),
    "He is in the U.S.": "He is in the U.S.",
    "Fruit, e.g. apples, i.e. pears, etc.": "Fruit , e.g. apples , i.e. pears , etc .",
    "J. R. R. Tolkien and J.K. Rowling": "J. R. R. Tolkien and J.K. Rowling",
    "At 7 p.m. on Jan. 5": "At 7 p.m. on Jan. 5",
    "No. 5 is on p. 7. No.": "No. 5 is on p. 7 . No .",
    "He is 5. She is 6.": "He is 5 . She is 6 .",
    "Wait... what....": "Wait ... what ....",
    "Well -- yes--no - maybe": "Well -- yes -- no - maybe",
    "(see below) [sic] {x}": "( see below ) [ sic ] { x }",
    "He left.) Really?!": "He left . ) Really ? !",
    "a well-known 6-3, 7-6 (7/5)": "a well-known 6-3 , 7-6 ( 7 / 5 )",
    "AT&T and/or me@example.com": "AT & T and / or me @ example.com",
    "I am here 😀👍!": "I am here 😀 👍 !",
    "thumbs 👍\U0001f3fd 👩\u200d💻": "thumbs 👍 \U0001f3fd 👩\u200d 💻",
    "cafe\u0301, nai\u0308ve.": "cafe\u0301 , nai\u0308ve .",
    "हिन्दी में लिखा है।": "हिन्दी में लिखा है ।",
    "½ price, 10° C…": "½ price , 10 ° C …",
    "Wow!!!": "Wow ! ! !",
}


@pytest.mark.parametrize("ops", OPS)
def test_prose_is_split_as_written_here(ops):
    tokens = split(TreebankTokenizer(ops), list(PROSE))
    joined = [b" ".join(row).decode() for row in tokens]
    assert joined == list(PROSE.values())


def test_split_prose_stays_as_it_is():
    tokens = split(tokenizer_of(TreebankTokenizer), list(PROSE.values()))
    assert [b" ".join(row).decode() for row in tokens] == list(PROSE.values())


def test_sentences_of_the_benchmark_stay_as_they_are(shared):
    file = shared / "fixtures" / "allennlp" / "sentences.json"
    batches = json.loads(file.read_text(encoding="utf-8"))
    sentences = [sentence for batch in batches for sentence in batch]
    assert len(sentences) == 30
    assert split(tokenizer_of(TreebankTokenizer), sentences) == [
        [token.encode() for token in sentence.split()] for sentence in sentences
    ]


@settings(deadline=None, max_examples=100)
@given(st.lists(texts, max_size=4))
@example(["a,b,c,,1,2,3,d''t ’s ’’s 's's . .. ..."])
def test_prose_loses_nothing_but_whitespace(strings):
    for string, tokens in zip(
        strings, split(tokenizer_of(TreebankTokenizer), strings), strict=True
    ):
        assert b"".join(tokens) == b"".join(python_split(string.encode()))


@settings(deadline=None, max_examples=100)
@given(st.lists(noise, max_size=4))
def test_tokens_of_prose_are_parts_of_words(strings):
    rows = split(tokenizer_of(TreebankTokenizer), strings)
    for string, tokens in zip(strings, rows, strict=True):
        assert b"".join(tokens) == b"".join(python_split(string))
        words = iter(python_split(string))
        word = b""
        for token in tokens:
            word = word or next(words)
            assert word.startswith(token), "a token spans two words"
            word = word[len(token) :]


@settings(deadline=None, max_examples=50)
@given(st.lists(texts, min_size=1, max_size=3))
def test_a_sentence_is_split_alike_alone_and_in_a_batch(strings):
    for tokenizer in TOKENIZERS:
        alone = [split(tokenizer_of(tokenizer), [string])[0] for string in strings]
        assert split(tokenizer_of(tokenizer), strings) == alone


# By name and by config


@pytest.mark.parametrize(
    "name, kind", zip(["whitespace", "treebank", "space"], TOKENIZERS, strict=True)
)
def test_tokenizer_by_name(name, kind):
    assert type(text.get_tokenizer(name)) is kind


def test_tokenizer_and_none_are_themselves():
    tokenizer = TreebankTokenizer()
    assert text.get_tokenizer(tokenizer) is tokenizer
    assert text.get_tokenizer(None) is None


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@pytest.mark.parametrize("ops", OPS)
def test_tokenizer_by_its_config(tokenizer, ops):
    config = json.loads(json.dumps(keras.saving.serialize_keras_object(tokenizer(ops))))
    restored = text.get_tokenizer(config)
    assert type(restored) is tokenizer
    assert restored.ops == ops
    assert restored.get_config() == {"ops": ops}


def test_own_tokenizer_is_taken():
    class Characters:
        def tokenize(self, strings):
            return tf.strings.bytes_split(strings)

    tokens = text.to_tokens(tf.constant(["ab"]), text.get_tokenizer(Characters()))
    assert tokens.to_list() == [[b"a", b"b"]]


@pytest.mark.parametrize("identifier", ["moses", "", 5, {"a": 1}, ["whitespace"], np.array(3)])
def test_no_tokenizer_is_refused(identifier):
    received = re.escape(f"Received: tokenizer={identifier!r}")
    with pytest.raises(
        ValueError, match=f'must be "whitespace", "treebank", "space", None.*{received}'
    ):
        text.get_tokenizer(identifier)


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@pytest.mark.parametrize("ops", ["tf", "", None])
def test_unknown_ops_are_refused(tokenizer, ops):
    with pytest.raises(ValueError, match=rf"'tensorflow-text', 'core'.*Received: ops={ops!r}"):
        tokenizer(ops)
