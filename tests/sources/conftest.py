import pytest
from sources.file_server import Server


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def server(small_folder):
    """A server with the files of a small model."""
    server = Server()
    for name in ("options.json", "weights.hdf5"):
        server.files[name] = (small_folder / name).read_bytes()
    yield server
    server.close()


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The folder of what is downloaded."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("KERAS_HOME", str(home))
    monkeypatch.chdir(home)
    return home
