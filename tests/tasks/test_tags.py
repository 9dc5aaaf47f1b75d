import itertools
import random

import pytest
from seqeval.metrics.sequence_labeling import get_entities

from keras_elmo.tasks import tags

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
        (["O", "I-PER"], None),  # without B- there is nothing to follow
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
