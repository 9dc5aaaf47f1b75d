import keras
import numpy as np
import pytest

import building_blocks
import keras_elmo

pytestmark = pytest.mark.usefixtures("untraced_module")

TOKENS = [["The", "bank", "of", "the", "river"], ["Banks", "lend", "money"]]
WORDS = ["The", "bank", "lend", "of", "river", "the"]


@pytest.fixture(scope="module")
def models(one_layer_folder):
    keras.utils.set_random_seed(0)
    return {
        "pooled": building_blocks.pooled_classifier(one_layer_folder, 2),
        "words": building_blocks.tagger_with_word_vectors(one_layer_folder, WORDS, 3),
        "mixes": building_blocks.tagger_with_two_mixes(one_layer_folder, 3),
        "other": building_blocks.mix_of_another_encoder(10),
    }


def inputs_of(name, sentences):
    if name == "pooled":
        return keras_elmo.strings([" ".join(words) for words in sentences])
    if name == "other":
        lengths = [[len(word) for word in row] for row in sentences]
        return keras.utils.pad_sequences(lengths, padding="post")
    return keras_elmo.strings(sentences).to_tensor("")


@pytest.mark.parametrize("name", ["pooled", "words", "mixes", "other"])
def test_padding_changes_nothing_and_files_give_the_same(models, name, tmp_path):
    model = models[name]
    if name == "other":
        # The statistics of a ScalarMix with layer norm are those of the batch.
        model = building_blocks.mix_of_another_encoder(10)
        next(x for x in model.layers if isinstance(x, keras_elmo.ScalarMix)).do_layer_norm = False
    together = model(inputs_of(name, TOKENS))
    for row, words in enumerate(TOKENS):
        alone = model(inputs_of(name, [words]))[0]
        same = together[row] if name == "pooled" else together[row, : len(words)]
        np.testing.assert_allclose(alone, same, atol=1e-5)
    if name != "pooled":
        np.testing.assert_array_equal(together._keras_mask, [[True] * 5, [True] * 3 + [False] * 2])
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(again(inputs_of(name, TOKENS)), together, atol=1e-6)


@pytest.mark.slow
def test_it_runs_with_the_packaged_model():
    shapes = [tuple(output.shape) for output in building_blocks.main().values()]
    assert shapes == [(2, 2), (2, 5, 3), (2, 5, 3), (2, 3, 32)]
