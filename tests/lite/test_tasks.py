"""`keras_elmo_lite.TextClassifier` and `Tagger` give what those of keras_elmo give."""

import json
import pickle
import unicodedata

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from lite.cases import MANY, TASKS
from scripts import run_python
from text.cases import CASES, outcome, text_of
from text.tokenizer_cases import noise, texts

from keras_elmo import Tagger, TextClassifier, tags
from keras_elmo.tasks.batches import word_rows
from keras_elmo.text.tokenizers import get_tokenizer, token_spans

keras_elmo_lite = pytest.importorskip("keras_elmo_lite", reason="pip install ./lite")
from keras_elmo_lite import splitting  # noqa: E402
from keras_elmo_lite import tasks as lite_tasks  # noqa: E402
from keras_elmo_lite import words as lite_words  # noqa: E402

RAW = [
    "Ada met Charles in London.",
    "",
    "  na\u00efve\u00a0\u732b\U0001f642 \u0130STANBUL \u039f\u03a3 \u1e9e  don't ",
    "a\x00b \udcff \ud83d x",
    " ".join(f"W{number % 30}" for number in range(75)),
]
SENTENCES = [["The", "cat", "SAT"], [], ["x" * 60, "", "\u00e9\udcff"], ["a"]]


def texts_of(task):
    return SENTENCES if task.elmo.tokenizer is None else RAW + SENTENCES


ALONE = """
import json, sys
sys.modules.update(dict.fromkeys(("tensorflow", "keras", "keras_elmo")))  # importing them now fails
import keras_elmo_lite as lite
results = {}
for name, (kind, path, texts) in json.load(sys.stdin).items():
    model = getattr(lite, kind)(path)
    results[name] = {"predict": model.predict(texts).tolist(), "labels": model.labels}
    vectors = lite.Elmo(path).embed(texts, "lstm_outputs1")
    results[name]["embed"] = [rows.tolist() for rows in vectors]
    for method in ("classify", "tag", "entities"):
        if hasattr(model, method) and (method != "entities" or "O" in model.labels):
            results[name][method] = getattr(model, method)(texts)
print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def found(task_files, task_models):
    """What keras-elmo-lite says of the texts, in a process without TensorFlow."""
    names = task_files.keys()
    given = {n: (TASKS[n][0].__name__, task_files[n], texts_of(task_models[n])) for n in names}
    result = run_python("-c", ALONE, input=json.dumps(given))
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("name", TASKS)
def test_labels_and_probabilities_equal_keras_elmo(task_models, found, name):
    model, found, quantize = task_models[name], found[name], TASKS[name][3]
    given = texts_of(model)
    assert found["labels"] == model.labels
    expected = model.predict(given, verbose=0)
    tolerance = {None: 1e-4, "float16": 5e-3, "int8": 0.1}[quantize]
    np.testing.assert_allclose(found["predict"], expected, rtol=0, atol=tolerance)
    assert expected.std() > 0.01  # The model tells texts apart.
    if isinstance(model, TextClassifier):
        assert found["classify"] == model.labels_of(np.array(found["predict"]))
    if isinstance(model, Tagger):
        pairs, right = found["tag"], model.tag(given)
        assert [[word for word, _ in row] for row in pairs] == [[w for w, _ in r] for r in right]
        pairs, right = ([tag for row in rows for _, tag in row] for rows in (pairs, right))
        is_same = [one == other for one, other in zip(pairs, right, strict=True)]
        assert np.mean(is_same) >= (1 if quantize is None else 0.9)
    if quantize is None:  # an Elmo reads the file of a task
        vectors = model.elmo.embed(given, "lstm_outputs1")
        for one, other in zip(found["embed"], vectors, strict=True):
            np.testing.assert_allclose(np.reshape(one, other.shape), other, atol=1e-5)
    if "entities" in found and quantize is None:
        right = model.entities(given)
        assert sum(map(len, right)) > 5
        for row, entities in zip(found["entities"], right, strict=True):
            assert [entity[:4] for entity in row] == [list(entity[:4]) for entity in entities]
            scores = [entity.score for entity in entities]
            assert [entity[4] for entity in row] == pytest.approx(scores, abs=1e-4)


def test_a_quantised_tagger_keeps_to_the_scheme(found):
    allowed = tags.transitions(MANY)
    index_of = {tag: index for index, tag in enumerate(MANY)}
    for row in found["int8"]["tag"]:
        path = [-1, *(index_of[tag] for _, tag in row), -1]
        assert allowed[path[:-1], path[1:]].all()


@pytest.mark.parametrize("name", ["tagger", "no CRF"])  # with a tokenizer and without
@pytest.mark.parametrize("case", [case for case in CASES if "whitespace" not in case])
def test_forms_of_texts(task_files, task_models, case, name):
    lite, model = keras_elmo_lite.Tagger(task_files[name]), task_models[name]
    is_ragged = isinstance(text_of(case), tf.RaggedTensor)
    expected = TypeError if is_ragged else outcome(model.elmo.tokenize, text_of(case))

    def words(texts):
        return [[word for word, *_ in row] for row in lite.tag(texts)]

    assert outcome(words, text_of(case)) == expected


def test_odd_texts(task_files, task_models):
    lite, model = keras_elmo_lite.Tagger(task_files["tagger"]), task_models["tagger"]
    for form in ("Ada met Bob", np.array(["Ada met", "Bob"]), [["Ada", "met"], b"Ada"]):
        for row, right in zip(lite.tag(form, True), model.tag(form, details=True), strict=True):
            assert [(*t[:2], *t[3:]) for t in row] == [(*t[:2], *t[3:]) for t in right]
            assert [t.score for t in row] == pytest.approx([t.score for t in right], abs=1e-4)
    assert repr(lite).startswith("<Tagger of 5 labels, ['O', 'B-")
    assert lite.tag(iter(RAW)) == lite.tag(RAW)
    assert lite.tag([]) == [] and lite.predict([]).shape == (0, 1, 5)
    assert pickle.loads(pickle.dumps(lite)).tag(RAW) == lite.tag(RAW)
    classifier = keras_elmo_lite.TextClassifier(task_files["classifier"])
    assert classifier.predict([]).shape == (0, 3)
    with pytest.raises(TypeError, match="must be a list, an array"):
        lite.entities({"a": 1})


def test_files_of_other_models_are_refused(task_files, files):
    message = "must be the file of a Tagger. Received: the file of a model of the class TextClass"
    with pytest.raises(ValueError, match=message):
        keras_elmo_lite.Tagger(task_files["classifier"])
    with pytest.raises(ValueError, match="The labels must be tags like .*labels=\\[0, 1, 2\\]"):
        keras_elmo_lite.Tagger(task_files["no CRF"]).entities([["a"]])
    with pytest.raises(ValueError, match="a TextClassifier. Received: .* the class Elmo"):
        keras_elmo_lite.TextClassifier(files["whitespace"])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text() | st.binary() | st.text("A\u03a3\u0130\u1e9e\u0301.'\x00"), min_size=1))
@example([bytes(range(65, 65 + count)) for count in range(40)] + [b"x" * 300])
def test_rows_of_words(batch):
    known = "".join(word for word in batch if isinstance(word, str))
    assume(all(unicodedata.category(character) != "Cn" for character in known))
    words = [splitting.text_to_bytes(word) for word in batch]
    assert [lite_words.word_row(word) for word in words] == word_rows(words).numpy().tolist()


english = st.lists(
    st.sampled_from(
        "http://a.b/c, www.b.c. (me@x.org @b #t1 :) :D: <3 a.bc/ "
        "Mr. Dr. No. 5 U.S. 3,000 don't 'tis ( 7.5 - -- ... the End. Jan. 1990's".split()
    )
    | st.text("aZ.,' \u2019-0\u00e9", max_size=5)
).map(" ".join)
surrogates = st.text("a. \u00a0\t\ud83d\udcff\ude00\udca0", max_size=9)


@pytest.mark.parametrize("tokenizer", list(splitting.TOKENIZERS))
def test_tokens_and_spans(tokenizer):
    @settings(max_examples=200, deadline=None)
    @given(texts | noise | english | surrogates)
    def check(text):
        if isinstance(text, bytes):
            text = text.decode("utf-8", "surrogateescape")
        # TensorFlow may know letters of a later Unicode than Python does.
        assume(all(unicodedata.category(character) != "Cn" for character in text))
        tokens = splitting.tokenize(text, tokenizer)
        data = splitting.text_to_bytes(text)
        assert [tokens] == get_tokenizer(tokenizer).tokenize([data]).to_list()
        assert lite_words.spans(text, tokens, tokenizer) == token_spans(text, tokenizer)

    check()


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.sampled_from(["O", *(f"{p}{t}" for p in "BIESLUMb" for t in ("-A", "_A-B", "", "-"))])
    )
    | st.lists(st.sampled_from(["o", *(f"{t}-{p}" for p in "BIESLUMb" for t in ("A", "A-B"))]))
)
def test_entities(names):
    assert lite_tasks.spans_of_entities(names) == tags.entities(names)
