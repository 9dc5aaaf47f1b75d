import os

import keras
import pytest

from keras_elmo import Elmo, ElmoEmbedding, Tagger, TextClassifier
from keras_elmo_cli.arguments import (
    _layer_numbers,
    check_output,
    check_overwrite,
    is_same_file,
    load_any_model,
    model_source,
)
from keras_elmo_cli.main import make_parser


def test_numbers_of_layers(small_config):
    assert _layer_numbers(None, small_config) == [1, 2]
    assert _layer_numbers("-1, 0,2", small_config) == [2, 0]
    for typed in ("3", "top", "0,", "0,elmo"):
        with pytest.raises(ValueError, match="layers"):
            _layer_numbers(typed, small_config)


def test_a_comma_parts_two_files(folder):
    os.mkdir("a,b")
    url = "https://host/"
    typed = ("small", "a.json,b.hdf5", "a,b", f"{url}a,b.zip", f"{url}o.json,{url}w.hdf5")
    assert [model_source(name) for name in typed] == [
        "small",
        ("a.json", "b.hdf5"),
        "a,b",
        f"{url}a,b.zip",
        (f"{url}o.json", f"{url}w.hdf5"),
    ]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with a model, a link to it, and an older output."""
    (tmp_path / "model").mkdir()
    for name in ("old.npz", "model/options.json", "model/weights.hdf5"):
        (tmp_path / name).write_text(name)
    (tmp_path / "link").symlink_to("model")
    monkeypatch.chdir(tmp_path)


def test_paths_of_one_file(folder):
    os.link("old.npz", "hard.npz")
    assert is_same_file("old.npz", os.path.abspath("old.npz"))
    assert is_same_file("old.npz", "hard.npz")
    assert is_same_file("link", "model")
    assert not is_same_file("old.npz", "model")
    assert not is_same_file("new.npz", "new.npz")  # there is no such file


@pytest.mark.parametrize(
    "output, model",
    [
        ("model/new.npz", "model"),
        ("model/weights.hdf5", "link"),
        ("link/new.npz", "model"),
        ("model/weights.hdf5", "model/options.json,model/weights.hdf5"),
    ],
)
def test_output_must_not_lie_in_the_models_folder(folder, output, model):
    with pytest.raises(ValueError, match=f"--output {output}"):
        check_output(output, model, overwrite=True)


def test_output_elsewhere_is_taken_and_replaced_only_when_told(folder):
    check_output("new.npz", "model", overwrite=False)
    check_output("model/new.npz", "model/options.json,model/weights.hdf5", overwrite=False)
    check_output("new.npz", "small", overwrite=False)
    check_output("old.npz", "model", overwrite=True)
    with pytest.raises(FileExistsError, match="name another file"):
        check_output("old.npz", "model", overwrite=False)
    with pytest.raises(FileNotFoundError, match="no must be an existing folder. Received: no/a"):
        check_overwrite("no/a", True)


@pytest.fixture(scope="module")
def keras_files(tmp_path_factory, one_layer_folder):
    """Files of an `Elmo`, a task and two other models, one of which has an Elmo."""
    folder, inputs = tmp_path_factory.mktemp("keras"), keras.Input((), dtype="string")
    models = {
        "elmo": Elmo.from_pretrained(one_layer_folder),
        "classifier": TextClassifier(one_layer_folder, ["a", "b"], filters=1, word_dim=0),
        "functional": keras.Model(inputs, ElmoEmbedding(str(one_layer_folder))(inputs)),
        "other": keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]),
    }
    for name, model in models.items():
        model.save(folder / f"{name}.keras")
    return {name: (str(folder / f"{name}.keras"), type(model)) for name, model in models.items()}


@pytest.mark.parametrize("name", ["elmo", "classifier", "functional", "other"])
def test_models_of_keras_files(keras_files, name):
    file, kind = keras_files[name]
    options = make_parser().parse_args(["tflite", file, "model.tflite"])
    assert type(load_any_model(options)) is kind
    if name == "other":
        message = "other.keras must be a .* class Elmo or Tagger. Received: a file of a Sequential"
        with pytest.raises(ValueError, match=message):
            load_any_model(options, (Elmo, Tagger))
