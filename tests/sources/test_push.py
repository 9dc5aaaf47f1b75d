"""`push_to_hub`, to a server on this machine."""

import base64
import json

import pytest
from sources import file_server
from sources.file_server import COMMIT, Server, use_as_hub

from keras_elmo import Elmo, Tagger


class Handler(file_server.Handler):
    """Takes files, and notes the requests that make a repository."""

    def do_HEAD(self):
        name = self.path.rpartition("/")[2]
        self.send_response(200 if name in self.server.files else 404)
        if name in self.server.files:
            self.send_header("ETag", '"1"')
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("Content-Length", str(len(self.server.files[name])))
        else:
            self.send_header("X-Error-Code", "EntryNotFound")
        self.end_headers()

    def do_GET(self):
        if "/resolve/" in self.path:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(self.server.files[self.path.rpartition("/")[2]])
            return
        self.answer({"sha": COMMIT, "id": "user/model", "siblings": []})

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith("/create"):
            self.server.requests.append(json.loads(body))
            self.answer({"url": f"{self.server.url}/user/model"})
        elif "/preupload/" in self.path:
            paths = [file["path"] for file in json.loads(body)["files"]]
            facts = {"uploadMode": "regular", "shouldIgnore": False}
            self.answer({"files": [{"path": path, **facts} for path in paths]})
        elif self.path.endswith("/validate-yaml"):  # at the top of the card
            self.answer({"errors": [], "warnings": []})
        else:
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    content = base64.b64decode(line["value"]["content"])
                    self.server.files[line["value"]["path"]] = content
            url = f"{self.server.url}/user/model/commit/{COMMIT}"
            self.answer({"success": True, "commitUrl": url, "commitOid": COMMIT})

    def answer(self, content):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(content).encode())


@pytest.fixture
def hub(monkeypatch):
    hub = Server(Handler)
    use_as_hub(hub, monkeypatch)
    yield hub
    hub.close()


def test_models_are_uploaded(hub, elmo, small_config, tmp_path):
    elmo.push_to_hub("user/model", private=True)
    assert hub.requests[0]["name"] == "model" and "private" in str(hub.requests[0])
    assert set(hub.files) == {"README.md", "options.json", "weights.hdf5"}
    card = hub.files["README.md"]
    assert b'Elmo.from_pretrained("hf://user/model")' in card and b"# model" in card
    for name, content in hub.files.items():
        (tmp_path / name).write_bytes(content)
    assert Elmo.from_pretrained(tmp_path).config == small_config

    hub.files["README.md"] = card.replace(b"To be added:", b"It is mine.").replace(b"16 ", b"17 ")
    elmo.push_to_hub("user/model")
    assert hub.files["README.md"] == card.replace(b"To be added:", b"It is mine.")
    hub.files["README.md"] = b"my own card"
    Tagger(elmo, ["N", "V"], units=2, word_dim=0).push_to_hub("user/model")
    assert hub.files["README.md"] == b"my own card"
    assert {"task.json", "task.weights.h5"} < set(hub.files)


def test_what_cannot_be_uploaded(hub, elmo, monkeypatch):
    monkeypatch.setattr(Handler, "do_POST", lambda self: self.send_error(403, "not yours"))
    with pytest.raises(OSError, match="user/model cannot be uploaded: .*`hf auth login`"):
        elmo.push_to_hub("user/model")
    monkeypatch.setattr(Elmo, "save_pretrained", lambda *_: pytest.fail("it was written"))
    with pytest.raises(ValueError, match="must be named user/name. Received: .*user/\\.\\."):
        elmo.push_to_hub("user/..")
