"""The tags of entities: which may follow which, and where the entities are.

`B-PER` begins an entity of the type PER, `I-PER` goes on with it, `O` is outside. In the scheme
IOBES, `E-PER` ends it, and `S-PER` is one of a single token; BILOU has `L` and `U` for these, and
BMES has `M` for `I`. `B_PER`, `b-PER` and `PER-B` are the same; the type of a mere `B` is `""`.

Where entities begin and end, also in sequences that the scheme does not allow, is what the script
conlleval says, and seqeval: an `I-PER` after a tag that is not of the type PER begins an entity.
"""

import re

import numpy as np

_TAG = re.compile("([BIMESLU])(?:[-_](.*))?|(.+)[-_]([BIMESLU])", re.IGNORECASE)
_SAME = {"M": "I", "L": "E", "U": "S"}
_OUTSIDE = ("O", "")


def scheme_of(labels):
    """The scheme of a list of labels: `"BIO"`, `"IOBES"`, or `None` if they are no such tags."""
    parts = [_split(label) for label in labels]
    if None in parts or not any(prefix in "BI" for prefix, _ in parts):
        return None
    return "IOBES" if any(prefix in "ES" for prefix, _ in parts) else "BIO"


def others_than_tags(labels):
    """The labels that are no tags, if most are."""
    others = [label for label in labels if _split(label) is None]
    return others if 2 * len(others) < len(labels) else []


def _split(label):
    if label in ("O", "o"):
        return _OUTSIDE
    if not (found := _TAG.fullmatch(label) if isinstance(label, str) else None):
        return None
    prefix = (found[1] or found[4]).upper()
    return _SAME.get(prefix, prefix), found[2] or found[3] or ""


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
    parts = [*map(_split, labels), _OUTSIDE]
    # What does not go on with an entity begins one, or is outside, and follows one that may end.
    # Where a type has no B (scheme IO) or no E, each of its tags may begin, or end, an entity.
    begun, ended = ({kind for prefix, kind in parts if prefix == x} for x in "BE")
    may_begin = np.array([prefix in "OBS" or kind not in begun for prefix, kind in parts])
    may_end = np.array([prefix in "OES" or kind not in ended for prefix, kind in parts])
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
