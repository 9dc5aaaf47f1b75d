import itertools
import random
import re

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from seqeval.metrics.sequence_labeling import get_entities

from keras_elmo import EntityF1, tags
from keras_elmo.text import token_spans

BIO = ["O", *(f"{prefix}-{kind}" for prefix in "BI" for kind in ("PER", "LOC"))]
TOKENS = [(0, 1), (1, 2), (2, 3)]
IOBES = ["O", *(f"{prefix}-{kind}" for prefix in "BIES" for kind in ("PER", "LOC"))]


@pytest.mark.parametrize(
    ("labels", "scheme"),
    [
        (BIO, "BIO"),
        (IOBES, "IOBES"),
        (["O", "B-X", "I-X", "L-X", "U-X"], "IOBES"),
        (["B-X", "I-X"], "BIO"),
        (["NOUN", "VERB"], None),
        (["O", "I-PER"], "BIO"),  # the scheme IO
        (["O", "B", "I"], "BIO"),
        (["B", "M", "E", "S"], "IOBES"),
        (["o", "b_x", "i-x"], "BIO"),
        (["O", "PER-B", "PER-I", "LOC_S"], "IOBES"),
        (["O", "O-PER"], None),
        (["O", "B-PER", "X"], None),
        ([0, 1], None),
    ],
)
def test_the_scheme_is_known_by_the_names(labels, scheme):
    assert tags.scheme_of(labels) == scheme


@pytest.mark.parametrize("labels", [BIO, IOBES])
def test_entities_of_random_tags_are_those_of_seqeval(labels):
    rng = random.Random(0)
    for _ in range(2_000):
        row = [rng.choice(labels) for _ in range(rng.randrange(9))]
        expected = [(kind, a, b + 1) for kind, a, b in get_entities(row)]
        assert tags.entities(row) == expected


FORMS = ["{0}-{1}", "{0}_{1}", "{1}-{0}", "{1}_{0}"]


@pytest.mark.parametrize("form", [*FORMS, "{0}"])
def test_other_forms_of_tags_have_the_same_entities(form):
    rng, other = random.Random(0), dict(zip("BIES", "bMLu", strict=True))
    for _ in range(500):
        row = [rng.choice(IOBES) for _ in range(rng.randrange(9))]
        row = [tag if form != "{0}" else tag.replace("LOC", "PER") for tag in row]
        same = [tag if tag == "O" else form.format(other[tag[0]], tag[2:]) for tag in row]
        expected = [("" if form == "{0}" else kind, *span) for kind, *span in tags.entities(row)]
        assert tags.entities(same) == expected


def test_a_type_without_a_first_or_a_last_tag_may_begin_or_end_with_any():
    for labels, allowed in [(["O", "I-X", "I-Y"], 16), (["O", "B-X", "I-X", "I-Y"], 22)]:
        assert tags.transitions(labels).sum() == allowed


@pytest.mark.parametrize("odd", ["X", "[PAD]", "-", "", 0])
def test_the_label_that_is_no_tag_is_named(odd):
    assert tags.others_than_tags([*BIO, odd]) == [odd]
    assert tags.others_than_tags(BIO) == tags.others_than_tags(["NOUN", "O"]) == []
    with pytest.raises(ValueError, match=re.escape(f"Received: labels=[{odd!r}]")):
        EntityF1([*BIO, odd])


@pytest.mark.parametrize(("labels", "scheme"), [(BIO, "BIO"), (IOBES, "IOBES")])
def test_the_allowed_sequences_are_those_that_some_entities_have(labels, scheme):
    pairs, none = tags.transitions(labels), len(labels)
    for row in itertools.product(range(len(labels)), repeat=3):
        names = [labels[k] for k in row]
        is_allowed = all(pairs[a, b] for a, b in itertools.pairwise((none, *row, none)))
        spans = tags.spans_of_tags(TOKENS, names)
        assert is_allowed == (tags.tags_of_spans(TOKENS, spans, scheme) == (names, []))


PIECES = ["Ada", " ", "don't", ".", "\n", "\u00a0", "e\u0301", "\u200d", "\U0001f680", "日本"]
SCHEMES = st.sampled_from(["BIO", "IOBES"])


@st.composite
def texts_with_spans(draw):
    pieces = draw(st.lists(st.sampled_from(PIECES), max_size=12))
    edges = st.sampled_from([0, *itertools.accumulate(map(len, pieces))])
    edges |= st.integers(0, len("".join(pieces)))
    spans = draw(st.lists(st.tuples(edges, edges, st.sampled_from(["PER", "LOC", ""])), max_size=5))
    return "".join(pieces), list({span for span in spans if span[0] < span[1]})


@settings(deadline=None)
@given(texts_with_spans(), st.sampled_from(["whitespace", "treebank", "characters"]), SCHEMES)
def test_spans_become_tags_and_spans_again_or_are_reported(case, tokenizer, scheme):
    spans, tokens = case[1], token_spans(case[0], tokenizer)
    row, misfits = tags.tags_of_spans(tokens, spans, scheme)
    found = tags.spans_of_tags(tokens, row)
    assert set(found) & set(spans) == set(spans) - set(misfits)
    assert tags.tags_of_spans(tokens, found, scheme) == (row, [])
    touched = [{k for k, (a, b) in enumerate(tokens) if a < y and x < b} for x, y, _ in spans]
    taken = [
        own and (tokens[min(own)][0], tokens[max(own)][1], span[2])
        for span, own in zip(spans, touched, strict=True)
    ]
    assert set(found) <= set(filter(None, taken))
    for span, own, whole in zip(spans, touched, taken, strict=True):
        is_apart = sum(bool(own & other) for other in touched) == 1
        assert span in found or span != whole or not is_apart


def test_spans_within_tokens_and_spans_that_overlap():
    tokens = token_spans("Ada King-Noel, Byron", "treebank")
    spans = [(0, 8, "X"), (0, 13, "X"), (9, 13, "Y"), (13, 15, "Z"), (15, 20, "W"), (3, 4, "V")]
    row = ["B-X", "I-X", "B-Z", "B-W"]
    misfits = [spans[0], spans[2], spans[3], spans[5]]
    assert tags.tags_of_spans(tokens, spans) == (row, misfits)
    assert tags.spans_of_tags(tokens, row) == [spans[1], (13, 14, "Z"), spans[4]]
    assert tags.tags_of_spans(tokens, spans[1:2], "IOBES")[0] == ["B-X", "E-X", "O", "O"]
    with pytest.raises(ValueError, match="Received: 4 tokens, 3 tags"):
        tags.spans_of_tags(tokens, row[:3])
    with pytest.raises(ValueError, match="`scheme` must be one of"):
        tags.tags_of_spans(tokens, spans, "BILOU")
