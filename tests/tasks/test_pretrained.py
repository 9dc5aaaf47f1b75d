"""Folders of classifiers and taggers, and the tagger in the package."""

import errno
import json
import os
import pathlib
import shutil
import zipfile

import keras
import numpy as np
import pytest
from sources.file_server import Server
from tasks.cases import FILMS, SENTENCES

from keras_elmo import Elmo, ElmoConfig, ElmoEmbedding, Tagger, TextClassifier
from keras_elmo.files.atomic import locked_folder
from keras_elmo.sources import find, models, names

pytestmark = pytest.mark.usefixtures("untraced")


@pytest.fixture(scope="module")
def on_tiny():
    """A tagger on the model in the package, whose weights its folder leaves out."""
    return Tagger("tiny", ["N", "V"], crf=False, units=2, word_dim=2)


def assert_same(model, other, texts):
    assert other.labels == model.labels and other.get_config() == model.get_config()
    np.testing.assert_array_equal(other.predict(texts, verbose=0), model.predict(texts, verbose=0))


def test_a_folder_holds_all_of_a_task(trained_classifier, trained_tagger, tmp_path):
    for model, texts in (trained_classifier, FILMS), (trained_tagger, SENTENCES):
        folder = tmp_path / type(model).__name__
        model.save_pretrained(folder)
        assert set(os.listdir(folder)) == {"README.md", "task.json", "task.weights.h5"}
        loaded = type(model).from_pretrained(folder)
        assert_same(model, loaded, texts)
        other = type(model).from_pretrained(folder, tokenizer="whitespace")
        assert [m.elmo.tokenize(["No."]) for m in (loaded, other)] == [[["No", "."]], [["No."]]]
        labels = [model.labels[0]] * 2
        if model is trained_tagger:
            labels = [labels[:1] * len(row) for row in texts[:2]]
        loaded.fit(texts[:2], labels, epochs=1, verbose=0)  # compiled as it was


def test_the_weights_of_a_model_with_a_name_are_left_out(on_tiny, tmp_path):
    on_tiny.save_pretrained(tmp_path / "task")
    assert "head.weights.h5" in os.listdir(tmp_path / "task")
    loaded = Tagger.from_pretrained(tmp_path / "task")
    assert loaded.elmo.source == "tiny"
    assert_same(on_tiny, loaded, ["A sentence."])
    assert loaded.tag(["It's well."]) == on_tiny.tag(["It's well."])

    loaded.elmo.bilm.trainable = True  # other weights than those of the name
    loaded.elmo.trainable_variables[0].assign_add(loaded.elmo.trainable_variables[0])
    loaded.save_pretrained(tmp_path / "other")
    assert "task.weights.h5" in os.listdir(tmp_path / "other")
    assert_same(loaded, Tagger.from_pretrained(tmp_path / "other"), ["A sentence."])
    on_tiny.save_pretrained(tmp_path / "other")  # and nothing of the earlier save stays
    assert set(os.listdir(tmp_path / "other")) == {"README.md", "task.json", "head.weights.h5"}


def test_other_weights_of_the_name_are_refused(tmp_path, one_layer_folder, monkeypatch):
    base, folder = tmp_path / "base", tmp_path / "task"
    shutil.copytree(one_layer_folder, base)
    monkeypatch.setitem(names._OWN, "own", (names.GROUPS[0], str(base)))
    TextClassifier("own", ["a", "b"], filters=2, word_dim=0).save_pretrained(folder)
    assert TextClassifier.from_pretrained(folder).elmo.source == "own"
    Elmo(ElmoConfig.from_options(base / "options.json")).save_pretrained(base)  # its next version
    with pytest.raises(ValueError, match="a task on other weights than 'own' has now"):
        TextClassifier.from_pretrained(folder)


def test_labels_and_weights_of_two_saves_are_refused(one_layer_folder, tmp_path, monkeypatch):
    """As a kill between the two renames leaves them, or a change by hand."""
    elmo = Elmo.from_pretrained(one_layer_folder)
    one, other = (TextClassifier(elmo, y, filters=2, word_dim=0) for y in (["a", "b"], ["b", "a"]))
    one.save_pretrained(tmp_path)
    path, replace, calls = tmp_path / "task.json", os.replace, []
    content = path.read_text()

    def killed(*args):
        if calls:
            raise KeyboardInterrupt
        calls.append(replace(*args))

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(os, "replace", killed)
        other.save_pretrained(tmp_path)
    for text in (path.read_text(), content.replace('["a", "b"]', '["b", "a"]')):
        path.write_text(text)
        with pytest.raises(ValueError, match="task.json and task.weights.h5 of two saves"):
            TextClassifier.from_pretrained(tmp_path)
    with locked_folder(tmp_path):  # as another process that writes
        for model in (other, elmo):
            with pytest.raises(BlockingIOError, match="two processes at once"):
                model.save_pretrained(tmp_path)
    other.save_pretrained(tmp_path)
    assert TextClassifier.from_pretrained(tmp_path).labels == ["b", "a"]


def test_a_save_that_fails_leaves_nothing(trained_classifier, tmp_path, monkeypatch):
    def fail(self, path):
        pathlib.Path(path).write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(TextClassifier, "save_weights", fail)
    with pytest.raises(OSError, match="No space left"):
        trained_classifier.save_pretrained(tmp_path / "task")
    assert os.listdir(tmp_path) == []


def test_what_a_file_names_is_not_looked_for(trained_classifier, one_layer_folder, tmp_path):
    """A server of this machine gets no request, and no name and no path is loaded."""
    server, (folder, file) = Server(), (tmp_path / "task", tmp_path / "e.keras")
    trained_classifier.save_pretrained(folder)
    keras.Sequential([keras.Input((), dtype="string"), ElmoEmbedding(one_layer_folder)]).save(file)
    content = json.loads((folder / "task.json").read_text())
    content.pop("sha256")
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    elmo = json.loads(members["config.json"])["config"]["layers"][1]["config"]["elmo"]
    url = server.url
    pair = {"class_name": "__tuple__", "items": [f"{url}/o.json", f"{url}/w.hdf5"]}
    for name in (f"{url}/a.zip", [f"{url}/o.json", f"{url}/w.hdf5"], pair, "tiny", "/etc", None):
        content["task"]["config"]["model"] = name
        (folder / "task.json").write_text(json.dumps(content))
        with pytest.raises(ValueError, match="task must hold a whole model"):
            TextClassifier.from_pretrained(folder)
        config = json.loads(members["config.json"])
        for value in (name, {**elmo, "config": {**elmo["config"], "config": name}}):
            config["config"]["layers"][1]["config"]["elmo"] = value
            with zipfile.ZipFile(file, "w") as archive:
                for member, data in {**members, "config.json": json.dumps(config)}.items():
                    archive.writestr(member, data)
            with pytest.raises((ValueError, TypeError), match="`(elmo|config)`|cannot be read"):
                keras.models.load_model(file)
    assert server.requests == []
    server.close()


def test_a_mix_that_trains_is_kept(tmp_path):
    model = TextClassifier("tiny", [0, 1], layers="elmo", filters=2, word_dim=0)
    assert model.elmo.tokenize(["Not so."]) == [["Not", "so", "."]]  # by default
    model.elmo.mixes[0].scalars.assign([1.0, 2.0, 3.0])
    model.save_pretrained(tmp_path / "task")
    assert_same(model, TextClassifier.from_pretrained(tmp_path / "task"), ["a b"])


def test_the_card_says_what_is_known(trained_tagger, tmp_path):
    trained_tagger.save_pretrained(tmp_path / "names")
    path = tmp_path / "names/README.md"
    card = path.read_text()
    assert 'keras_elmo.Tagger.from_pretrained("names")' in card
    assert "| f1 of the validation data | 1.000 |" in card and "| labels | " in card
    path.write_text(card.replace("To be added:", "It is mine.").replace("| f1 of", "| f2 of"))
    trained_tagger.save_pretrained(tmp_path / "names")
    assert path.read_text() == card.replace("To be added:", "It is mine.")
    path.write_text("my own")
    trained_tagger.save_pretrained(tmp_path / "names")
    assert path.read_text() == "my own"


def test_a_card_shows_no_path_and_stays_a_table(one_layer_folder, tmp_path):
    elmo = Elmo.from_pretrained(one_layer_folder)
    Tagger(elmo, ["a|b", "c\nd"], units=1, word_dim=0).save_pretrained(tmp_path)
    card = (tmp_path / "README.md").read_text()
    assert r"| labels | a\|b, c d |" in card and str(one_layer_folder) not in card


def test_where_a_task_can_be(on_tiny, trained_classifier, tmp_path, monkeypatch):
    file, folder, fetched = str(tmp_path / "c.keras"), str(tmp_path / "task"), []

    def fetching(path):
        return lambda address, *_: fetched.append(address) or path

    trained_classifier.save(file)
    loaded = TextClassifier.from_pretrained(file)
    assert_same(trained_classifier, loaded, FILMS)
    loaded.fit(FILMS[:2], ["pos", "neg"], epochs=1, verbose=0)
    on_tiny.save_pretrained(folder)
    monkeypatch.setattr(models.addresses, "fetch_hub", fetching(folder))
    monkeypatch.setattr(models.addresses, "fetch_url", fetching(file))
    Tagger.from_pretrained("hf://user/task")
    url = "https://example.org/c.keras#sha256=" + "0" * 64
    TextClassifier.from_pretrained(url)
    assert fetched == ["hf://user/task", url]
    monkeypatch.chdir(folder)  # where a task.json is
    for other in ("tiny", tmp_path, ("a", "b"), ""):
        assert not find(other).is_task


def test_what_is_no_task(trained_classifier, tmp_path, monkeypatch):
    folder, bad = tmp_path / "task", tmp_path / "bad.keras"
    trained_classifier.save_pretrained(folder)
    content = json.loads((folder / "task.json").read_text())
    with pytest.raises(ValueError, match="task must .* class Tagger. Received: a TextClassifier"):
        Tagger.from_pretrained(folder)
    with pytest.raises(ValueError, match="one of the names: pos. .* Received: 'tiny'"):
        Tagger.from_pretrained("tiny")
    with pytest.raises(ValueError, match="^pos must .* class TextClassifier. Received: a Tagger"):
        TextClassifier.from_pretrained("pos")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pos").mkdir()
    with pytest.raises(ValueError, match=f"Received: the folder {tmp_path}/pos, without task.json"):
        Tagger.from_pretrained("pos")
    with pytest.raises(FileNotFoundError, match="missing.keras"):
        Tagger.from_pretrained(tmp_path / "missing.keras")
    bad.write_bytes(b"PK")
    with pytest.raises(ValueError, match="bad.keras must .*: a file that is cut short, damaged"):
        Tagger.from_pretrained(bad)
    for fault in ({}, {**content, "task": None}):
        (folder / "task.json").write_text(json.dumps(fault))
        with pytest.raises(ValueError, match="task must hold a whole model"):
            TextClassifier.from_pretrained(folder)
    content.pop("sha256")
    for base in ("other", str(tmp_path), "https://example.org/model.zip", "hf://user/model"):
        (folder / "task.json").write_text(json.dumps({**content, "base": base}))
        (folder / "head.weights.h5").write_bytes(b"")
        with pytest.raises(ValueError, match="a task on the model .*, which is not installed"):
            TextClassifier.from_pretrained(folder)
    shutil.copy(bad, folder / "task.weights.h5")
    (folder / "task.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match="task must hold a whole model"):
        TextClassifier.from_pretrained(folder)


def test_parts_of_speech():
    tagger = Tagger.from_pretrained("pos")
    assert len(tagger.labels) == 17 and tagger.elmo.source == "tiny"
    (post,) = tagger.tag(["@katy lol http://t.co/abc :)"])
    assert [word for word, _ in post] == ["@katy", "lol", "http://t.co/abc", ":)"]
    (tagged,) = tagger.tag(["She didn't read the old book."])
    assert [tag for _, tag in tagged] == "PRON AUX PART VERB DET ADJ NOUN PUNCT".split()
