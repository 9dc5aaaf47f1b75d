"""The tags of entities: which may follow which, and where the entities are.

`B-PER` begins an entity of the type PER, `I-PER` goes on with it, `O` is outside. In the scheme
IOBES, `E-PER` ends it, and `S-PER` is one of a single token; BILOU has `L` and `U` for these.

Where entities begin and end, also in sequences that the scheme does not allow, is what the script
conlleval says, and seqeval: an `I-PER` after a tag that is not of the type PER begins an entity.
"""

import numpy as np

_PREFIXES = {"B": "B", "I": "I", "E": "E", "S": "S", "L": "E", "U": "S"}
_OUTSIDE = ("O", "")


def scheme_of(labels):
    """The scheme of a list of labels: `"BIO"`, `"IOBES"`, or `None` if they are no such tags."""
    parts = [_split(label) for label in labels]
    if None in parts or not any(prefix == "B" for prefix, _ in parts):
        return None
    return "IOBES" if any(prefix in "ES" for prefix, _ in parts) else "BIO"


def _split(label):
    if label == "O":
        return _OUTSIDE
    is_tag = isinstance(label, str) and label[1:2] == "-" and label[0] in _PREFIXES
    return (_PREFIXES[label[0]], label[2:]) if is_tag else None


def _goes_on(before, tag):
    return before[0] in "BI" and tag[0] in "IE" and before[1] == tag[1]


def continuations(labels):
    """Which tags go on with the entity of which, bool (tags + 1, tags + 1), by the tag before and
    the tag; and the number of each tag's type, int32 (tags + 1,), 0 for `O`. The last index stands
    for no tag: before the first, or after the last."""
    parts = [*map(_split, labels), _OUTSIDE]
    types = sorted({kind for prefix, kind in parts if prefix != "O"})
    numbers = [0 if part == _OUTSIDE else 1 + types.index(part[1]) for part in parts]
    pairs = [[_goes_on(before, tag) for tag in parts] for before in parts]
    return np.array(pairs), np.array(numbers, np.int32)


def transitions(labels):
    """Which tags the scheme allows after which: bool, (tags + 1, tags + 1), see `continuations`."""
    goes_on, _ = continuations(labels)
    prefixes = np.array([prefix for prefix, _ in [*map(_split, labels), _OUTSIDE]])
    # What does not go on with an entity begins one, or is outside, and follows one that may end.
    may_begin, may_end = ~np.isin(prefixes, ["I", "E"]), np.ones(len(prefixes), bool)
    if scheme_of(labels) == "IOBES":
        may_end = ~np.isin(prefixes, ["B", "I"])
    return goes_on | (may_end[:, None] & may_begin)


def entities(tags):
    """The entities of a sentence: of each its type, its first token, and the one after its last."""
    found, before = [], _OUTSIDE
    for index, part in enumerate(map(_split, tags)):
        if _goes_on(before, part):
            kind, start, _ = found.pop()
            found.append((kind, start, index + 1))
        elif part != _OUTSIDE:
            found.append((part[1], index, index + 1))
        before = part
    return found
