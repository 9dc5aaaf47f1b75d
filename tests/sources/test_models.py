import json
import re
import shutil
import zipfile

import pytest
from weights.test_hub_module import assert_same

from keras_elmo import Elmo
from keras_elmo.sources import names
from keras_elmo.sources.models import find

COMPRESSIONS = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
MODEL = {"options.json": ..., "weights.hdf5": ...}


def assert_same_model(source, elmo):
    loaded = Elmo.from_pretrained(source)
    assert loaded.config == elmo.config
    assert_same(loaded, elmo)


@pytest.fixture
def make_zip(tmp_path, small_folder):
    """Makes a zip of members: name -> content, or ... for that of the small model."""

    def make(members=MODEL, compression=zipfile.ZIP_DEFLATED):
        path = tmp_path / "model.zip"
        with zipfile.ZipFile(path, "w", compression) as archive:
            for name, content in members.items():
                if content is ...:
                    content = (small_folder / name.rpartition("/")[2]).read_bytes()
                archive.writestr(name, content)
        return path

    return make


# What opens


def test_folder_may_hold_other_files(tmp_path, small_folder, elmo):
    shutil.copytree(small_folder, tmp_path, dirs_exist_ok=True)
    for name in ("vocabulary.txt", "softmax.hdf5", "._weights.hdf5", ".hidden.hdf5"):
        (tmp_path / name).write_bytes(b"something else")
    assert_same_model(tmp_path, elmo)


def test_names_of_allennlp(tmp_path, make_zip, small_folder, elmo):
    files = {f"elmo_2x24_{file.name}": file.read_bytes() for file in small_folder.iterdir()}
    archive = make_zip({f"model/{name}": content for name, content in files.items()})
    assert_same_model(archive, elmo)
    archive.unlink()
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    assert_same_model(tmp_path, elmo)
    # A name of its own comes first; of two others none is chosen.
    (tmp_path / "b_options.json").write_bytes(b"{}")
    with pytest.raises(ValueError, match="must hold options.json"):
        find(tmp_path).open()
    shutil.copy(small_folder / "options.json", tmp_path)
    assert_same_model(tmp_path, elmo)


def test_pair(small_folder, elmo, tmp_path):
    options, weights = small_folder / "options.json", small_folder / "weights.hdf5"
    assert_same_model((options, str(weights)), elmo)
    assert_same_model([json.loads(options.read_text()), weights], elmo)
    elmo.save_weights(tmp_path / "a.weights.h5")
    assert_same_model([options, tmp_path / "a.weights.h5"], elmo)
    for pair, error, message in [
        ((small_folder / "nothing.json", weights), FileNotFoundError, "nothing.json"),
        ((options, small_folder / "nothing.hdf5"), FileNotFoundError, "nothing.hdf5"),
        ((weights, options), ValueError, "weights.hdf5 must be a JSON file"),
    ]:
        with pytest.raises(error, match=message):
            Elmo.from_pretrained(pair)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_zip(make_zip, elmo, compression):
    assert_same_model(make_zip(compression=compression), elmo)


def test_zip_with_a_folder_in_it_and_any_name_made_on_a_mac(make_zip, tmp_path, elmo):
    members = {"v..1/": b"", "v..1/options.json": ..., "v..1/weights.hdf5": ...}
    names = "__MACOSX/v..1/._options.json", "__MACOSX/v..1/._weights.hdf5", "v..1/.DS_Store"
    members |= dict.fromkeys(names, b"Mac")
    assert_same_model(make_zip(members).rename(tmp_path / "a model"), elmo)


def test_folder_comes_before_a_published_name(monkeypatch, small_folder):
    monkeypatch.chdir(small_folder.parent)
    assert small_folder.name in names.PRESETS
    _, weights = find(small_folder.name).open()
    assert weights.shown.startswith(small_folder.name)


# What does not


@pytest.mark.parametrize("name", ["smal", "", "no/such/folder"])
def test_unknown_name_lists_the_published_ones(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError) as caught:
        find(name).open()
    assert f"There is no model {name!r}" in str(caught.value)
    assert f"names: {', '.join(names.all_names())}" in str(caught.value)


@pytest.mark.parametrize("source", [None, {"lstm": {}}, ("a", "b", "c")])
def test_other_type_is_refused(source):
    with pytest.raises(TypeError, match=f"a name, a folder, .* {re.escape(repr(source))}"):
        find(source).open()


@pytest.mark.parametrize(
    "names, received",
    [
        ([], "nothing"),
        (["weights.hdf5"], "weights.hdf5"),
        (["options.json", "a.hdf5", "b.hdf5"], "a.hdf5, b.hdf5, options.json"),
        (["options.json", "softmax.hdf5"], "options.json, softmax.hdf5"),
    ],
)
def test_folder_and_zip_without_a_model_list_what_they_hold(tmp_path, make_zip, names, received):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in names:
        (folder / name).write_bytes(b"{}")
    for source in (folder, make_zip(dict.fromkeys(names, b"{}"))):
        where = re.escape(str(source))
        message = rf"{where} must hold options.json and one \*.hdf5 file. Received: {received}\. "
        with pytest.raises(ValueError, match=message + ".*pass the pair"):
            find(source).open()


OUTSIDE = ["model/../../a.hdf5", "/tmp/a.hdf5", "..\\a.hdf5", "C:\\a.hdf5"]


@pytest.mark.parametrize(
    "members, message",
    [
        *[({**MODEL, name: b"x"}, " must not hold names that lead out") for name in OUTSIDE],
        ({"m/options.json": b"{}", "m/weights.hdf5": ...}, "/m/options.json cannot be read:"),
        ({**MODEL, "weights.hdf5": b"no HDF5"}, "/weights.hdf5 must be a whole HDF5 file"),
        ({**MODEL, "options.json": b" " * (2**20 + 1)}, ".* at most 1,048,576 .* 1,048,577"),
    ],
)
def test_zip_with_other_files_is_refused(make_zip, members, message):
    path = make_zip(members)
    assert path.stat().st_size < 1 << 17
    with pytest.raises(ValueError, match=re.escape(str(path)) + message):
        Elmo.from_pretrained(path)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("damage", ["cut", "middle", "index"])
def test_damaged_zip_is_refused(make_zip, compression, damage):
    path = make_zip(compression=compression)
    whole = path.read_bytes()
    middle, index = len(whole) // 2, whole.rindex(b"weights.hdf5")
    damaged = {
        "cut": whole[:middle],
        "middle": whole[:middle] + b"\x00\xff" * 500 + whole[middle + 1000 :],
        "index": whole[:index] + b"\xff" * 12 + whole[index + 12 :],
    }
    path.write_bytes(damaged[damage])
    with pytest.raises(ValueError, match="model.zip (cannot be read|must )"):
        Elmo.from_pretrained(path)


def test_zip_with_a_password_is_refused(make_zip):
    path = make_zip(compression=zipfile.ZIP_STORED)
    # The flag of encryption, in each member's header and in the index.
    headers = rb"(?s)(PK\x03\x04..|PK\x01\x02....)\0"
    path.write_bytes(re.sub(headers, b"\\1\x01", path.read_bytes()))
    with pytest.raises(ValueError, match="without a password.*encrypted"):
        Elmo.from_pretrained(path)
