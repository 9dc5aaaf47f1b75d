import contextlib
import gc
import os
import pathlib
import re
import signal
import socket
import stat
import subprocess
import sys

import pytest

from keras_elmo.files import atomic as files
from keras_elmo.files.atomic import (
    locked_folder,
    making_folder,
    replacing_file,
    replacing_files,
    replacing_folder,
)


def test_file_is_moved_to_its_place_at_the_end(tmp_path):
    with replacing_file(tmp_path / "file.weights.h5") as temporary:
        host = re.sub("[^A-Za-z0-9-]", "-", socket.gethostname())[:20]
        # Behind the host's name, the space of its process numbers.
        name = rf"\.part\.{host}(-\d+)?\.{os.getpid()}\.\w+\.file\.weights\.h5"  # as Keras asks
        assert os.path.dirname(temporary) == str(tmp_path)
        assert re.fullmatch(name, os.path.basename(temporary))


def test_after_an_error_the_old_file_is_there_and_no_other(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(FileNotFoundError, match="nowhere must be an existing folder.*file"):
        with replacing_files(path, tmp_path / "nowhere" / "file"):
            pass
    with pytest.raises(IsADirectoryError, match="not a folder. Received: "):
        with replacing_files(path, tmp_path):
            pass
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_several_files_appear_together(tmp_path, monkeypatch):
    paths = [tmp_path / name for name in "abc"]
    for path in paths[:2]:
        path.write_text("old")
    written = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: written.append(paths[0].read_text()))
    with replacing_files(*paths) as temporaries:
        for temporary in temporaries:
            pathlib.Path(temporary).write_text("new")
        assert [path.exists() for path in paths] == [True, True, False]
    # All were on the disk before the first one took its place.
    assert written == ["old"] * 3 and [path.read_text() for path in paths] == ["new"] * 3
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "c"]


def test_permissions_are_those_of_what_was_there(tmp_path, monkeypatch):
    def mode_of(path):
        return stat.S_IMODE(os.stat(path).st_mode)

    path, folder = tmp_path / "file", tmp_path / "folder"
    umask = os.umask
    before = umask(0o027)
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("other threads make files"))
    try:
        # What cannot be written can be until it takes its place.
        for mode, while_it_is_written in (0o640, 0o640), (0o600, 0o600), (0o444, 0o640):
            if path.exists():
                os.chmod(path, mode)
            with replacing_file(path) as temporary:
                assert mode_of(temporary) == while_it_is_written
            assert mode_of(path) == mode
        for mode in (0o750, 0o700):
            with replacing_folder(folder, True) as temporary:
                os.mkdir(temporary)
            assert mode_of(folder) == mode
            os.chmod(folder, 0o700)
    finally:
        umask(before)


def write_files(path):
    with replacing_files(path, path.with_name("more")) as temporaries:
        for temporary in temporaries:
            pathlib.Path(temporary).write_text("new")


def write_folder(path):
    with replacing_folder(path.parent, True) as temporary:
        os.mkdir(temporary)
        pathlib.Path(temporary, path.name).write_text("new")


def text_of(path):
    return path.read_text() if path.exists() else None


@pytest.mark.parametrize("write", [write_files, write_folder])
@pytest.mark.parametrize("exists", [False, True])
def test_a_signal_at_any_place_loses_nothing(tmp_path, write, exists, monkeypatch, dead):
    """A real SIGINT comes before each instruction of atomic.py, one after the other."""
    monkeypatch.setattr(files, "host_name", lambda: "here")
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    place, is_interrupted, allowed = 0, True, ["new", "old" if exists else None]
    try:
        while is_interrupted:
            folder = tmp_path / str(place)
            path = folder / "out" / "file" if write is write_folder else folder / "out"
            folder.mkdir()
            if exists:
                path.parent.mkdir(exist_ok=True)
                path.write_text("old")
            is_interrupted = interrupt_at(place, write, path)
            assert text_of(path) in allowed, (place, os.listdir(folder))
            # What stays after an interrupted cleanup is removed when this process is dead.
            rest = set(os.listdir(folder)) - {"out", "more"}
            for name in rest:
                os.rename(folder / name, folder / name.replace(f".{os.getpid()}.", f".{dead}."))
            for name in ("out", "more"):
                files.remove_stale(str(folder), name)
            assert set(os.listdir(folder)) <= {"out", "more"}, (place, rest)
            assert text_of(path) in allowed
            place += 1
        assert path.read_text() == "new"
    finally:
        signal.signal(signal.SIGINT, handler)
    assert place > 50  # the instructions of a small case: 252 in Python 3.11, 90 in 3.13


def interrupt_at(place, write, path):
    """Writes with a SIGINT before instruction `place` of atomic.py; whether it came."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        if frame.f_code.co_filename != files.__file__:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            count += 1
            if count == place + 1:
                sys.settrace(None)
                os.kill(os.getpid(), signal.SIGINT)
        return trace

    before = sys.gettrace()
    gc.disable()  # An interrupt in a callback of the collector would be lost.
    sys._getframe().f_trace_opcodes = True  # Python 3.12 asks for it before the first event.
    sys.settrace(trace)
    try:
        write(path)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
        gc.enable()
    return False


@pytest.fixture(scope="module")
def dead():
    """The number of a process that is no longer alive."""
    with subprocess.Popen([sys.executable, "-S", "-c", ""]) as process:
        pass
    return process.pid


def stale_names(name, pid):
    return [f".part.{files.host_name()}.{pid}.abc_{k}.{name}" for k in range(2)]


def test_what_dead_processes_left_of_this_output_is_removed(tmp_path, dead):
    others = [
        *stale_names("out", os.getpid()),
        *stale_names("out", os.getppid()),
        *stale_names("out.hdf5", dead),
        *stale_names("", dead),
        f".part.elsewhere.{dead}.abc.out",
        f".tmp.{files.host_name()}.{dead}.abc.out",
        ".part.abcdefgh.out",
        "part.out",
    ]
    of_another_host = [f".part.elsewhere.{pid}.abc.out" for pid in (1, os.getpid())]
    for name in [*stale_names("out", dead), *of_another_host, *others]:
        (tmp_path / name).write_text("half")
    for name in [*of_another_host, *stale_names("out", os.getpid())]:
        os.utime(tmp_path / name, (0, 0))  # nobody has written to it for long
    with replacing_file(tmp_path / "out"):
        pass
    assert sorted(os.listdir(tmp_path)) == sorted([*others, "out"])


def test_the_same_of_folders(tmp_path, dead):
    first, second = (tmp_path / name for name in stale_names("1", dead))
    (first / "1" / "variables").mkdir(parents=True)
    (second / "1.replaced").mkdir(parents=True)
    (second / "1.replaced" / "model").write_text("old")
    with pytest.raises(ValueError), replacing_folder(tmp_path / "1", True):
        # Killed between the two renames, a process had put the old one aside.
        assert (tmp_path / "1" / "model").read_text() == "old"
        raise ValueError
    assert os.listdir(tmp_path) == ["1"]
    with replacing_folder(tmp_path / "1", True) as temporary:
        os.mkdir(temporary)
    assert os.listdir(tmp_path) == ["1"] and os.listdir(tmp_path / "1") == []


def test_folders_that_were_made_go_after_an_error_if_they_are_empty(tmp_path):
    with pytest.raises(ValueError), replacing_folder(tmp_path / "a" / "b" / "1", False):
        raise ValueError
    assert os.listdir(tmp_path) == []
    with pytest.raises(ValueError), making_folder(tmp_path / "a" / "b"):
        (tmp_path / "a" / "file").write_text("")
        raise ValueError
    assert os.listdir(tmp_path / "a") == ["file"]
    (tmp_path / "c").mkdir()
    with pytest.raises(ValueError), making_folder(tmp_path / "c"):
        raise ValueError
    assert (tmp_path / "c").exists()
    with contextlib.ExitStack() as stack:
        with pytest.raises(ValueError), making_folder(tmp_path / "e"):
            stack.enter_context(locked_folder(tmp_path / "e"))  # as another process would
            raise ValueError
        assert (tmp_path / "e").exists()


def test_a_folder_is_locked_once(tmp_path):
    for _ in range(2):
        with locked_folder(tmp_path):
            # A lock of another open file, as another process has it.
            with pytest.raises(BlockingIOError, match="must not be written by two processes at"):
                with locked_folder(tmp_path):
                    pass
    with locked_folder(tmp_path, reentrant=True), locked_folder(tmp_path):
        pass
    assert os.listdir(tmp_path) == []


def test_without_locks_nothing_is_locked(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(files.fcntl, "flock", refuse)
    for fcntl in (files.fcntl, None):  # Windows has none
        monkeypatch.setattr(files, "fcntl", fcntl)
        with locked_folder(tmp_path), locked_folder(tmp_path):
            pass
