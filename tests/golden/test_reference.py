"""The package against the NumPy reference, on random configurations."""

import numpy as np
import pytest
from files import datasets
from reference import Reference

from keras_elmo import Elmo, ElmoConfig

WORDS = ["a", "The", "naïve", "北京", "😀", "x" * 60, "", "don", "'t", ".", "bank", "interest"]
IN_EVERY_RUN = [1, 2, 11, 13]  # seeds whose configurations cover all that they should
OTHERS = [pytest.param(k, marks=pytest.mark.slow) for k in range(30) if k not in IN_EVERY_RUN]
SEEDS = [*IN_EVERY_RUN, *OTHERS]


def random_config(rng):
    units = int(rng.integers(4, 13))
    widest = int(rng.integers(1, 7))
    filters = [(width, int(rng.integers(1, 6))) for width in range(1, widest + 1)]
    sizes = [units, int(rng.integers(2, units)), min(sum(count for _, count in filters), units)]

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


@pytest.mark.parametrize("seed", SEEDS)
def test_the_outputs_of_a_model_equal_the_reference(seed, tmp_path, request):
    if seed != IN_EVERY_RUN[0]:
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
