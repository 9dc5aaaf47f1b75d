"""Prose is split as the text of the 1 Billion Word benchmark is split."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from text.tokenizer_cases import EDGES, OPS, noise, python_split, split, texts, tokenizer_of

from keras_elmo import TreebankTokenizer, WebTokenizer

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
    "Mr. O'Brien, ma'am, rose at nine o'clock.": "Mr. O 'Brien , ma 'am , rose at nine o 'clock .",
    "They gave 'em the 'last word', y'all": "They gave ' em the ' last word ' , y 'all",
    "He said 'Stop it.": "He said ' Stop it .",
    '"Give \'em 5."': '" Give \' em 5 . "',
    "the 1980's-style l\u2019homme": "the 1980 's-style l \u2019homme",
}
WEB = {
    "@katy lol ur so funny 😂😂 #winning http://t.co/abc :)": (
        "@katy lol ur so funny 😂 😂 #winning http://t.co/abc :)"
    ),
    "RT @bob: see www.x.org/a_b?c=d,e. Write to me.too@mail.x-y.org!": (
        "RT @bob : see www.x.org/a_b?c=d,e . Write to me.too@mail.x-y.org !"
    ),
    "(https://en.wikipedia.org/wiki/A_(b)), t.co/abc, and/or 7/5.": (
        "( https://en.wikipedia.org/wiki/A_(b ) ) , t.co/abc , and / or 7 / 5 ."
    ),
    "It's @anna's :-D;-) <3 =] :/ :'( :D, :P. Ok :o)": (
        "It 's @anna 's :-D ; - ) <3 =] :/ :'( :D , :P . Ok :o)"
    ),
    "#1, # 2, #2020vision #caf\u00e9\u2019s \u201c@x\u201d 😂@y (#z)": (
        "# 1 , # 2 , #2020vision #caf\u00e9 \u2019s \u201c @x \u201d 😂 @ y ( #z )"
    ),
    "at 5:30: no (see 8) a:b x@y": "at 5 : 30 : no ( see 8 ) a : b x @ y",
    "No. www.x.org. #\u00e9t\u00e9 @Zo\u00eb.": "No . www.x.org . #\u00e9t\u00e9 @Zo\u00eb .",
}
# Nothing here shows that the text is raw, so an apostrophe before a word continues the word before.
SPLIT = [
    "Conan O 'Brien rose at nine o 'clock .",
    "Yes , ma 'am , y 'all from the C\u00f4te d 'Ivoire , 5 's-Hertogenbosch",
    "the ' last word ' , rock 'n 'roll",
    "Hawai 'i or Qur 'an",
    "Do n't , wo n't and CA N'T n't n\u2019t",
    "`` No '' , he said . '' '' ''",
]


@pytest.mark.parametrize("ops", OPS)
def test_prose_is_split_as_written_here_and_stays_so(ops):
    tokens = split(tokenizer_of(TreebankTokenizer, ops), [*PROSE, *PROSE.values(), *SPLIT])
    joined = [b" ".join(row).decode() for row in tokens]
    assert joined == [*PROSE.values(), *PROSE.values(), *SPLIT]


@pytest.mark.parametrize("ops", OPS)
def test_what_is_written_in_messages_stays_whole(ops):
    rows = split(tokenizer_of(WebTokenizer, ops), [*WEB, *WEB.values(), *PROSE, *SPLIT])
    expected = [*WEB.values(), *WEB.values(), *PROSE.values(), *SPLIT]
    found = [b" ".join(row).decode() for row in rows]
    assert found == [line.replace("me @ example.com", "me@example.com") for line in expected]


def test_sentences_of_the_benchmark_stay_as_they_are(shared):
    batches = json.loads((shared / "fixtures/allennlp/sentences.json").read_text("utf-8"))
    sentences = [sentence for batch in batches for sentence in batch]
    assert len(sentences) == 30
    expected = [sentence.encode().split() for sentence in sentences]
    assert split(tokenizer_of(TreebankTokenizer), sentences) == expected


english = st.lists(
    st.sampled_from(["Mr.", "O'Neil", " 's", " 'em", "1980's", "No.", "U.S.", "etc.", "so, ", "' "])
    | st.sampled_from(["http://a", "www.b.c", "me@x.org", " @b", "#t", " :)", ":D", "<3", "a.bc/"])
    | st.text("aZ.,'\u2019-0\u00e9(:/@#=) ", max_size=5)
).map("".join)


@settings(deadline=None, max_examples=150)
@given(st.lists(texts | english, max_size=20))
def test_tokens_that_are_joined_are_split_into_the_same(strings):
    for kind in TreebankTokenizer, WebTokenizer:
        tokens = split(tokenizer_of(kind), strings)
        assert split(tokenizer_of(kind), [b" ".join(row) for row in tokens]) == tokens


@settings(deadline=None, max_examples=100)
@given(st.lists(noise | texts.map(str.encode), max_size=4))
@example(EDGES)
@example([])
@example(["a,b,c,,1,2,3,d''t ’s ’’s 's's . .. ...".encode()])
def test_tokens_of_prose_are_parts_of_words(strings):
    rows = split(tokenizer_of(WebTokenizer), strings)  # which has the rules of both
    for string, tokens in zip(strings, rows, strict=True):
        assert b"".join(tokens) == b"".join(python_split(string))
        words = iter(python_split(string))
        word = b""
        for token in tokens:
            word = word or next(words)
            assert word.startswith(token), "a token spans two words"
            word = word[len(token) :]
