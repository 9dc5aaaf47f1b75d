"""What an `Elmo` does with a dictionary and a table of words, as ELMoForManyLangs' models have."""

import numpy as np
import pytest
import tensorflow as tf
from manylangs_models import SENTENCES, WORDS, architecture, write_model
from models.test_elmo import assert_same

from keras_elmo import BiLanguageModel, Elmo


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("manylangs")
    write_model(path, architecture({"n_layers": 1}))
    return path


@pytest.fixture(scope="module")
def elmo(folder):
    return Elmo.from_pretrained(folder)


def test_character_ids_are_as_good_as_tokens(elmo, untraced):
    expected = elmo(SENTENCES)
    ids = elmo.batch_to_ids(SENTENCES)
    assert ids.shape == (4, 10, 10) and ids.dtype == tf.int32  # 9 characters and the word
    rows = [0, 1, 3]  # sentence 2 holds "<bos>", a sentence boundary, which is refused
    results = elmo.from_character_ids(tf.gather(ids, rows))
    assert_same(results, {name: tf.gather(expected[name], rows) for name in results})
    with pytest.raises(ValueError, match="boundaries"):
        elmo.from_character_ids(ids)
    begin, end = elmo.token_encoder.scheme.boundaries
    whole = tf.constant([[begin, *ids[3].numpy()[:1], end]])
    marked = elmo.from_character_ids(whole, has_boundaries=True)
    np.testing.assert_allclose(marked["elmo"], expected["elmo"][3:, :1], atol=1e-6)
    limits = ("Character", 0, elmo.config.num_characters), ("Word", -1, len(WORDS))
    for name, column, limit in limits:
        wrong = ids.numpy()[:1]
        wrong[0, 0, column] = limit + 1
        with pytest.raises(ValueError, match=f"{name} ids .*{limit}"):
            elmo.from_character_ids(wrong)
    with pytest.raises(ValueError, match="shape"):
        elmo.from_character_ids(ids[..., :-1])


def test_a_saved_folder_loads_again_to_the_bit(elmo, tmp_path):
    elmo.save_pretrained(tmp_path / "saved")
    names = {path.name for path in (tmp_path / "saved").iterdir()}
    assert names == {"README.md", "options.json", "dictionary.json", "weights.hdf5"}
    again = Elmo.from_pretrained(tmp_path / "saved")
    assert again.config == elmo.config
    assert all(map(np.array_equal, again.get_weights(), elmo.get_weights()))


def test_a_language_model_begins_with_it(folder):
    vocabulary = ["<S>", "</S>", "<UNK>", "cat"]
    with pytest.warns(UserWarning, match="holds no softmax"):
        model = BiLanguageModel.from_pretrained(folder, vocabulary)
    assert np.any(model.character_encoder.word_embedding.numpy())
    model.initialize(seed=1)
    table = model.character_encoder.word_embedding.numpy()
    assert len(np.unique(table)) == table.size and np.abs(table).max() <= 1
