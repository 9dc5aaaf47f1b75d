import errno
import hashlib
import io
import signal
import threading

import pytest
import requests
from sources.file_server import files_in

from keras_elmo.process.progress import ProgressBar
from keras_elmo.process.signals import Interrupted, noting_signals
from keras_elmo.sources import download
from keras_elmo.sources.download import RemoteFile, ensure_file

CONTENT = b"weights" * 1000


@pytest.fixture
def file(server):
    """A file on the server, whose size and checksum are known."""
    server.files["weights.hdf5"] = CONTENT
    size, digest = len(CONTENT), hashlib.sha256(CONTENT).hexdigest()
    return RemoteFile("weights.hdf5", f"{server.url}/weights.hdf5", size, size, digest)


@pytest.mark.parametrize("old", [None, b"cut", bytes(len(CONTENT))])
def test_a_missing_or_bad_file_is_downloaded_once(server, file, tmp_path, old):
    path = tmp_path / "new" / "weights.hdf5"
    if old is not None:
        path.parent.mkdir()
        path.write_bytes(old)
    server.fault = "redirect"
    for _ in range(2):
        ensure_file(file, path)
        assert path.read_bytes() == CONTENT
    assert server.requests == ["weights.hdf5", "moved/weights.hdf5"]
    assert files_in(path.parent) == ["weights.hdf5"]


def test_a_home_that_cannot_be_written_names_its_setting(file, tmp_path):
    (tmp_path / "home").write_text("")
    with pytest.raises(OSError, match="set KERAS_HOME to a folder that can be written"):
        ensure_file(file, tmp_path / "home" / "keras_elmo" / "weights.hdf5")


def fail(file, path, message):
    """A failed download leaves an old file as it was, and nothing else; its message."""
    path.write_bytes(b"old")
    with pytest.raises(OSError, match=message) as caught:
        ensure_file(file, path)
    assert path.read_bytes() == b"old" and files_in(path.parent) == [path.name]
    return str(caught.value)


@pytest.mark.parametrize(
    "fault, message",
    [
        ("cut", ": .*(the connection ended after|IncompleteRead)"),
        ("short", " must have 7,000 bytes. Received: 6,999"),
        ("other bytes", " must have the sha256 [0-9a-f]{64}. Received: [0-9a-f]{64}"),
        ("404", ": HTTP status 404"),
        ("reason", ": HTTP status 500"),
        ("silent", ": it sent nothing for 0.2 seconds"),
        ("stalled", ": it sent nothing for 0.2 seconds"),
        ("redirect", ": "),
        ("closed", ": "),
    ],
)
def test_a_failed_download_leaves_nothing_and_tells_no_secret(
    server, file, tmp_path, monkeypatch, fault, message
):
    if fault in ("silent", "stalled"):
        monkeypatch.setattr(download, "TIMEOUT", 0.2)
    server.fault = fault
    server.location = "http://user:s3cret@127.0.0.1:1/weights.hdf5?key=s3cret#s3cret"
    if fault == "closed":
        server.close()
    url = file.url.replace("//", "//user:s3cret@") + "?token=s3cret&more=s3cret#s3cret"
    message = f"^{server.url}/weights.hdf5{message}"
    shown = fail(file._replace(url=url), tmp_path / "weights.hdf5", message)
    assert "s3cret" not in shown and shown.isprintable() and len(shown) < 500


def test_options_that_are_a_login_page_are_refused(server, tmp_path):
    file = RemoteFile("options.json", f"{server.url}/options.json", 1, 1 << 20)
    ensure_file(file, tmp_path / "options.json")
    server.files["options.json"] = b"<html>Please log in</html>"
    fail(file, tmp_path / "options.json", "options.json must be a JSON file")


@pytest.mark.parametrize("fault, received", [("endless", r"[\d,]+"), ("huge", f"{1 << 50:,}")])
def test_a_server_that_sends_too_much_is_given_up(server, file, tmp_path, fault, received):
    server.fault = fault
    message = f"it must have at most 7,000 bytes. Received: {received}$"
    fail(file, tmp_path / "weights.hdf5", message)
    assert server.num_sent < 64 << 20  # some are on the way


def test_a_full_disk_is_not_the_servers_fault(file, tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(ProgressBar, "update", fail)
    path = tmp_path / "weights.hdf5"
    with pytest.raises(OSError, match=f"^.Errno 28. No space left on device: '{path}'$"):
        ensure_file(file, path)
    assert files_in(tmp_path) == []


def test_a_download_shows_its_progress(file, tmp_path, no_delay, capsys):
    ensure_file(file, tmp_path / "weights.hdf5")
    out, err = capsys.readouterr()
    assert out == "" and "downloading weights.hdf5: 100%" in err


def test_a_redirect_to_an_address_without_encryption_is_refused(file, tmp_path, monkeypatch):
    def send(self, request, **_):
        response = requests.Response()
        response.url, response.status_code, response.raw = request.url, 302, io.BytesIO()
        response.headers["location"] = target
        return response

    monkeypatch.setattr(requests.adapters.HTTPAdapter, "send", send)
    here = file._replace(url="https://host/weights.hdf5")
    secret = "ftp://user:secret@other/weights.hdf5?token=secret"
    for target in ("http://other/weights.hdf5", secret):
        shown = target.partition("?")[0].replace("user:secret@", "")
        with pytest.raises(OSError, match=f"an address without https, {shown}$"):
            ensure_file(here, tmp_path / "weights.hdf5")
    assert files_in(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_download_that_waits(server, file, tmp_path, monkeypatch, number):
    monkeypatch.setattr(download, "TIMEOUT", 10)
    server.fault = "stalled"
    timer = threading.Timer(0.3, signal.pthread_kill, [threading.main_thread().ident, number])
    with pytest.raises(Interrupted) as caught, noting_signals():
        timer.start()
        ensure_file(file, tmp_path / "weights.hdf5")
    assert caught.value.signal_number == number and files_in(tmp_path) == []
