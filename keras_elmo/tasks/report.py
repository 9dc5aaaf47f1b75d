"""`Report`: precision, recall and F1 of each class, as scikit-learn and seqeval count them."""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from keras_elmo import tags

_HEADINGS = ("precision", "recall", "f1-score", "support")


class Scores(NamedTuple):
    """`precision`, `recall` and `f1`, from 0 to 1; and `count`, how many are right in the data."""

    precision: float
    recall: float
    f1: float
    count: int


class Report(NamedTuple):
    """The scores of each class of a test, and their averages.

    `str(report)` is the table that scikit-learn's, or seqeval's, `classification_report` gives.
    """

    classes: dict[Any, Scores]
    averages: dict[str, Scores]

    def __str__(self):
        width = max(len(str(name)) for name in (*self.classes, "weighted avg"))
        lines = [f"{'':>{width}} " + "".join(f" {heading:>9}" for heading in _HEADINGS), ""]
        for rows in self:
            for name, (*scores, count) in rows.items():
                cells = [f"{score:.2f}" for score in scores]
                if rows is self.averages and name == "accuracy":
                    cells[:2] = "", ""
                shown = name if name != "" else "_"  # entities without a type, as in seqeval
                lines.append(f"{shown!s:>{width}} " + "".join(f" {x:>9}" for x in [*cells, count]))
            lines.append("")
        return "\n".join(lines)


def report_of_labels(right, found, names):
    """The `Report` of labels, their numbers (N,); or of sets of them, bool (N, labels)."""
    is_single = right.ndim == 1
    if is_single:  # Labels that do not occur have no row.
        present = {*right.tolist(), *found.tolist()}
        present = sorted(present, key=lambda k: (type(names[k]).__name__, names[k]))
        right, found = (np.equal.outer(column, present) for column in (right, found))
        names = [names[k] for k in present]
    tables = np.array([right & found, found, right])  # (3, N, labels)
    report = _report(names, tables.sum(1), "accuracy" if is_single else "micro avg")
    if not is_single:
        means = _scores(tables.sum(2)).mean(1).tolist()
        report.averages["samples avg"] = Scores(*means, int(right.sum()))
    return report


def report_of_entities(right, found, names):
    """The `Report` of the entities in sentences, lists of the numbers of tags, by their types."""
    right, found = (
        {
            (index, *entity)
            for index, row in enumerate(rows)
            for entity in tags.entities([names[k] for k in row])
        }
        for rows in (right, found)
    )
    counts = [Counter(kind for _, kind, *_ in part) for part in (right & found, found, right)]
    types = sorted(set().union(*counts))
    return _report(types, np.array([[count[kind] for kind in types] for count in counts], int))


def _report(names, counts, of_all="micro avg"):
    """From the `counts` of each class, (3, N): that are right, that are found, and expected."""
    scores, expected = _scores(counts), counts[2]
    averages = {
        of_all: _scores(counts.sum(1)),
        "macro avg": scores.mean(1) if len(names) else np.zeros(3),
        "weighted avg": scores @ expected / max(1, expected.sum()),
    }
    rows = zip(names, scores.T.tolist(), expected.tolist(), strict=True)
    return Report(
        {name: Scores(*row, count) for name, row, count in rows},
        {name: Scores(*row.tolist(), int(expected.sum())) for name, row in averages.items()},
    )


def _scores(counts):
    """Precision, recall and F1, each of the shape of a count; 0 with nothing to divide by."""
    right, found, expected = counts
    return np.array([right, right, 2 * right]) / np.maximum([found, expected, found + expected], 1)
