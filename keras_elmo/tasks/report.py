"""`Report`: precision, recall and F1 of each class, as scikit-learn and seqeval count them."""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from keras_elmo.tasks import tags

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
                lines.append(f"{name!s:>{width}} " + "".join(f" {x:>9}" for x in [*cells, count]))
            lines.append("")
        return "\n".join(lines)


def report_of_labels(right, found, names):
    """The `Report` of labels, their numbers (N,); or of sets of them, bool (N, labels)."""
    is_single = right.ndim == 1
    if is_single:  # Labels that do not occur have no row.
        present = sorted({*right.tolist(), *found.tolist()}, key=lambda k: _order(names[k]))
        right, found = (np.equal.outer(column, present) for column in (right, found))
        names = [names[k] for k in present]
    both = right & found
    report = _report(names, *(table.sum(0) for table in (both, found, right)), is_single)
    if not is_single:
        sums = (table.sum(1) for table in (both, found, right))
        means = np.mean(np.reshape(_scores(*sums), (3, -1)), axis=1).tolist()
        report.averages["samples avg"] = Scores(*means, int(right.sum()))
    return report


def _order(label):
    return type(label).__name__, label


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
    return _report(types, *(np.array([count[kind] for kind in types]) for count in counts))


def _report(names, num_right, num_found, num_expected, is_single=False):
    """From the numbers of each class: those that are right, all that are found, and expected."""
    scores, count = _scores(num_right, num_found, num_expected), int(np.sum(num_expected))
    totals = _scores(*(np.sum(x, keepdims=True) for x in (num_right, num_found, num_expected)))
    averages = {
        "accuracy" if is_single else "micro avg": totals[:, 0],
        "macro avg": scores.mean(1) if len(names) else np.zeros(3),
        "weighted avg": scores @ num_expected / max(1, count),
    }
    rows = zip(names, scores.T.tolist(), num_expected.tolist(), strict=True)
    return Report(
        {name: Scores(*row, int(expected)) for name, row, expected in rows},
        {name: Scores(*row.tolist(), count) for name, row in averages.items()},
    )


def _scores(num_right, num_found, num_expected):
    """Precision, recall and F1, (3, N); 0 where there is nothing to divide by."""
    over = np.array([num_found, num_expected, num_found + num_expected])
    return np.array([num_right, num_right, 2 * num_right]) / np.maximum(over, 1)
