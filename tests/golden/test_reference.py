"""The package against the NumPy reference, on random configurations."""

import numpy as np
import pytest
import tensorflow as tf
from files import datasets
from reference import Reference

from keras_elmo import Elmo, ElmoConfig, text

WORDS = ["a", "The", "naïve", "北京", "😀", "x" * 60, "", "don", "'t", ".", "bank", "interest"]
CONFIGURATIONS = 30
IN_EVERY_RUN = [1, 2, 11, 13]  # seeds whose configurations cover all that they should


def random_config(rng):
    units = int(rng.integers(4, 13))
    widest = int(rng.integers(1, 7))
    filters = [(width, int(rng.integers(1, 6))) for width in range(1, widest + 1)]
    num_filters = sum(count for _, count in filters)
    sizes = [units, int(rng.integers(2, units)), min(num_filters, units)]

    def clip():
        return [None, 0.05, 0.3, 3.0][rng.integers(4)]  # the small ones bite

    return ElmoConfig(
        units=units,
        projection_dim=sizes[rng.integers(3)],
        num_layers=int(rng.integers(1, 5)),
        cell_clip=clip(),
        projection_clip=clip(),
        use_skip_connections=bool(rng.integers(2)),
        character_dim=int(rng.integers(1, 6)),
        filters=filters,
        num_highway=int(rng.integers(0, 4)),
        activation=["relu", "tanh"][rng.integers(2)],
        max_characters=int(rng.integers(10, 51)),
    )


def random_model(config, rng, folder):
    elmo = Elmo(config, kernel_initializer="zeros")
    for variable in [*elmo.character_encoder.weights, *elmo.bilm.weights]:
        variable.assign(rng.normal(scale=0.5, size=variable.shape))
    elmo.save_pretrained(folder)
    return elmo, Reference(config.to_options(), datasets(folder / "weights.hdf5"))


def random_sentences(rng):
    lengths = [int(rng.integers(1, 7)), 1, int(rng.integers(1, 7)), 0]
    sentences = [list(rng.choice(WORDS, length)) for length in lengths]
    # `""` is a token, but not at the end of a list, where it is padding.
    return [[*words[:-1], words[-1] or "a"] if words else [] for words in sentences]


def seeds(in_every_run):
    """All seeds, of which the others are slow."""
    slow = [seed for seed in range(CONFIGURATIONS) if seed not in in_every_run]
    return [*in_every_run, *(pytest.param(seed, marks=pytest.mark.slow) for seed in slow)]


@pytest.mark.parametrize("seed", seeds(range(14)))
def test_the_layers_equal_the_reference(seed, tmp_path):
    # Without a graph, which takes a second or more to trace for each configuration.
    rng = np.random.default_rng(seed)
    config = random_config(rng)
    elmo, reference = random_model(config, rng, tmp_path)
    sentences = random_sentences(rng)
    ids = text.batch_to_ids(sentences, config.max_characters)
    boundaries = elmo.character_encoder(tf.constant(elmo.token_encoder.scheme.boundaries))
    tokens = elmo.character_encoder(ids)
    mask = elmo.character_encoder.compute_mask(ids)
    with elmo.bilm.using_loop("padded"):
        layers, _ = elmo.bilm(tokens, mask=mask, boundaries=tf.unstack(boundaries))
    for k, words in enumerate(sentences):
        expected = reference.sentence(words)
        for layer, other in zip(layers, expected, strict=True):
            np.testing.assert_allclose(layer[k, : len(words)], other, rtol=1e-6, atol=1e-5)
            assert not np.any(layer[k, len(words) :])


@pytest.mark.parametrize("seed", seeds(IN_EVERY_RUN))
def test_the_outputs_of_a_model_equal_the_reference(seed, tmp_path, request):
    if seed in IN_EVERY_RUN[1:]:
        request.getfixturevalue("untraced")  # A graph takes seconds to trace.
    rng = np.random.default_rng(seed)
    config = random_config(rng)
    elmo, reference = random_model(config, rng, tmp_path)
    sentences = random_sentences(rng)
    outputs = elmo(sentences)
    for k, words in enumerate(sentences):
        layers = reference.sentence(words)
        count = len(words)
        assert outputs["sequence_len"][k] == count
        tokens = layers[0][:, : config.projection_dim]
        np.testing.assert_allclose(outputs["word_emb"][k, :count], tokens, rtol=1e-6, atol=1e-5)
        for number in range(1, config.num_layers + 1):
            result = outputs[f"lstm_outputs{number}"][k]
            np.testing.assert_allclose(result[:count], layers[number], rtol=1e-6, atol=1e-5)
            assert not np.any(result[count:])
    for k, layers in enumerate(elmo.embed(sentences, layers="all")):
        np.testing.assert_allclose(layers, reference.sentence(sentences[k]), rtol=1e-6, atol=1e-5)


def test_the_configurations_cover_what_they_should():
    configs = [random_config(np.random.default_rng(seed)) for seed in IN_EVERY_RUN]
    for covered in [
        {c.activation for c in configs} == {"relu", "tanh"},
        {c.num_layers for c in configs} == {1, 2, 3, 4},
        {c.num_highway for c in configs} == {0, 1, 2, 3},
        {c.use_skip_connections for c in configs} == {True, False},
        {c.has_projection for c in configs} == {True, False},
        {c.num_filters == c.projection_dim for c in configs} == {True, False},
        {0.05, None} <= {c.cell_clip for c in configs},
        {0.05, None} <= {c.projection_clip for c in configs if c.has_projection},
    ]:
        assert covered


def test_a_state_that_is_carried_equals_one_long_sequence(tmp_path):
    # Forward only: with a carried state, two calls read on where one call would have.
    rng = np.random.default_rng(0)
    config = ElmoConfig(units=8, projection_dim=4, num_layers=1, filters=[(1, 4)], num_highway=0)
    elmo, reference = random_model(config, rng, tmp_path)
    tokens = rng.normal(size=(1, 9, 4)).astype(np.float32)
    expected, _ = reference.direction(0, 0, tokens[0])
    first, state = elmo.bilm(tokens[:, :4])
    second, _ = elmo.bilm(tokens[:, 4:], initial_state=state)
    result = np.concatenate([first[1][0, :, :4], second[1][0, :, :4]])
    np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-5)
