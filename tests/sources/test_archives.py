"""Models in `.tar` and `.tar.gz` files. (Those in zips are in test_sources.py.)"""

import copy
import io
import random
import shutil
import tarfile
import zipfile

import numpy as np
import pytest
from checkpoints import write_checkpoint
from weights.parts import WORDS
from weights.test_hub_module import assert_same, write_module

from keras_elmo import BiLanguageModel, Elmo


def make_tar(path, members, mode="w:gz"):
    """Writes a tar file. Members: from names to bytes, a path, or the target of a link (a str)."""
    with tarfile.open(path, mode) as archive:
        for name, content in members.items():
            if isinstance(content, bytes | str):
                member = tarfile.TarInfo(name)
                member.size = len(content) if isinstance(content, bytes) else 0
                if isinstance(content, str):
                    member.type, member.linkname = tarfile.SYMTYPE, content
                archive.addfile(member, io.BytesIO(content) if member.size else None)
            else:
                archive.add(content, arcname=name)
    return path


@pytest.mark.parametrize(
    "name, mode, root", [("m.tar.gz", "w:gz", "."), ("m.tar", "w", "a/b"), ("m", "w:xz", "elmo")]
)
def test_a_folder_in_a_tar_file(small_folder, elmo, tmp_path, name, mode, root):
    path = make_tar(tmp_path / name, {root: small_folder}, mode)
    assert_same(Elmo.from_pretrained(path), elmo)


def test_checkpoints_and_modules_in_tar_files(small_config, tmp_path):
    model = BiLanguageModel(small_config, WORDS)
    write_checkpoint(tmp_path / "c", model)
    path = make_tar(tmp_path / "checkpoint.tar.gz", {"checkpoint": tmp_path / "c"})
    loaded = BiLanguageModel.from_pretrained(path, WORDS)
    assert_same(loaded, model)
    np.testing.assert_array_equal(loaded.softmax.kernel, model.softmax.kernel)
    module = write_module(tmp_path / "module", model)
    for form in ("gztar", "zip"):
        file = shutil.make_archive(tmp_path / f"module_{form}", form, module)
        elmo = Elmo.from_pretrained(file)
        assert_same(elmo, model)
        assert elmo.mixes[0].gamma.numpy() == 1.5


@pytest.mark.parametrize(
    "members, message",
    [
        ({"../a": b"x"}, r"must not hold names that lead out of it, .* Received: \.\./a"),
        ({"a": "/etc/passwd"}, "must hold files and folders. Received: a, a link"),
        ({"a": bytes(10**8)}, "must be compressed at most 100 times.*more than 67,108,864 bytes"),
    ],
)
def test_what_is_refused(tmp_path, members, message):
    path = make_tar(tmp_path / "model.tar.gz", members)
    with pytest.raises(ValueError, match=f"model.tar.gz {message}"):
        Elmo.from_pretrained(path)


def test_a_zip_whose_files_share_their_bytes(tmp_path):
    path = tmp_path / "model.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.index", random.Random(0).randbytes(2**16) + bytes(2**26))
        for k in range(200):  # entries of the directory, which all mean the bytes of the first
            member = copy.copy(archive.infolist()[0])
            member.filename = member.orig_filename = f"{k}.index"
            archive.filelist.append(member)
    with pytest.raises(ValueError, match="model.zip must be compressed at most 100 times"):
        Elmo.from_pretrained(path)


def test_files_that_are_cut_short(small_folder, tmp_path):
    path = make_tar(tmp_path / "cut.tar.gz", {"m": small_folder})
    data = path.read_bytes()
    for share in (0.1, 0.5, 0.9):
        path.write_bytes(data[: int(share * len(data))])
        with pytest.raises(ValueError, match="cut.tar.gz must be"):
            Elmo.from_pretrained(path)
