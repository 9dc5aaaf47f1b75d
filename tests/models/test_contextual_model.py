import json
import re
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_elmo
from keras_elmo import BiLanguageModel, Elmo, ElmoEmbedding
from keras_elmo.models import token_encoder


def test_what_a_model_says_of_itself(small_folder, small_config, elmo, tmp_path, capsys):
    text, count = repr(elmo), f"{elmo.count_params():,}"
    assert text.startswith(f"<Elmo {elmo.name} from {str(small_folder)!r}: {count} parameters, ")
    assert "2 LSTM layers in each direction, outputs of 16; WhitespaceTokenizer; " in text
    assert text.endswith("trainable layers: elmo>")
    new = Elmo(small_config, tokenizer=None, name="new")
    assert repr(new).startswith("<Elmo new: ") and "; no tokenizer; " in repr(new)
    new.load_weights(small_folder / "weights.hdf5")
    assert f"from {str(small_folder / 'weights.hdf5')!r}" in repr(new)
    new.trainable = False
    assert repr(new).endswith("trainable layers: none>")
    new.mixes[0].gamma.assign(0.5)
    new.save(tmp_path / "new.keras")
    loaded = keras.models.load_model(tmp_path / "new.keras")
    assert "from 'a file of Keras'" in repr(loaded)
    assert all(map(np.array_equal, loaded.get_weights(), new.get_weights()))
    elmo.summary(line_length=88)
    table = capsys.readouterr().out
    assert "unbuilt" not in table and "?" not in table


def test_a_tokenizer_is_set_by_its_name(new_elmo):
    assert new_elmo.predict(["a b."], verbose=0)["sequence_len"] == [2]
    new_elmo.tokenizer = "treebank"  # Keras's graph is made anew
    assert new_elmo.predict(["a b."], verbose=0)["sequence_len"] == [3]
    with pytest.raises(ValueError, match="`tokenizer` must be one of .*Received: tokenizer='tree'"):
        new_elmo.tokenizer = "tree"
    assert new_elmo.tokenize(["b."]) == [["b", "."]]


@pytest.mark.parametrize("argument", ["config", "kernel_initializer"])
def test_what_the_files_say_is_not_an_argument(small_folder, argument):
    for load in (Elmo.from_pretrained, ElmoEmbedding):
        with pytest.raises(TypeError, match=argument):
            load(small_folder, **{argument: None})


@pytest.mark.parametrize(
    "call, line",
    [
        (lambda: Elmo("tiny"), "'tiny')."),
        (lambda: Elmo("some.zip", num_mixes=2), "'some.zip')."),
        (lambda: Elmo("o.json", "w.hdf5", 2), "('o.json', 'w.hdf5')). Received"),
        (lambda: BiLanguageModel("tiny", ["a"]), "BiLanguageModel.from_pretrained('tiny')."),
    ],
)
def test_calls_as_in_other_packages_show_the_right_line(call, line):
    with pytest.raises(ValueError, match=re.escape(line)):
        call()


OPTIONS = [
    {"tokenizer": "treebank", "max_tokens": 5},
    {"tokenizer": None, "num_mixes": 2, "do_layer_norm": True, "trainable_part": "bilm"},
    {"tokenizer": keras_elmo.WhitespaceTokenizer("core"), "stateful": True, "trainable": False},
    {"keep_sentence_boundaries": True, "matmul_dtype": "bfloat16", "dtype": "mixed_bfloat16"},
    {"regularizer": keras.regularizers.L2(0.5), "initial_scalars": [0.1, -2.0, 3.0]},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options))
def test_a_config_and_a_cards_code_give_their_model(small_folder, tmp_path, monkeypatch, options):
    model = Elmo.from_pretrained(small_folder, **options)
    clone = Elmo.from_config(json.loads(json.dumps(model.get_config())))
    assert clone.get_config() == model.get_config()
    assert clone.trainable is model.trainable and type(clone.tokenizer) is type(model.tokenizer)
    model.mixes[-1].gamma.assign(0.1)
    monkeypatch.chdir(tmp_path)
    model.save_pretrained("saved")
    code, loaded = (tmp_path / "saved/README.md").read_text().split("```")[1], {}
    exec(code.removeprefix("python"), {"keras_elmo": keras_elmo}, loaded)  # noqa: S102
    expected, config = model.get_config(), loaded["model"].get_config()
    for same in (expected, config):
        del same["name"], same["initial_scalars"]
    assert config == expected
    assert all(map(np.array_equal, loaded["model"].get_weights(), model.get_weights()))


def test_options_of_another_save_are_refused(small_folder, tmp_path):
    shutil.copytree(small_folder, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "options.json"
    path.write_text(path.read_text().replace('"cell_clip": 3', '"cell_clip": 4'))
    archive = shutil.make_archive(tmp_path / "model", "zip", small_folder.parent / tmp_path)
    for source in (tmp_path, archive):
        with pytest.raises(ValueError, match="hdf5 must have the options that it was saved with"):
            Elmo.from_pretrained(source)
    assert Elmo.from_pretrained((path, tmp_path / "weights.hdf5")).config.cell_clip == 4


def test_embeddings_of_single_words(elmo, monkeypatch):
    words = ["the", "naïve", "x" * 70, "a", "the"]
    expected = elmo(words)["word_emb"][:, 0].numpy()
    for size in (1024, 3, 1):  # they are encoded in parts
        monkeypatch.setattr(token_encoder, "WORDS_PER_CALL", size)
        found = elmo.token_embeddings(words)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, atol=1e-6)
    assert elmo.token_embeddings([]).shape == (0, 8)
    with pytest.raises(ValueError, match="words"):
        elmo.token_embeddings("the")
    with pytest.raises(ValueError, match="'The cat sat' as a token"):
        elmo.token_embeddings(["The cat sat"])
    with pytest.warns(UserWarning, match="'New York' as a token"):
        vectors = elmo.token_embeddings(["a", "b", "New York"])
    alone = elmo.token_embeddings(tf.constant(["New York"]))
    np.testing.assert_allclose(alone, vectors[2:], atol=1e-6)
