import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo import Elmo, ElmoEmbedding, strings
from keras_elmo.models.compiled import bucket, pad_to_buckets, without_xla

SENTENCES = ["The dog let out a sharp bark .", "", "One", "a b c d e f g h i j k l m n"]


def test_buckets():
    sizes = range(1, 200)
    buckets = [int(bucket(tf.constant(size))) for size in sizes]
    assert sorted(set(buckets)) == [8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256]
    assert all(size <= result for size, result in zip(sizes, buckets, strict=True))
    padded = pad_to_buckets(tf.ones((3, 9, 2)), axes=[0, 1])
    expected = np.pad(np.ones((3, 9, 2)), [(0, 5), (0, 3), (0, 0)])
    np.testing.assert_array_equal(padded, expected)


@pytest.fixture(scope="module")
def compiled(one_layer_folder):
    return Elmo.from_pretrained(one_layer_folder, xla=True)


@pytest.fixture(scope="module")
def plain(one_layer_folder):
    return Elmo.from_pretrained(one_layer_folder, xla=False)


def count_traces(model):
    return model.token_encoder.encoder.compiled.experimental_get_tracing_count()


def test_it_is_compiled_only_if_it_is_asked_for_and_frozen(one_layer_folder, plain):
    assert not Elmo(plain.config).xla
    ids = tf.ones((3, 50), tf.int32)
    plain.token_encoder.encoder(ids)
    assert count_traces(plain) == 0
    model = Elmo.from_pretrained(one_layer_folder, xla=True, trainable_part="all")
    model.token_encoder.encoder(ids)
    model.trainable = False
    with without_xla():
        model.token_encoder.encoder(ids)
    assert count_traces(model) == 0
    model.token_encoder.encoder(ids)
    assert count_traces(model) == 1


def check(compiled, plain, batches):
    for sentences in batches:
        outputs, expected = compiled(sentences), plain(sentences)
        for name in [*plain.output_keys.sequences, "default", "mask"]:
            np.testing.assert_allclose(outputs[name], expected[name], atol=1e-5)


def test_xla_gives_the_same_numbers(compiled, plain):
    check(compiled, plain, [SENTENCES, SENTENCES[:1], SENTENCES * 3])
    vectors = compiled.embed(SENTENCES, layers="all")
    for one, other in zip(vectors, plain.embed(SENTENCES, layers="all"), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_arguments_of_the_encoder_reach_the_compiled_one(compiled, plain):
    ids = tf.constant(np.random.randint(1, 200, (9, 50)), tf.int32)
    one, other = compiled.token_encoder.encoder, plain.token_encoder.encoder
    np.testing.assert_allclose(one(ids, groups=2), other(ids), atol=1e-5)
    with pytest.raises(TypeError, match="group_count"):
        one(ids, group_count=2)


@pytest.mark.parametrize("kwargs", [{"keep_sentence_boundaries": True}, {"stateful": True}])
def test_xla_with_boundaries_or_a_state(one_layer_folder, kwargs):
    models = [Elmo.from_pretrained(one_layer_folder, xla=xla, **kwargs) for xla in (True, False)]
    check(*models, [SENTENCES, SENTENCES])


# With "all", nothing is compiled.
@pytest.mark.parametrize("part", ["mix", "bilm", pytest.param("all", marks=pytest.mark.slow)])
def test_gradients_are_the_same_with_xla(one_layer_folder, part):
    def gradients(xla):
        model = Elmo.from_pretrained(one_layer_folder, xla=xla, trainable_part=part)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(SENTENCES)["elmo"] ** 2)
        values = tape.gradient(loss, [v.value for v in model.trainable_variables])
        return [tf.convert_to_tensor(value) for value in values]

    for one, other in zip(gradients(True), gradients(False), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4, rtol=1e-3)


def test_a_classifier_trains_on_what_xla_compiled(one_layer_folder):
    layers = [keras.Input((), dtype="string"), ElmoEmbedding(one_layer_folder, "default", xla=True)]
    model = keras.Sequential([*layers, keras.layers.Dense(1, activation="sigmoid")])
    model.compile(keras.optimizers.Adam(0.1), "binary_crossentropy")
    texts, labels = strings(SENTENCES), np.array([0, 1, 0, 1])
    losses = model.fit(texts, labels, epochs=20, verbose=0).history["loss"]
    assert losses[-1] < 0.9 * losses[0]


def test_shapes_repeat(compiled):
    compiled(["a b c"])
    before = count_traces(compiled)
    assert before > 0
    for length in range(1, 9):  # one bucket
        compiled([" ".join("abcdefgh"[:length])] * length)
    assert count_traces(compiled) == before
