"""The tagger: what it reads, and the tags and entities that it finds."""

import warnings

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from tasks.cases import SENTENCES, TAGS, TEXTS, batched, padded
from tasks.cases import TAG_NAMES as NAMES

import keras_elmo
from keras_elmo import Tagger, tags
from keras_elmo.tasks.batches import as_batch, batches
from keras_elmo.tasks.examples import read_examples


@pytest.fixture(scope="module")
def tagger(one_layer_folder):
    keras.utils.set_random_seed(0)
    return Tagger(one_layer_folder, NAMES, units=4, tokenizer="whitespace")


PADDED = padded(SENTENCES), padded(TAGS)
FORMS = {
    "lists": (SENTENCES, TAGS),
    "raw strings": (TEXTS, TAGS),
    "padded tags": (SENTENCES, padded(TAGS)),
    "padded lists": [column.tolist() for column in PADDED],
    "pandas": (pd.Series(SENTENCES), pd.Series(TAGS)),
    "ragged": (tf.ragged.constant(SENTENCES), tf.ragged.constant(TAGS)),
    "tf.data": (batched(3, SENTENCES, TAGS), None),
}
DATASET = tf.data.Dataset.from_tensor_slices(PADDED).batch(3)  # without a tokenizer
NO_TOKENIZER = {"padded arrays": PADDED, "tf.data, padded": (DATASET, None)}


@pytest.mark.parametrize("form", FORMS | NO_TOKENIZER)
def test_every_form_is_read_alike(tagger, form, monkeypatch):
    if form in NO_TOKENIZER:
        with pytest.raises(ValueError, match="a RaggedTensor, or make the model with `tokenizer="):
            read_examples(tagger, *NO_TOKENIZER[form])
        monkeypatch.setattr(tagger.elmo, "tokenizer", None)
    texts, labels = {**FORMS, **NO_TOKENIZER}[form]
    examples = read_examples(tagger, texts, labels, batch_size=7)
    assert examples.tokens.to_list() == [[w.encode() for w in row] for row in SENTENCES]
    assert examples.targets.to_list() == [[NAMES.index(tag) for tag in row] for row in TAGS]
    assert examples.batch_size == (3 if labels is None else 7)


def test_a_dataset_without_an_end_is_read_as_it_comes(one_layer_folder):
    model = Tagger(one_layer_folder, TAGS, units=4, tokenizer=None)
    assert model.labels == ["B-PER", "O", "B-LOC", "I-PER", "I-LOC"]
    for dataset in (FORMS["tf.data"][0], DATASET):
        stream = batches(read_examples(model, dataset.repeat(), steps=1), model.elmo)
        inputs, targets = next(iter(stream.skip(6)))  # the last two and the first ones
        assert inputs["lengths"].numpy().tolist() == [5, 5]
        assert targets.numpy().tolist() == 2 * [[model.labels.index(tag) for tag in TAGS[-1]]]


def test_it_learns_tags_and_entities(trained_tagger):
    trained, expected = trained_tagger, zip(SENTENCES, TAGS, strict=True)
    tagged = trained.tag(SENTENCES)
    assert tagged == [list(zip(*pair, strict=True)) for pair in expected]
    assert trained.tag(TEXTS) == trained.tag(PADDED[0].tolist()) == tagged
    assert trained.tag([]) == [] and trained.tag([[], ""]) == [[], []]
    p, details = trained.predict(TEXTS, verbose=0), trained.tag(TEXTS, details=True)
    for row, (text, tokens) in enumerate(zip(TEXTS, details, strict=True)):
        assert [(token.text, token.tag) for token in tokens] == tagged[row]
        assert [text[token.start : token.end] for token in tokens] == SENTENCES[row]
        scores = [token.score for token in tokens]
        np.testing.assert_allclose(scores, p[row, : len(tokens)].max(-1), atol=1e-5)
    assert [t[3:] for t in trained.tag([["Ada", "met"]], details=True)[0]] == [(0, 1), (1, 2)]
    found = trained.entities(TEXTS[::4])
    assert [entity[:4] for entity in found[2]] == [("PER", 0, 3, "Ada"), ("PER", 8, 15, "Charles")]
    assert found[3][1][:4] == ("PER", 13, 25, "Ada Lovelace")
    assert found[3][1].score == pytest.approx(min(t.score for t in details[12][2:]), abs=1e-5)
    assert [entity[:4] for entity in found[4]] == [("LOC", 9, 17, "New\u00a0York")]
    for text, spans in zip(TEXTS[::4], found, strict=True):
        assert all(text[span.start : span.end] == span.text for span in spans)
    of_tokens = [("LOC", 0, 1, "London"), ("PER", 2, 4, "Ada Lovelace")]
    raw, listed = trained.entities([TEXTS[12], SENTENCES[12]])
    assert [entity[:4] for entity in raw] == [entity[:4] for entity in found[3]]
    assert [entity[:4] for entity in listed] == of_tokens
    assert trained.entities([]) == []
    array = trained.entities([np.array(TEXTS[12])])[0]  # without axes, it is a text
    assert [e[:4] for e in array] == [e[:4] for e in raw]
    with pytest.raises(ValueError, match="must have an end"):
        trained.entities(batched(3, TEXTS).repeat())
    batches = tf.data.Dataset.from_tensor_slices(TEXTS[8:9]).batch(1)
    for form in (TEXTS[8], np.array(TEXTS[8:9])[:, None], (text for text in TEXTS[8:9]), batches):
        assert [e[:4] for e in trained.entities(form)[0]] == [e[:4] for e in found[2]]
    assert trained.entities([np.array(["Ada"])])[0][0][:4] == ("PER", 0, 1, "Ada")  # tokens
    figures = trained.evaluate(*FORMS["tf.data"], verbose=0, return_dict=True)
    assert (figures["accuracy"], figures["f1"]) == (1, 1)
    assert trained.report(*FORMS["tf.data"]).classes["PER"] == (1, 1, 1, 16)


def test_early_stopping_keeps_the_epoch_with_the_best_f1(trained_tagger):
    stopping = trained_tagger.early_stopping()
    assert stopping.monitor == "val_f1" == f"val_{trained_tagger.main_metric}"
    found = trained_tagger.history.history["val_f1"]
    kept = trained_tagger.evaluate(SENTENCES, TAGS, verbose=0, return_dict=True)["f1"]
    assert len(found) < 60 and kept == pytest.approx(max(found)) and kept > found[0]


def test_each_sentence_is_what_it_is_alone(trained_tagger):
    trained = trained_tagger
    p = trained.predict(SENTENCES, batch_size=3, verbose=0)
    assert p.shape == (20, 5, 5) and p.dtype == np.float32
    inputs, _ = as_batch(read_examples(trained, SENTENCES, TAGS).columns(), trained.elmo)
    np.testing.assert_allclose(trained(inputs), trained(SENTENCES), atol=1e-4)
    for row, sentence in list(enumerate(SENTENCES))[::4]:
        alone = trained.predict([sentence], verbose=0)[0]
        np.testing.assert_allclose(alone, p[row, : len(sentence)], atol=1e-5)
        np.testing.assert_allclose(alone.sum(-1), 1, atol=1e-5)
        assert not p[row, len(sentence) :].any()


def test_entities_with_a_tokenizer_that_changes_the_text(one_layer_folder):
    model = Tagger(one_layer_folder, NAMES, units=4, tokenizer="treebank")
    texts = ['He\u00df said: "caf\u00e9," don\'t.', "", "\U0001f600 (New York)", "a\ud83d. York"]
    tokens = model.elmo.tokenize(texts)
    best = [[NAMES.index("B-PER")] * len(row) for row in tokens]
    model._outputs = lambda *_: (best, [[[1.0] * len(NAMES)] * len(row) for row in tokens])
    for text, spans, row in zip(texts, model.entities(texts), tokens, strict=True):
        assert [text[span.start : span.end] for span in spans] == [span.text for span in spans]
        assert len(spans) == len(row)


def test_forbidden_transitions_are_not_taken(one_layer_folder, trained_tagger):
    keras.utils.set_random_seed(1)
    model = Tagger(one_layer_folder, NAMES, units=4)
    scores = model.head.get_layer("scores")
    scores.set_weights([10 * np.random.normal(size=w.shape) for w in scores.get_weights()])
    sentences = [[f"w{k}" for k in range(n)] for n in range(1, 40)]
    rows = [[tag for _, tag in row] for row in model.tag(sentences)]
    pairs = {pair for row in rows for pair in zip(["O", *row], row, strict=False)}
    wrong = [(a, b) for a, b in pairs if b[0] == "I" and a[2:] != b[2:]]
    assert any(b[0] == "I" for _, b in pairs) and not wrong
    if trained_tagger.has_crf:  # the training kept them
        crf, allowed = trained_tagger.head.get_layer("crf"), tags.transitions(NAMES)
        np.testing.assert_array_equal(crf.transitions > -1e3, allowed[:-1, :-1])
        np.testing.assert_array_equal(crf.start > -1e3, allowed[-1, :-1])
        np.testing.assert_array_equal(crf.end > -1e3, allowed[:-1, -1])


@pytest.mark.parametrize("is_endless", [False, True])
def test_tags_of_another_scheme_are_allowed_with_a_warning(one_layer_folder, is_endless):
    def lowest(sentences, tags):
        model = Tagger(one_layer_folder, NAMES, units=4)
        x, y, steps = sentences, tags, None
        if is_endless:
            x, y, steps = batched(3, sentences, tags).repeat(), None, 1
        model._check_targets(read_examples(model, x, y, steps=steps))
        if y is not None:  # The loss leaves out what is forbidden.
            assert 0 < model.evaluate(x, y, verbose=0)[0] < 9
        return model.head.get_layer("crf").get_weights()[1].min()

    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert lowest(SENTENCES, TAGS) < -1e3
    tags = [["I-PER" if tag == "B-PER" else tag for tag in row] for row in TAGS]
    with pytest.warns(UserWarning, match=".* sentences break .* I-PER after no tag in sente.*; so"):
        assert lowest(SENTENCES, tags) > -1
    if not is_endless:
        tags = [list(row) for row in TAGS * 6]
        tags[1][0] = "I-LOC"
        with pytest.warns(UserWarning, match="1 of 120 sentences .* in sentence 1; .* left out"):
            assert lowest(SENTENCES * 6, tags) < -1e3


def test_weights_of_sentences_and_tags(tagger):
    weights = np.linspace(0, 2, len(SENTENCES))
    examples = read_examples(tagger, SENTENCES, TAGS, weights)
    found = examples.weighted({"O": 3.0}, tagger._labels).weights.to_list()
    for weight, row, right in zip(weights, found, TAGS, strict=True):
        assert row == pytest.approx([weight * (3 if tag == "O" else 1) for tag in right])
    # Weights of 0 leave the loss of the others, in a mean over all tokens.
    dataset = batched(20, SENTENCES, TAGS, weights)
    examples = read_examples(tagger, dataset, steps=1).weighted({"O": 2.0}, tagger._labels)
    _, _, batch = next(iter(batches(examples, tagger.elmo)))
    for weight, row, expected in zip(weights, batch.numpy(), TAGS, strict=True):
        expected = [weight * (2.0 if tag == "O" else 1.0) for tag in expected]
        np.testing.assert_allclose(row[: len(expected)], expected, atol=1e-6)
    some = tagger.evaluate(SENTENCES, TAGS, sample_weight=[1.0] + [0.0] * 19, verbose=0)[0]
    alone = tagger.evaluate(SENTENCES[:1], TAGS[:1], verbose=0)[0]
    count = sum(map(len, SENTENCES))
    assert some * count == pytest.approx(alone * len(SENTENCES[0]), rel=1e-4)


def test_parts_of_speech_have_no_f1_and_no_entities(one_layer_folder):
    model = Tagger(one_layer_folder, ["N", "V"], crf=False, units=4, dtype="mixed_bfloat16")
    history = model.fit([["a", "b"]], [["N", "V"]], epochs=1, verbose=0).history
    assert set(history) == {"loss", "accuracy"}
    assert set(model.report([["a", "b"]], [["N", "V"]]).classes) <= {"N", "V"}
    with pytest.raises(ValueError, match="tags like B-PER.* call `tag`.* labels=.'N', 'V'."):
        model.entities(["a b"])
    model = Tagger(one_layer_folder, [*NAMES, "X"], units=4)
    with pytest.warns(UserWarning, match=r"for an F1 of entities.* Received: \['X'\], too"):
        model._check_targets(None)
    with pytest.raises(ValueError, match=r"Received: labels=\['X'\]$"):
        model.entities(["a b"])


def test_the_saved_model_gives_tags_and_bytes(trained_tagger, tmp_path):
    keras_elmo.export_saved_model(trained_tagger, tmp_path / "1", max_tokens=6)
    loaded = tf.saved_model.load(str(tmp_path / "1"))
    assert loaded(["Ada"]).numpy().tolist() == [[b"B-PER"]]
    signatures = loaded.signatures
    from_text = signatures["serving_default"](text=tf.constant(TEXTS))
    from_tokens = signatures["tokens"](tokens=tf.constant(padded(SENTENCES, 6)))
    p = trained_tagger.predict(TEXTS, verbose=0)
    starts, ends = from_text["starts"].numpy(), from_text["ends"].numpy()
    for row, text in enumerate(TEXTS):
        count, spans = len(SENTENCES[row]), zip(starts[row], ends[row], strict=True)
        tokens = [text.encode()[start:end].decode() for start, end in spans]
        assert tokens[:count] == SENTENCES[row] and not "".join(tokens[count:])
        for found in (from_text, from_tokens):
            tags = [tag.decode() for tag in found["tags"][row].numpy()]
            assert tags[:count] == TAGS[row] and not "".join(tags[count:])
            best = p[row, :count].max(-1)
            np.testing.assert_allclose(found["probabilities"][row, :count], best, atol=1e-5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="at most 6 tokens"):
        signatures["serving_default"](text=tf.constant(["a b c d e f g"]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="at most 6 tokens"):
        signatures["tokens"](tokens=tf.constant(["a b c d e f g".split()]))


TOKENS = [["a"], ["b", "c"]]


@pytest.mark.parametrize(
    ("x", "y", "error", "message"),
    [
        (SENTENCES, TAGS[:-1], ValueError, "20 sentences, 19 lists of tags"),
        (["a", "b"], ["O", "B-X"], TypeError, "must be a list. Received: 'O'"),
        (["a", "b c"], [["O"], ["O"] * 3], ValueError, "2 tokens and 3 tags in sentence 1: b c"),
        (TOKENS, padded([["O"], ["O"]], 3), ValueError, "2 tokens and 1 tags in sentence 1: b c"),
        (batched(3, [["a"]], [["O", "O"]]), None, ValueError, "2 tags in .* of batch 0"),
        ([["a"], ["b", "c"]], [["O"], ["O", "X"]], ValueError, "'X' in row 1 .* sentence 1"),
        ([["a", 1]], [["O", "O"]], TypeError, "Received: 1 .int. in token 1 of row 0"),
    ],
)
def test_wrong_input_is_one_line(tagger, x, y, error, message):
    for call in (tagger.fit, tagger.evaluate):
        with pytest.raises(error, match=message) as caught:
            call(x, y)
        assert "\n" not in str(caught.value)


def test_padded_batches_of_one_column_are_tokens_too(tagger, monkeypatch):
    monkeypatch.setattr(tagger.elmo, "tokenizer", None)
    columns = [["New York", "x"], ["New York"]], [["O", "O"], ["O"]]
    rows = batched(1, *columns).unbatch().map(lambda *row: row)
    examples = read_examples(tagger, rows.padded_batch(1))
    assert examples.tokens.row_lengths().numpy().tolist() == [2, 1]
    one = read_examples(tagger, [["a"], ["b"]], [np.array(["O"]), np.array(["B-LOC"])])
    assert one.targets.to_list() == [[4], [0]]


def test_numbers_that_are_padded_with_any_number(one_layer_folder):
    model = Tagger(one_layer_folder, [0, 3, 1], units=2)
    found = read_examples(model, TOKENS, np.array([[3, 0, 0], [1, 0, -1]])).targets
    assert found.to_list() == [[1], [2, 0]]
    with pytest.raises(ValueError, match="2 tokens and 1 tags"):
        read_examples(model, TOKENS, np.array([[3], [1]]))


def test_the_elmo_must_give_a_vector_a_token(one_layer_folder):
    for arguments in ({"max_tokens": 3}, {"keep_sentence_boundaries": True}):
        with pytest.raises(ValueError, match="a vector for each token"):
            Tagger(one_layer_folder, NAMES, **arguments)


def test_a_text_of_5000_tokens(tagger):
    assert len(tagger.tag(["word " * 5000])[0]) == 5000
