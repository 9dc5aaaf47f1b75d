import itertools
import random
import re

import pytest
from seqeval.metrics.sequence_labeling import get_entities

from keras_elmo import EntityF1, tags

BIO = ["O", *(f"{prefix}-{kind}" for prefix in "BI" for kind in ("PER", "LOC"))]
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


def encode(spans, length, scheme):
    """The tags of entities that do not overlap."""
    row = ["O"] * length
    for kind, start, end in spans:
        row[start:end] = [f"I-{kind}"] * (end - start)
        row[start] = f"B-{kind}"
        if scheme == "IOBES":
            row[end - 1] = f"E-{kind}" if end - start > 1 else f"S-{kind}"
    return row


@pytest.mark.parametrize(("labels", "scheme"), [(BIO, "BIO"), (IOBES, "IOBES")])
def test_the_allowed_sequences_are_those_that_some_entities_have(labels, scheme):
    pairs, none = tags.transitions(labels), len(labels)
    for row in itertools.product(range(len(labels)), repeat=3):
        names = [labels[k] for k in row]
        is_allowed = all(pairs[a, b] for a, b in itertools.pairwise((none, *row, none)))
        assert is_allowed == (encode(tags.entities(names), 3, scheme) == names)
