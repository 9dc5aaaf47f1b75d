"""`keras_elmo_lite.Elmo` gives what `keras_elmo.Elmo` gives."""

import copy
import pickle
import zlib

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from manylangs_models import CHARACTERS
from text.cases import CASES, outcome, text_of

from keras_elmo.characters import Dictionary
from keras_elmo.tflite import export as tflite

Elmo = pytest.importorskip("keras_elmo_lite", reason="pip install ./lite").Elmo
from keras_elmo_lite import model_file  # noqa: E402
from keras_elmo_lite.words import DictionaryScheme  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Lists of strings in a list are tokens")
SENTENCES = [
    "The cat sat on the mat .",
    "",
    "na\u00efve Zo\u00eb \u732b \U0001f642",
    ["two words", "", "end"],
    ("a", b"\xff\xfe", "\udcff"),
    np.array(["one", "two"]),
    " ".join(f"w{number % 30}" for number in range(75)),
    "x" * 60,
]
LAYERS = ["elmo", "word_emb", "lstm_outputs1", "lstm_outputs2", "average", "sum", "top", "all"]
LAYERS += ["default", 0, 1, 2, -1, -3]


def assert_same(found, expected, atol=1e-5):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        if isinstance(other, dict):
            assert list(one) == list(other)
            assert_same(list(one.values()), list(other.values()), atol)
        else:
            assert one.dtype == other.dtype == np.float32
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=0, atol=atol)


def test_every_choice_of_layers_equals_elmo(lite, models):
    lite, elmo = lite["whitespace"], models["whitespace"]
    expected = elmo.embed(SENTENCES, layers=LAYERS)
    assert_same(lite.embed(SENTENCES, layers=LAYERS), expected)
    for layers in LAYERS:
        found = lite.embed(iter(SENTENCES), layers)
        assert_same(found, [row[layers] for row in expected])
        assert isinstance(found, np.ndarray) == (layers == "default")
    assert lite.tokenize(SENTENCES) == elmo.tokenize(SENTENCES)
    stream = lite.embed_stream(SENTENCES, layers="top")
    np.testing.assert_allclose(next(stream), expected[0]["top"], atol=1e-5)
    assert lite.embed([]) == [] and lite.embed([], "default").shape == (0, 16)


def test_a_sentence_gives_the_same_vectors_in_any_batch(lite, models):
    rng = np.random.default_rng(0)
    lite, elmo = lite["whitespace"], models["whitespace"]
    words = [f"w{k}" for k in range(200)]
    sentences = [list(rng.choice(words, count)) for count in [*rng.integers(0, 60, 60), 5000]]
    together = lite.embed(sentences, layers="all")
    assert_same(together, elmo.embed(sentences, layers="all"))
    alone = [lite.embed([sentence], layers="all")[0] for sentence in sentences[:20]]
    assert_same(alone, together[:20])


def test_similarity_is_the_cosine_of_the_means(lite, models):
    texts = ["The cat sat .", "A dog ran ."]
    a, b = models["whitespace"].embed(texts, layers="default")
    expected = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    assert lite["whitespace"].similarity(*texts) == pytest.approx(expected, abs=1e-5)
    assert lite["whitespace"].similarity("", texts[0]) == 0


@pytest.mark.parametrize("name", ["two mixes", "layer norm"])
def test_several_mixes(lite, models, name):
    """A mix with layer norm is that of the sentence alone."""
    sentences = ["The cat sat .", "Hello", ""]
    for layers in ("elmo", "elmo_2", "default"):
        expected = [models[name].embed([sentence], layers)[0] for sentence in sentences]
        assert_same(lite[name].embed(sentences, layers), expected)


def test_files_that_it_cannot_read(files, tmp_path):
    data, path = files["whitespace"].read_bytes(), tmp_path / "model.tflite"
    rule = "must be a whole TFLite file that keras_elmo wrote. Received: "
    later = data.replace(b'{"format": 1,', b'{"format": 9,')[:-4]
    for content, message in [
        (b"not a TFLite file", f"{rule}a file that begins with b'not a TF'$"),
        (data[:-1], f"{rule}.* checksum"),
        (later + zlib.crc32(later).to_bytes(4, "little"), "later version.*: pip install --upgrade"),
        (files["fixed"].read_bytes(), "without `max_tokens`. Received: serving_default"),
    ]:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            Elmo(path)
    with pytest.raises(ValueError, match="`num_threads` must be at least 1"):
        Elmo(files["whitespace"], num_threads=0)


def test_the_threads_of_a_core_share_one_of_the_file(tmp_path, monkeypatch):
    for processor, siblings in enumerate(["0,2", "1", "0,2"]):
        (tmp_path / f"cpu{processor}").write_text(siblings)
    monkeypatch.setattr(model_file, "_CORE", f"{tmp_path}/cpu{{}}")
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2, 8}, raising=False)
    assert model_file._count_cores() == 3  # it knows nothing of processor 8


def test_every_wrong_bit_is_found(files, tmp_path):
    data, path = files["whitespace"].read_bytes(), tmp_path / "model.tflite"
    rng = np.random.default_rng(0)
    for position in rng.choice(len(data), 100, replace=False):
        damaged = bytearray(data)
        damaged[position] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        for read in (Elmo, tflite.metadata):
            with pytest.raises(ValueError, match="must be a whole TFLite file"):
                read(path)


def test_the_name_of_a_model_is_answered_with_the_command_that_writes_a_file():
    with pytest.raises(FileNotFoundError, match="`keras-elmo tflite MODEL .* Received: 'tiny'"):
        Elmo("tiny")


def test_a_model_is_copied_and_pickled(lite, files, tmp_path, monkeypatch):
    expected = lite["whitespace"].embed(["The cat sat ."])
    monkeypatch.chdir(files["whitespace"].parent)
    model = Elmo("whitespace.tflite", num_threads=1)
    data = pickle.dumps(model)
    monkeypatch.chdir(tmp_path)
    for copied in (copy.deepcopy(model), pickle.loads(data)):
        assert_same(copied.embed(["The cat sat ."]), expected, 1e-6)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text("Thecat\u4eca\U0001f600\x00xé", max_size=12) | st.binary(max_size=9)))
def test_ids_of_a_dictionary_without_words(words):
    """(tests/export/test_manylangs.py has a file with words.)"""
    dictionary = Dictionary(CHARACTERS)
    words = [word.encode() if isinstance(word, str) else word for word in words]
    found = DictionaryScheme(CHARACTERS, None, max_characters=9).ids(words)
    assert found.tolist() == [dictionary.word_to_ids(word, 9) for word in words]


@pytest.mark.parametrize("name", ["whitespace", "treebank", "space", None])
@pytest.mark.parametrize("case", CASES)
def test_text_means_what_it_means_to_keras_elmo(lite, models, case, name):
    expected = outcome(models[name].tokenize, text_of(case))
    if isinstance(text_of(case), tf.RaggedTensor):  # keras-elmo-lite works without TensorFlow
        expected = TypeError
    assert outcome(lite[name].tokenize, text_of(case)) == expected


def test_whitespace_in_tokens_is_warned_of_once(lite, models):
    sentences = [["two words", "a", "b"]] * 600
    for model in (models["whitespace"], lite["whitespace"]):
        with pytest.warns(UserWarning, match="'two words' as a token, and 256 of 768") as found:
            model.tokenize(sentences)
        assert len(found) == 1


@pytest.mark.parametrize("layers", ["elmo_2", 3, True, []])
def test_wrong_layers_are_refused_as_by_elmo(lite, models, layers):
    errors = []
    for elmo in (lite["whitespace"], models["whitespace"]):
        with pytest.raises(ValueError) as error:
            elmo.embed(["a"], layers=layers)
        errors.append(str(error.value))
    assert errors[0] == errors[1]
