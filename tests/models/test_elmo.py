import json
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo import Elmo, ElmoEmbedding, batch_to_ids, characters, strings
from keras_elmo.text import WhitespaceTokenizer

SENTENCES = ["The dog let out a sharp bark .", "The bark of the ancient oak was rough .", "", "One"]
TOKENS = [sentence.split() for sentence in SENTENCES]


def assert_same(results, expected, names=None, atol=1e-6):
    for name in names or expected:
        one, other = np.asarray(results[name]), np.asarray(expected[name])
        if other.dtype.kind == "f":
            np.testing.assert_allclose(one, other, atol=atol)
        else:
            np.testing.assert_array_equal(one, other)


def test_outputs(elmo):
    outputs = elmo(SENTENCES)
    sequences = dict.fromkeys(["lstm_outputs1", "lstm_outputs2", "elmo"], (4, 9, 16))
    others = {"default": (4, 16), "mask": (4, 9), "sequence_len": (4,), "tokens": (4, 9)}
    shapes = {name: tuple(value.shape) for name, value in outputs.items()}
    assert shapes == {"word_emb": (4, 9, 8), **sequences, **others}
    lengths = np.array([8, 9, 0, 1])
    np.testing.assert_array_equal(outputs["sequence_len"], lengths)
    assert outputs["sequence_len"].dtype == tf.int32
    np.testing.assert_array_equal(outputs["mask"], np.arange(9) < lengths[:, None])
    texts = [[word.decode() for word in row if word] for row in outputs["tokens"].numpy()]
    assert texts == TOKENS
    for name in elmo.output_keys.sequences:
        assert not np.any(outputs[name].numpy()[~outputs["mask"].numpy()])
        np.testing.assert_array_equal(outputs[name]._keras_mask, outputs["mask"])
    means = np.sum(outputs["elmo"], axis=1) / np.maximum(lengths, 1)[:, None]
    np.testing.assert_allclose(outputs["default"], means, atol=1e-6)


SEQUENCES = ["word_emb", "lstm_outputs1", "elmo", "mask", "tokens"]


def widths(outputs):
    return {outputs[name].shape[1] for name in SEQUENCES}


def test_one_graph_serves_every_width_and_embed(one_layer_folder, monkeypatch):
    elmo = Elmo.from_pretrained(one_layer_folder, tokenizer=None)
    scheme, traces = elmo.token_encoder.scheme, []
    ids = scheme.ids
    monkeypatch.setattr(scheme, "ids", lambda words: traces.append(words) or ids(words))
    for width in (4, 3):
        assert elmo(tf.fill([2, width], "a"))["elmo"].shape == (2, width, 16)
    assert elmo.embed([["a"]])[0].shape == (1, 16)
    assert len(traces) == 1
    for texts in (np.empty((0, 3), str), np.full((2, 3), "")):
        assert elmo(texts)["elmo"].shape == (*texts.shape, 16)


def test_padded_tokens_keep_their_width(one_layer_folder, untraced):
    elmo = Elmo.from_pretrained(one_layer_folder)
    tokens = Elmo.from_pretrained(one_layer_folder, tokenizer=None)
    rows = [row + [""] * (13 - len(row)) for row in TOKENS]
    expected, padded = elmo(SENTENCES), tf.constant(rows)
    outputs = tokens(padded)
    np.testing.assert_array_equal(outputs["elmo"]._keras_mask, outputs["mask"])
    graph = tf.function(tokens, input_signature=[tf.TensorSpec([None, None], tf.string)])
    inputs = keras.Input((13,), dtype="string")
    model = keras.Model(inputs, tokens(inputs))
    assert widths(model.output) == {13}
    for found in (outputs, tokens(np.array(rows)), graph(padded), model(padded)):
        assert widths(found) == {13}
        for name in SEQUENCES:
            assert_same({name: found[name][:, :9]}, expected, [name])
            rest = found[name][:, 9:]
            assert bool(tf.reduce_all(rest == tf.zeros_like(rest)))
        assert_same(found, expected, ["default", "sequence_len"])
    kept = Elmo.from_pretrained(one_layer_folder, tokenizer=None, keep_sentence_boundaries=True)
    assert widths(kept(padded)) == {15}
    ids = np.pad(elmo.batch_to_ids([["One"]]), [(0, 0), (0, 4), (0, 0)])
    assert kept.from_character_ids(ids)["elmo"].shape == (1, 7, 16)
    # Padding in the middle is a token.
    assert tokens(np.array([["a", "", "b", ""]]))["sequence_len"].numpy().tolist() == [3]


def test_max_tokens_fixes_the_width(one_layer_folder, untraced):
    elmo = Elmo.from_pretrained(one_layer_folder)
    fixed = Elmo.from_pretrained(one_layer_folder, max_tokens=6)
    first = elmo([" ".join(row[:6]) for row in TOKENS])
    assert widths(fixed(keras.Input((), dtype="string"))) == {6}
    graph = tf.function(fixed, input_signature=[tf.TensorSpec([None], tf.string)])
    shapes = graph.get_concrete_function().output_shapes
    assert {shapes[name][1] for name in SEQUENCES} == {6}
    outputs = fixed(SENTENCES)
    np.testing.assert_array_equal(outputs["elmo"]._keras_mask, outputs["mask"])
    for found in (outputs, graph(tf.constant(SENTENCES)), fixed(TOKENS)):
        assert_same(found, first, atol=1e-5)  # as if the rest were not there
    for texts in ([""], ["One"], []):
        assert graph(tf.constant(texts, tf.string))["elmo"].shape == (len(texts), 6, 16)
    ids = np.ones((2, 9, 50), np.int32)
    assert fixed.from_character_ids(ids)["mask"].numpy().tolist() == [[True] * 6] * 2
    assert fixed.from_character_ids(ids[:, :2])["elmo"].shape == (2, 6, 16)
    vectors = fixed.embed(SENTENCES)
    assert [len(array) for array in vectors] == [6, 6, 0, 1]
    np.testing.assert_allclose(vectors[1], first["elmo"][1], atol=1e-5)
    assert list(map(len, fixed.tokenize(SENTENCES))) == [6, 6, 0, 1]
    fixed.run_eagerly = True
    assert fixed.predict(SENTENCES, batch_size=2, verbose=0)["elmo"].shape == (4, 6, 16)
    kept = Elmo.from_pretrained(one_layer_folder, max_tokens=6, keep_sentence_boundaries=True)
    assert widths(kept(["One"])) == {8}
    assert [len(array) for array in kept.embed(SENTENCES)] == [8, 8, 2, 3]
    tokens = [word.decode() for word in kept(SENTENCES)["tokens"][0].numpy()]
    assert tokens == ["<S>", *TOKENS[0][:6], "</S>"]


def test_character_ids_give_the_same(elmo):
    expected, ids = elmo(SENTENCES), batch_to_ids(TOKENS)
    names = [name for name in expected if name != "tokens"]
    assert_same(elmo.from_character_ids(ids), expected, names)
    longer = elmo.from_character_ids(np.pad(ids, [(0, 0), (0, 2), (0, 0)]))
    assert longer["elmo"].shape == (4, 11, 16) and longer["mask"].shape == (4, 11)
    np.testing.assert_allclose(longer["elmo"][:, :9], expected["elmo"], atol=1e-6)


def test_character_ids_with_sentence_boundaries(elmo):
    tokens = [["The", "dog", "."], [], ["One"]]
    expected = elmo.from_character_ids(batch_to_ids(tokens))
    # As bilm-tf's Batcher makes them.
    ids = np.zeros((3, 5, 50), np.int64)
    begin, end = characters.boundary_ids()
    for row, words in enumerate(tokens):
        ids[row, : len(words) + 2] = [begin, *map(characters.word_to_ids, words), end]
    with pytest.raises(ValueError, match="has_boundaries=True"):
        elmo.from_character_ids(ids)
    graph = tf.function(lambda ids: elmo.from_character_ids(ids, has_boundaries=True))
    for outputs in (elmo.from_character_ids(ids, has_boundaries=True), graph(tf.constant(ids))):
        assert_same(outputs, expected)
    empty = elmo.from_character_ids(ids[:, :0], has_boundaries=True)
    assert empty["elmo"].shape == (3, 0, 16)
    twice = np.concatenate([ids[:, :1], ids], 1)
    for bad in (ids[:, 1:], ids[:1, :-1], twice, batch_to_ids(tokens)):
        with pytest.raises(ValueError, match="must be <S>"):
            elmo.from_character_ids(bad, has_boundaries=True)


@pytest.mark.parametrize(
    "kwargs, message",
    [
        ({"num_mixes": 0}, "`num_mixes`"),
        ({"tokenizer": "moses"}, "`tokenizer`"),
        ({"trainable": "bilm"}, 'trainable_part="bilm"'),
        ({"trainable": None}, "`trainable`"),
        ({"trainable_part": False}, "`trainable_part`"),
        ({"max_tokens": 0}, "`max_tokens`"),
        ({"initial_scalars": [1.0]}, "one value for each input"),
        ({"config": {"lstm": {}}}, "`char_cnn` must"),
    ],
)
def test_bad_arguments(small_config, kwargs, message):
    with pytest.raises(ValueError, match=message):
        Elmo(**{"config": small_config, **kwargs})


def test_no_sentences(elmo):
    outputs = elmo(tf.constant([], tf.string))
    assert outputs["elmo"].shape == (0, 1, 16) and outputs["default"].shape == (0, 16)
    assert elmo.predict([], verbose=0)["elmo"].shape == (0, 1, 16)
    outputs = elmo([""])
    assert outputs["elmo"].shape == (1, 1, 16) and not np.any(outputs["default"])
    assert outputs["mask"].numpy().tolist() == [[False]]


def test_boundaries_kept(elmo, small_folder, untraced):
    keeping = Elmo.from_pretrained(small_folder, keep_sentence_boundaries=True)
    kept, removed = keeping(SENTENCES), elmo(SENTENCES)
    np.testing.assert_array_equal(kept["sequence_len"], removed["sequence_len"] + 2)
    assert kept["tokens"][3].numpy().tolist() == [b"<S>", b"One", b"</S>"] + [b""] * 8
    for row, count in enumerate(map(len, TOKENS)):
        inner = kept["elmo"][row, 1 : count + 1]
        np.testing.assert_allclose(inner, removed["elmo"][row, :count], atol=1e-6)
        assert np.all(np.any(kept["elmo"][row, : count + 2], axis=-1))
    assert [len(array) for array in keeping.embed(SENTENCES)] == [10, 11, 2, 3]
    np.testing.assert_allclose(keeping.embed(SENTENCES, "default"), kept["default"], atol=1e-6)


def test_several_mixes_of_one_run(small_folder, untraced):
    elmo = Elmo.from_pretrained(small_folder, num_mixes=3)
    elmo.mixes[1].scalars.assign([9.0, -9.0, -9.0])
    elmo.mixes[2].gamma.assign(2.0)
    outputs = elmo(SENTENCES)
    token = outputs["word_emb"]
    np.testing.assert_allclose(outputs["elmo_2"], tf.concat([token, token], -1), atol=1e-5)
    np.testing.assert_allclose(outputs["elmo_3"], 2 * outputs["elmo"], atol=1e-6)
    vectors = elmo.embed(["One"], "elmo_3")[0]
    np.testing.assert_allclose(vectors, outputs["elmo_3"][3, :1], atol=1e-6)


def test_layer_norm_of_the_mix_leaves_boundaries_out(small_folder, untraced):
    outputs = Elmo.from_pretrained(small_folder, do_layer_norm=True)(SENTENCES)
    mask, expected = outputs["mask"].numpy(), 0
    token = tf.concat([outputs["word_emb"]] * 2, -1)
    for layer in (token, outputs["lstm_outputs1"], outputs["lstm_outputs2"]):
        real = layer.numpy()[mask]
        expected += (real - real.mean()) / np.sqrt(real.var() + 1e-12) / 3
    np.testing.assert_allclose(outputs["elmo"].numpy()[mask], expected, atol=1e-4)
    assert not np.any(outputs["elmo"].numpy()[~mask])


def test_the_state_is_carried_row_by_row(small_folder, elmo, untraced):
    stateful = Elmo.from_pretrained(small_folder, stateful=True)
    first = stateful(SENTENCES)
    assert_same(first, elmo(SENTENCES))  # begins with zeros
    small = stateful(SENTENCES[:1])
    assert np.abs(small["elmo"] - first["elmo"][:1, :8]).max() > 1e-3
    # A smaller batch leaves the state of the rows below it.
    again = stateful(SENTENCES)
    stateful.reset_states()
    assert_same(stateful(SENTENCES), first)
    second = stateful(SENTENCES)
    for name in ("lstm_outputs1", "lstm_outputs2"):
        np.testing.assert_allclose(again[name][1:], second[name][1:], atol=1e-6)
    # Embedding many sentences knows no state.
    np.testing.assert_allclose(stateful.embed(["One"])[0], elmo.embed(["One"])[0], atol=1e-6)


@pytest.mark.parametrize("part", ["mix", "all"])
def test_training_changes_what_it_should_and_learns(one_layer_folder, part, untraced):
    elmo = Elmo.from_pretrained(one_layer_folder, trainable_part=part)
    inputs = keras.Input((), dtype="string")
    model = keras.Model(inputs, keras.layers.Dense(1)(elmo(inputs)["default"]))
    model.compile(keras.optimizers.Adam(0.01), "mse", run_eagerly=True)
    before = [v.numpy() for v in elmo.variables]
    texts, labels = np.array(SENTENCES, dtype=object), np.array([1.0, 2, 0, 3])
    losses = model.fit(texts, labels, epochs=3, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    pairs = zip(elmo.variables, before, strict=True)
    changed = {variable.path for variable, old in pairs if np.any(variable.numpy() != old)}
    assert changed == {variable.path for variable in elmo.trainable_variables}


def test_a_gradient_through_an_eager_call(one_layer_folder):
    elmo = Elmo.from_pretrained(one_layer_folder)
    elmo(SENTENCES)  # Its graph skips the frozen layers in the backward pass.
    elmo.trainable_part = "all"
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(elmo(SENTENCES)["elmo"] ** 2)
    gradients = tape.gradient(loss, [v.value for v in elmo.trainable_variables])
    assert all(gradient is not None for gradient in gradients)
    assert all(np.any(tf.convert_to_tensor(gradient) != 0) for gradient in gradients[2:4])


def test_predict_evaluate_and_fit_take_lists(one_layer_folder, untraced):
    elmo = Elmo.from_pretrained(one_layer_folder)
    texts = ["The dog barks", "", "One", "It barks", "two words"]
    outputs = elmo.predict(texts, batch_size=2, verbose=0)  # batches of other lengths
    expected = elmo(texts)
    assert_same(outputs, expected, ["elmo", "default", "mask", "sequence_len"])
    assert outputs["tokens"][0, 0] in (b"The", "The")
    targets = {"default": np.zeros((len(texts), 16), np.float32)}
    elmo.compile(keras.optimizers.Adam(0.1), loss={"default": "mse"}, run_eagerly=True)
    loss = elmo.evaluate(texts, targets, verbose=0)
    assert np.ravel(loss)[0] == pytest.approx(np.mean(expected["default"].numpy() ** 2), rel=1e-4)
    validation = (texts[:4], {"default": targets["default"][:4]})
    history = elmo.fit(texts, targets, epochs=2, verbose=0, validation_data=validation).history
    assert history["loss"][-1] < history["loss"][0] and len(history["val_loss"]) == 2
    batches = tf.data.Dataset.from_tensor_slices(texts).batch(4)
    for data in (batches, ((batch,) for batch in batches)):
        assert elmo.predict(data, verbose=0)["elmo"].shape == (len(texts), 3, 16)


def test_text_is_tokenised_once(small_folder, untraced, monkeypatch):
    tokenizer, calls = WhitespaceTokenizer(), []
    split = tokenizer.tokenize_with_offsets
    monkeypatch.setattr(tokenizer, "tokenize_with_offsets", lambda x: calls.append(x) or split(x))
    elmo = Elmo.from_pretrained(small_folder, tokenizer=tokenizer)
    embedding, pooled = ElmoEmbedding(elmo), ElmoEmbedding(elmo, "default")
    model = keras.Sequential([keras.Input((), dtype="string"), embedding, keras.layers.LSTM(2)])
    texts = strings(SENTENCES)
    for call in (elmo, embedding, pooled, model):
        calls.clear()
        call(texts)
        assert len(calls) == 1, call


def test_mixed_precision(one_layer_folder, untraced):
    elmo = Elmo.from_pretrained(one_layer_folder)
    mixed = Elmo.from_pretrained(one_layer_folder, dtype="mixed_float16")
    outputs, expected = mixed(SENTENCES), elmo(SENTENCES)
    assert outputs["elmo"].dtype == tf.float16
    assert_same({"elmo": tf.cast(outputs["elmo"], "float32")}, expected, ["elmo"], atol=0.05)
    assert mixed.embed(SENTENCES)[0].dtype == np.float32


def test_a_model_of_options_alone_warns(small_folder, small_config):
    options = small_folder / "options.json"
    with pytest.warns(UserWarning, match="has random weights.*from_pretrained") as warned:
        Elmo(options)
    assert warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*random weights")
        Elmo(small_config)
        Elmo(json.loads(options.read_text()))
        Elmo.from_pretrained((options, small_folder / "weights.hdf5"))


def parts_of(elmo):
    """The variables of each part, by their identities."""
    mix = {id(v) for layer in elmo.mixes for v in layer.weights}
    bilm = mix | {id(v) for v in elmo.bilm.weights}
    return {"mix": mix, "bilm": bilm, "all": bilm | {id(v) for v in elmo.character_encoder.weights}}


@pytest.mark.parametrize("part", ["mix", "bilm", "all"])
def test_what_trains(small_config, part):
    elmo = Elmo(small_config, trainable_part=part)
    chosen = parts_of(elmo)[part]
    assert elmo.trainable is True and elmo.trainable_part == part
    assert {id(v) for v in elmo.trainable_variables} == chosen
    elmo.trainable = False
    assert elmo.trainable is False and elmo.trainable_variables == []
    elmo.trainable_part = "all"  # still frozen
    assert elmo.trainable_variables == []
    elmo.trainable_part = part
    elmo.trainable = True  # the part that was chosen, not everything
    assert elmo.trainable is True and {id(v) for v in elmo.trainable_variables} == chosen
    with pytest.raises(ValueError, match=f'pass trainable_part="{part}"'):
        elmo.trainable = part
    frozen = Elmo(small_config, trainable=False, trainable_part=part)
    assert frozen.trainable_variables == [] and frozen.trainable_part == part
