import numpy as np
import pytest
import seqeval.metrics
import sklearn.metrics

from keras_elmo.tasks.report import report_of_entities, report_of_labels

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-NEVER", "I-NEVER"]


@pytest.mark.parametrize("names", [["neg", "pos", "a name that is long", "never"], [3, 10, 7, 0]])
@pytest.mark.filterwarnings("ignore:.*ill-defined")
def test_labels_are_counted_as_scikit_learn_does(names):
    rng = np.random.default_rng(0)
    for count in (8, 200):
        right, found = rng.integers(0, 3, (2, count))
        report = report_of_labels(right, found, names)
        columns = [[names[k] for k in column] for column in (right, found)]
        assert str(report) == sklearn.metrics.classification_report(*columns)
        tables = rng.integers(0, 2, (2, count, 4)).astype(bool)
        of_sets, strings = report_of_labels(*tables, names), list(map(str, names))
        assert str(of_sets) == sklearn.metrics.classification_report(*tables, target_names=strings)
    expected = sklearn.metrics.precision_recall_fscore_support(right, found)
    for scores, name in zip(zip(*expected, strict=True), names, strict=False):
        assert report.classes[name] == pytest.approx(scores)
    assert report.averages["accuracy"].f1 == pytest.approx(np.mean(right == found))


@pytest.mark.filterwarnings("ignore:.*ill-defined")
def test_entities_are_counted_as_seqeval_does():
    rng = np.random.default_rng(0)
    for count in (1, 8, 50):
        right = [rng.integers(0, 5, 9).tolist() for _ in range(count)]
        found = [[k if rng.random() < 0.8 else int(rng.integers(0, 7)) for k in r] for r in right]
        columns = [[[TAGS[k] for k in row] for row in rows] for rows in (right, found)]
        expected = seqeval.metrics.classification_report(*columns)
        assert str(report_of_entities(right, found, TAGS)) == expected
    assert list(report_of_entities([[0]], [[0]], TAGS).averages.values()) == 3 * [(0, 0, 0, 0)]
    untyped = report_of_entities([[1, 2, 0]], [[1, 0, 0]], ["O", "B", "I"])
    expected = seqeval.metrics.classification_report([["B", "I", "O"]], [["B", "O", "O"]])
    assert str(untyped) == expected and "_" in expected
