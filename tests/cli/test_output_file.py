import os

import pytest

from keras_elmo.cli.output_file import check_output, check_overwrite, is_same_file


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A working folder with a model, a link to it, and an older output."""
    (tmp_path / "model").mkdir()
    for name in ("old.npz", "model/options.json", "model/weights.hdf5"):
        (tmp_path / name).write_text(name)
    (tmp_path / "link").symlink_to("model")
    monkeypatch.chdir(tmp_path)


def test_paths_of_one_file():
    os.link("old.npz", "hard.npz")
    assert is_same_file("old.npz", os.path.abspath("old.npz"))
    assert is_same_file("old.npz", "hard.npz")
    assert is_same_file("link", "model")
    assert not is_same_file("old.npz", "model")
    assert not is_same_file("new.npz", "new.npz")  # there is no such file


def test_existing_file_is_replaced_only_when_told():
    check_overwrite("old.npz", overwrite=True)
    check_overwrite("new.npz", overwrite=False)
    with pytest.raises(FileExistsError, match="old.npz exists already; .* or another --output"):
        check_overwrite("old.npz", overwrite=False)
    with pytest.raises(FileExistsError, match="or another name"):
        check_overwrite("old.npz", False, "name")


@pytest.mark.parametrize(
    "output, model",
    [
        ("model/new.npz", "model"),
        ("model/weights.hdf5", "link"),
        ("link/new.npz", "model"),
        ("model/weights.hdf5", "model/options.json,model/weights.hdf5"),
    ],
)
def test_output_must_not_lie_in_the_models_folder(output, model):
    with pytest.raises(ValueError, match=f"the weights. Received: --output {output}"):
        check_output(output, model, overwrite=True)


def test_output_elsewhere_is_taken():
    check_output("new.npz", "model", overwrite=False)
    check_output("model/new.npz", "model/options.json,model/weights.hdf5", overwrite=False)
    check_output("new.npz", "small", overwrite=False)
    with pytest.raises(FileExistsError, match="old.npz exists already"):
        check_output("old.npz", "model", overwrite=False)
