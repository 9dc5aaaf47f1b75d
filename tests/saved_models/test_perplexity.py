import numpy as np
import pytest
from scripts import load_script

import keras_elmo

script = load_script("saved_models/tiny/perplexity.py")
pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path):
    """A text in which each word tells the next one, and a held-out part of two sources."""
    sentence = "a b c d e f g h .\n"
    (tmp_path / "heldout").mkdir()
    (tmp_path / "train.txt").write_text(sentence * 400)
    (tmp_path / "heldout.txt").write_text(sentence * 4)
    (tmp_path / "heldout" / "known.txt").write_text(sentence * 4)
    (tmp_path / "heldout" / "backwards.txt").write_text("h g f e d c b a .\n" * 4)
    (tmp_path / "vocab.txt").write_text("\n".join(["<S>", "</S>", "<UNK>", *"abcdefgh."]) + "\n")
    return tmp_path


def test_only_the_softmax_learns(folder, small_folder):
    with pytest.warns(UserWarning, match="holds no softmax"):
        model = keras_elmo.BiLanguageModel.from_pretrained(small_folder, folder / "vocab.txt")
    before = model.bilm.get_weights() + model.character_encoder.get_weights()
    script.train_softmax(model, folder / "train.txt", 3)
    after = model.bilm.get_weights() + model.character_encoder.get_weights()
    assert all(map(np.array_equal, before, after))


def test_what_resembles_the_text_has_the_lower_perplexity(folder, small_folder):
    name = str(small_folder)
    results = script.compare(folder, folder / "vocab.txt", [name], 300)[name]
    assert list(results) == ["backwards", "known", "all"]
    assert results["known"] == pytest.approx(results["all"])
    assert results["known"] < 0.98 * results["backwards"]
    assert results["backwards"] < 12  # as many as there are words
