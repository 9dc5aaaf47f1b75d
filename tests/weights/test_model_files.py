import dataclasses
import json
import shutil

import pytest
from weights.parts import TINY

from keras_elmo import Elmo
from keras_elmo.weights import hdf5, model_files


def test_a_failed_save_makes_no_folder(tmp_path, parts, monkeypatch):
    def fail(*args, **companions):
        raise OSError("no space")

    monkeypatch.setattr(model_files.hdf5, "write_weights", fail)
    with pytest.raises(OSError, match="no space"):
        model_files.save_folder(tmp_path / "model", TINY, parts.character_encoder, parts.bilm)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", ["hdf5", "checkpoint", "zip"])
def test_files_too_small_for_their_options_are_refused_before_a_model_is_made(
    tmp_path, parts, form, monkeypatch
):
    hdf5.save_weights(tmp_path / "weights.hdf5", parts.character_encoder, parts.bilm)
    options = dataclasses.replace(TINY, units=10**6).to_options()  # of 400 MB
    (tmp_path / "options.json").write_text(json.dumps(options))
    source = tmp_path
    if form == "checkpoint":
        for name in ("model.ckpt-7.index", "model.ckpt-7.data-00000-of-00001"):
            (tmp_path / name).write_bytes(bytes(100))
        (tmp_path / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-7"')
    elif form == "zip":
        source = shutil.make_archive(tmp_path / "model", "zip", tmp_path)
    monkeypatch.setattr(Elmo, "__init__", lambda *_, **__: pytest.fail("a model was made"))
    with pytest.raises(ValueError, match="must hold the weights of its options, [0-9,]{11,} bytes"):
        Elmo.from_pretrained(source)
