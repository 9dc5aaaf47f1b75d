"""ELMo as estimators of scikit-learn."""

import pickle

import numpy as np
import pandas as pd
import pytest
from tasks.cases import FILMS, LABELS

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import check_is_fitted

from keras_elmo import Elmo
from keras_elmo.sklearn import ElmoClassifier, ElmoVectorizer


@pytest.fixture(scope="module")
def make(one_layer_folder):
    def make(**kwargs):
        return ElmoClassifier(one_layer_folder, filters=4, dropout=0.0, random_state=0, **kwargs)

    return make


@pytest.mark.parametrize("estimator", [ElmoVectorizer(), ElmoClassifier()])
@pytest.mark.filterwarnings("ignore:Can't test estimator:UserWarning")
def test_the_checks_of_scikit_learn_that_apply_to_text(estimator):
    for checked, check in estimator_checks_generator(estimator):
        check(checked)
    assert clone(estimator).get_params() == estimator.get_params()


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


def test_a_search_in_two_processes(make):
    search = GridSearchCV(make(epochs=1, word_dim=0), {"filters": [2, 3]}, cv=2, n_jobs=2)
    assert set(search.fit(FILMS, LABELS).predict(FILMS)) <= set(LABELS)
    assert len(search.cv_results_["mean_test_score"]) == 2
