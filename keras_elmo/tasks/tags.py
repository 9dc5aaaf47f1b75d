"""The tags of entities: which may follow which, and where the entities are.

`B-PER` begins an entity of the type PER, `I-PER` goes on with it, `O` is outside. In the scheme
IOBES, `E-PER` ends it, and `S-PER` is one of a single token; BILOU has `L` and `U` for these.
"""

import numpy as np

_PREFIXES = {"B": "B", "I": "I", "E": "E", "S": "S", "L": "E", "U": "S"}
_OUTSIDE = ("O", "")


def scheme_of(labels):
    """The scheme of tags, by their names.

    Args:
        labels: list of labels.

    Returns:
        `"BIO"`, `"IOBES"`, or `None` if the labels are not tags of entities.
    """
    parts = [_split(label) for label in labels]
    if None in parts or not any(prefix == "B" for prefix, _ in parts):
        return None
    return "IOBES" if any(prefix in "ES" for prefix, _ in parts) else "BIO"


def _split(label):
    """The prefix and the type of a tag, or `None` if the label is not a tag."""
    if label == "O":
        return _OUTSIDE
    is_tag = isinstance(label, str) and label[1:2] == "-" and label[0] in _PREFIXES
    return (_PREFIXES[label[0]], label[2:]) if is_tag else None


def transitions(labels):
    """Which tags the scheme allows after which.

    Args:
        labels: list of tags, of a scheme.

    Returns:
        bool, (tags + 1, tags + 1), by the tag before and the tag. The last index stands for no tag:
        before the first, or after the last.
    """
    parts = [*map(_split, labels), _OUTSIDE]
    has_ends = scheme_of(labels) == "IOBES"

    def may_follow(before, tag):
        (prefix_before, type_before), (prefix, kind) = before, tag
        is_inside = prefix_before in "BI"  # of an entity that may go on
        if prefix in "IE":
            return is_inside and kind == type_before
        return not (has_ends and is_inside)

    return np.array([[may_follow(before, tag) for tag in parts] for before in parts])


def boundaries(labels):
    """Where entities begin and end, also in sequences that the scheme does not allow.

    The rules are those of the script conlleval, which seqeval has too: an `I-PER` after a tag that
    is not of the type PER begins an entity.

    Args:
        labels: list of tags, of a scheme.

    Returns:
        `begins`: bool, (tags + 1, tags + 1). Whether an entity begins at a tag, by the tag before
        it and the tag. The last index stands for no tag: before the first, or after the last.
        `ends`: the same for the tag and the one after it. `types`: int32, (tags + 1,). The number
        of each tag's type, and 0 for `O` and for no tag.
    """
    parts = [*map(_split, labels), _OUTSIDE]

    def begins(before, tag):
        (prefix_before, type_before), (prefix, kind) = before, tag
        if tag == _OUTSIDE:
            return False
        return prefix in "BS" or prefix_before in ("E", "S", "O") or kind != type_before

    def ends(tag, after):
        (prefix, kind), (prefix_after, type_after) = tag, after
        if tag == _OUTSIDE:
            return False
        return prefix in "ES" or prefix_after in ("B", "S", "O") or kind != type_after

    names = sorted({kind for prefix, kind in parts if prefix != "O"})
    types = [0 if part == _OUTSIDE else 1 + names.index(part[1]) for part in parts]
    return (
        np.array([[begins(before, tag) for tag in parts] for before in parts]),
        np.array([[ends(tag, after) for after in parts] for tag in parts]),
        np.array(types, np.int32),
    )


def entities(tags, labels):
    """The entities of a sentence.

    Args:
        tags: list of ints, the number of each token's tag.
        labels: list of tags, of a scheme.

    Returns:
        A list of triples: the type, the number of the first token, and of the token after the last.
    """
    begins, ends, _ = boundaries(labels)
    none, found, start = len(labels), [], 0
    for index, tag in enumerate(tags):
        before = tags[index - 1] if index else none
        after = tags[index + 1] if index + 1 < len(tags) else none
        if begins[before, tag]:
            start = index
        if ends[tag, after]:
            found.append((_split(labels[tag])[1], start, index + 1))
    return found
