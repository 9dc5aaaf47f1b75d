"""ELMo as estimators of scikit-learn."""

import os
import pickle
import shutil

import h5py
import numpy as np
import pandas as pd
import pytest
from tasks.cases import FILMS, LABELS

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils import estimator_checks
from sklearn.utils.validation import check_is_fitted

from keras_elmo import Elmo, TreebankTokenizer
from keras_elmo import sklearn as keras_elmo_sklearn
from keras_elmo.sklearn import ElmoClassifier, ElmoVectorizer

# Of scikit-learn's checks, those that need no numbers as inputs. `check_estimator` leaves them out.
CHECKS = """check_estimator_repr
check_estimator_tags_renamed check_get_params_invariance check_mixin_order
check_no_attributes_set_in_init check_parameters_default_constructible check_set_params
check_valid_tag_types check_estimator_cloneable""".split()
OF_LABELS = """check_classifiers_regression_target check_supervised_y_no_nan
check_requires_y_none check_estimators_unfitted""".split()


@pytest.fixture(scope="module")
def make(one_layer_folder):
    def make(**kwargs):
        return ElmoClassifier(one_layer_folder, filters=4, dropout=0.0, random_state=0, **kwargs)

    return make


@pytest.mark.parametrize("name", CHECKS + OF_LABELS)
@pytest.mark.filterwarnings("error::UserWarning")
def test_the_checks_of_scikit_learn_that_apply_to_text(name):
    check = getattr(estimator_checks, name, None) or pytest.skip("not in this version")
    for estimator in (ElmoClassifier(), *([ElmoVectorizer()] if name in CHECKS else [])):
        check(type(estimator).__name__, estimator)


@pytest.mark.usefixtures("untraced")
def test_vectors_of_texts(one_layer_folder):
    elmo, texts = Elmo.from_pretrained(one_layer_folder, tokenizer="treebank"), FILMS[:6]
    default = ElmoVectorizer(one_layer_folder).fit(texts)
    check_is_fitted(default)
    expected = elmo.embed(texts, layers="default")
    np.testing.assert_allclose(default.transform(pd.Series(texts)), expected, atol=1e-6)
    several = ElmoVectorizer(one_layer_folder, layers=["default", "all"]).transform(texts)
    means = [v.sum(-2) / max(1, v.shape[-2]) for v in elmo.embed(texts, "all")]
    means = np.reshape(means, (6, -1))
    np.testing.assert_allclose(several, np.concatenate([expected, means], axis=1), atol=1e-6)
    assert pickle.loads(pickle.dumps(default)).get_params() == default.get_params()
    assert ElmoVectorizer(one_layer_folder, ["all", "word_emb"]).transform([]).shape == (
        0, several.shape[1] - default.transform([]).shape[1] + elmo.config.projection_dim
    )  # fmt: skip


@pytest.mark.usefixtures("untraced")
def test_the_columns_of_vectors_have_names(one_layer_folder):
    frame = pd.DataFrame({"text": FILMS[:2], "year": [1999, 2001]}, index=[4, 7])
    vectors = ElmoVectorizer(one_layer_folder), "text"
    columns = make_column_transformer(vectors, ("passthrough", ["year"]))
    table = columns.set_output(transform="pandas").fit_transform(frame)
    assert table.columns[0] == "elmovectorizer__elmovectorizer0" and list(table.index) == [4, 7]
    assert table.columns[-1] == "passthrough__year"


@pytest.mark.usefixtures("untraced")
def test_clones_share_a_model_until_its_files_change(one_layer_folder, tmp_path, monkeypatch):
    loaded, load = [], Elmo.from_pretrained
    monkeypatch.setattr(Elmo, "from_pretrained", lambda *x, **y: loaded.append(x) or load(*x, **y))
    folder = shutil.copytree(one_layer_folder, tmp_path / "model")
    files = [str(folder / "options.json"), str(folder / "weights.hdf5")]
    vectorizer = ElmoVectorizer(files, tokenizer=TreebankTokenizer())
    before = vectorizer.transform(FILMS[:1])
    np.testing.assert_array_equal(clone(vectorizer).transform(FILMS[:1]), before)
    assert len(loaded) == 1
    with h5py.File(files[1], "r+") as file:
        file["char_embed"][...] += 1
    os.utime(files[1], ns=(0, 0))
    assert not np.array_equal(vectorizer.transform(FILMS[:1]), before)
    assert len(loaded) == 2


@pytest.mark.usefixtures("untraced")
def test_a_classifier_learns_and_is_pickled(make):
    classifier = make(epochs=60, batch_size=8)
    with pytest.raises(NotFittedError):
        classifier.predict(FILMS)
    classifier.fit(np.array(FILMS), pd.Series(LABELS), sample_weight=np.ones(24))
    assert classifier.classes_.tolist() == ["neg", "pos"]
    assert classifier.score(FILMS, LABELS) > 0.9
    probabilities = classifier.predict_proba(FILMS)
    assert probabilities.shape == (24, 2)
    loaded = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(loaded.predict_proba(FILMS), probabilities)
    assert loaded.predict(FILMS).tolist() == classifier.predict(FILMS).tolist()
    numbers = make(epochs=1).fit(FILMS, [7 if label == "pos" else 2 for label in LABELS])
    assert set(numbers.predict(FILMS)) <= {2, 7}


@pytest.mark.parametrize(
    "labels, message",
    [
        ([0.0, 1.0, float("nan"), 1.0], "Input y contains NaN"),
        (pd.Series([float("nan"), "x", "y", "x"]), "Input y contains NaN.*in row 0"),
        (["x", None, "y", "x"], "Input y contains NaN, None.*Received: None in row 1"),
        ([1, "a", 1, "a"], "other labels beside strings.*Received: 1 in row 0"),
        ([0.13, 1.5, 2.7, 1.5], "Unknown label type: continuous"),
        ([[1, 0]] * 4, "should be a 1d array"),
    ],
)
def test_labels_that_are_no_classes_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        ElmoClassifier().fit(FILMS[:4], labels)


def test_class_weights_multiply_those_of_the_samples(make, monkeypatch):
    seen = []
    monkeypatch.setattr(
        keras_elmo_sklearn.TextClassifier,
        "fit",
        lambda *_, sample_weight, **__: seen.append(sample_weight),
    )
    labels = ["a", "b", "b", "b"]
    make(class_weight="balanced").fit(FILMS[:4], labels)
    make(class_weight={"a": 3.0}).fit(FILMS[:4], labels, sample_weight=[1, 2, 3, 4])
    np.testing.assert_allclose(seen, [[2, 2 / 3, 2 / 3, 2 / 3], [3, 2, 3, 4]])


def test_a_search_in_two_processes(make):
    search = GridSearchCV(make(epochs=1, word_dim=0), {"filters": [2, 3]}, cv=2, n_jobs=2)
    assert set(search.fit(FILMS, LABELS).predict(FILMS)) <= set(LABELS)
    assert len(search.cv_results_["mean_test_score"]) == 2
