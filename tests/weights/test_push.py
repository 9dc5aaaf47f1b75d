"""`push_to_hub`, with the part of huggingface_hub that uploads replaced."""

import pathlib
import unittest.mock

import pytest

from keras_elmo import Elmo, Tagger


@pytest.fixture
def hub(monkeypatch):
    """An `HfApi` that takes the arguments of the true one; `hub.files` is what was uploaded."""
    huggingface_hub = pytest.importorskip("huggingface_hub")
    hub = unittest.mock.create_autospec(huggingface_hub.HfApi, instance=True)
    hub.files = {}

    def upload(repo_id, folder_path, ignore_patterns):
        for path in pathlib.Path(folder_path).iterdir():
            if path.name not in (ignore_patterns or []):
                hub.files[path.name] = path.read_bytes()

    hub.upload_folder.side_effect = upload
    hub.file_exists.side_effect = lambda repository, name: name in hub.files
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: hub)
    return hub


def test_models_are_uploaded(hub, elmo, small_config, tmp_path):
    elmo.push_to_hub("user/model", private=True)
    hub.create_repo.assert_called_once_with("user/model", private=True, exist_ok=True)
    assert hub.upload_folder.call_args.kwargs["repo_id"] == "user/model"
    assert set(hub.files) == {"README.md", "options.json", "weights.hdf5"}
    assert b'Elmo.from_pretrained("model")' in hub.files["README.md"]
    for name, content in hub.files.items():
        (tmp_path / name).write_bytes(content)
    assert Elmo.from_pretrained(tmp_path).config == small_config

    hub.files["README.md"] = b"my own card"
    tagger = Tagger(elmo, ["N", "V"], units=2, word_dim=0)
    tagger.push_to_hub("user/model")
    assert hub.files["README.md"] == b"my own card"
    assert {"task.json", "task.weights.h5"} < set(hub.files)


def test_what_cannot_be_uploaded(hub, elmo):
    hub.create_repo.side_effect = ValueError("not yours")
    with pytest.raises(OSError, match="user/model cannot be uploaded: not yours.*`hf auth login`"):
        elmo.push_to_hub("user/model")
