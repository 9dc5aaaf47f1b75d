"""The tags of entities: which may follow which, and where the entities are.

`B-PER` begins an entity of the type PER, `I-PER` goes on with it, `O` is outside. In the scheme
IOBES, `E-PER` ends it, and `S-PER` is one of a single token; BILOU has `L` and `U` for these, and
BMES has `M` for `I`. `B_PER`, `b-PER` and `PER-B` are the same; the type of a mere `B` is `""`.

Where entities begin and end, also in sequences that the scheme does not allow, is what the script
conlleval says, and seqeval: an `I-PER` after a tag that is not of the type PER begins an entity.
"""

import bisect
import re
from collections.abc import Sequence

import numpy as np

from keras_elmo.checks import check_choice

_TAG = re.compile("([BIMESLU])(?:[-_](.*))?|(.+)[-_]([BIMESLU])", re.IGNORECASE | re.DOTALL)
_SAME = {"M": "I", "L": "E", "U": "S"}
_OUTSIDE = ("O", "")
TokenSpans, Spans = Sequence[tuple[int, int]], list[tuple[int, int, str]]


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


def tags_of_spans(tokens: TokenSpans, spans: Spans, scheme: str = "BIO") -> tuple[list[str], Spans]:
    """The tags of a text's tokens, from spans of its characters, such as annotators mark.

    A span that begins or ends within a token takes the whole tokens that it touches. Of spans that
    then share a token, the longest gets its tokens, or the first of the longest; others get no tag.

    Args:
        tokens: list of pairs of ints, as `keras_elmo.text.token_spans` gives them.
        spans: list of triples: the index of a first character, that of the one after the last, and
            a label, such as `"PER"`.
        scheme: `"BIO"` or `"IOBES"`.

    Returns:
        A pair: the tags, a string for each token; and the spans that `spans_of_tags` does not give
        back: those that begin or end within a token, share one with others or have none.

    Example:

    >>> tokens = token_spans("Ada met Charles.", "treebank")
    >>> tags_of_spans(tokens, [(0, 3, "PER"), (8, 12, "PER")])
    (['B-PER', 'O', 'B-PER', 'O'], [(8, 12, 'PER')])
    """
    check_choice(("BIO", "IOBES"), scheme=scheme)
    starts, ends = [token[0] for token in tokens], [token[1] for token in tokens]
    tags = ["O"] * len(tokens)
    for start, end, label in sorted(spans, key=lambda span: span[0] - span[1]):
        first, last = bisect.bisect_right(ends, start), bisect.bisect_left(starts, end)
        if start < end and set(tags[first:last]) == {"O"}:
            tags[first:last] = [f"B-{label}", *[f"I-{label}"] * (last - first - 1)]
            if scheme == "IOBES":
                tags[last - 1] = f"E-{label}" if last - first > 1 else f"S-{label}"
    found = set(spans_of_tags(tokens, tags))
    return tags, [span for span in spans if tuple(span) not in found]


def spans_of_tags(tokens: TokenSpans, tags: Sequence[str]) -> Spans:
    """The spans of a text's entities, the reverse of `tags_of_spans`, from tags of any scheme.

    Raises:
        ValueError: there is not a tag for each token.
    """
    if len(tokens) != len(tags):
        received = f"{len(tokens):,} tokens, {len(tags):,} tags"
        raise ValueError(f"Each token must have a tag. Received: {received}")
    return [(tokens[a][0], tokens[b - 1][1], label) for label, a, b in entities(tags)]
