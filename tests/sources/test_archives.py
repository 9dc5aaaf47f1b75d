"""Models in `.tar` and `.tar.gz` files. (Those in zips are in test_models.py.)"""

import copy
import gzip
import io
import os
import random
import shutil
import tarfile
import tempfile
import time
import tracemalloc
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
    assert_same(Elmo.from_pretrained(make_tar(tmp_path / name, {root: small_folder}, mode)), elmo)


def test_checkpoints_and_modules_in_tar_files(small_config, tmp_path, monkeypatch, recwarn):
    model = BiLanguageModel(small_config, WORDS)
    write_checkpoint(tmp_path / "c", model)
    path = make_tar(tmp_path / "checkpoint.tar.gz", {"checkpoint": tmp_path / "c"})
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    loaded = BiLanguageModel.from_pretrained(path, WORDS)
    assert os.listdir(temporary) == [] and not [w for w in recwarn if w.category is ResourceWarning]
    assert_same(loaded, model)
    np.testing.assert_array_equal(loaded.softmax.kernel, model.softmax.kernel)
    (tmp_path / "c/model.ckpt-7.data-00000-of-00001").write_bytes(b"")
    make_tar(path, {"checkpoint": tmp_path / "c"})
    with pytest.raises(ValueError, match=f"^{path}/checkpoint/model.ckpt-7 does not hold"):
        Elmo.from_pretrained(path)
    module = write_module(tmp_path / "module", model)
    for form in ("gztar", "zip"):
        file = shutil.make_archive(tmp_path / f"module_{form}", form, module)
        elmo = Elmo.from_pretrained(file)
        assert_same(elmo, model)
        assert elmo.mixes[0].gamma.numpy() == 1.5


BIG = 2**28


def header(**fields):
    info = tarfile.TarInfo("a")
    for name, value in fields.items():
        setattr(info, name, value)
    return info.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize(
    "content, message",
    [
        (header(type=tarfile.GNUTYPE_LONGNAME, size=BIG) + bytes(BIG), "have headers of at most"),
        (header(type=tarfile.XHDTYPE, size=BIG) + bytes(BIG), "have headers of at most"),
        (header(type=tarfile.XHDTYPE, size=2**19) + b"1" * 2**19, "not have headers of digits"),
        (header() * 80_000, "hold at most 4,096 files"),
    ],
    ids=["long name", "pax", "digits", "members"],
)
def test_bombs_of_headers_take_no_time_and_no_memory(tmp_path, content, message):
    path = tmp_path / "model.tar.gz"
    path.write_bytes(gzip.compress(content, 1))
    start = time.perf_counter()
    tracemalloc.start()
    with pytest.raises(ValueError, match=f"model.tar.gz must {message}"):
        Elmo.from_pretrained(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10**8 and time.perf_counter() - start < 5


def test_an_index_beside_a_weight_file(small_folder, elmo, tmp_path):
    files = {"a_options.json": small_folder / "options.json", "b.index": b"", "c.index": b""}
    path = make_tar(tmp_path / "a.tar", {**files, "a.hdf5": small_folder / "weights.hdf5"}, "w")
    assert_same(Elmo.from_pretrained(path), elmo)


@pytest.mark.parametrize("names", [["d/" * 1500 + "a"], ["c/a", "c/a/b"], ["a" * 300]])
def test_names_that_no_disk_takes(tmp_path, names):
    path = make_tar(tmp_path / "model.tar", {"a.index": b"", **dict.fromkeys(names, b"x")}, "w")
    with pytest.raises(ValueError, match="model.tar must not hold names .* too long, or are both"):
        Elmo.from_pretrained(path)


def test_the_checksum_at_the_end_is_read(small_folder, tmp_path):
    path = make_tar(tmp_path / "model.tar", {"m": small_folder}, "w")
    data = bytearray(gzip.compress(path.read_bytes(), 0))
    data[-6] ^= 1  # of the checksum
    path.write_bytes(data)
    with pytest.raises(ValueError, match="model.tar must be .*CRC"):
        Elmo.from_pretrained(path)


@pytest.mark.parametrize(
    "members, message",
    [
        ({"../a": b"x"}, r"must not hold names that lead out of it, .* Received: \.\./a"),
        ({"a": "/etc/passwd"}, "must hold no link or device. Received: a"),
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
