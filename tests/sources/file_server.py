"""An HTTP server on this machine, which can misbehave."""

import hashlib
import http.server
import threading

import pytest

COMMIT = "0123456789abcdef0123456789abcdef01234567"  # the newest of the hub
_MUCH = 256 << 20  # bytes that are sent in the place of an endless answer


def files_in(folder):
    """The names of all files in a folder, without the locks of downloads."""
    return sorted(p.name for p in folder.rglob("*") if p.is_file() and p.name != ".lock")


class Handler(http.server.BaseHTTPRequestHandler):
    """Of requests, of which no log is written."""

    def log_message(self, *args):
        pass


class _Files(Handler):
    def do_GET(self):
        server, name = self.server, self.path.strip("/").partition("?")[0]
        server.requests.append(name)
        fault = server.fault if name == server.faulty else None
        content = server.files.get(name.removeprefix("moved/"))
        if fault == "silent":
            server.closing.wait()
        elif fault == "404" or content is None:
            self.send_error(404)
        elif fault == "reason":
            self.send_error(500, "\x1b[31m token=s3cret" * 3000)
        elif fault == "redirect":
            self.send_response(302)
            self.send_header("Location", server.location or f"/moved/{name}")
            self.end_headers()
        else:
            self.send(content, fault)

    do_HEAD = do_GET

    def send(self, content, fault):
        if fault == "other bytes":
            content = bytes(len(content))
        elif fault == "short":
            content = content[:-1]
        self.send_response(200)
        if fault != "endless":
            self.send_header("Content-Length", str(1 << 50 if fault == "huge" else len(content)))
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        for header in self.server.headers.items():
            self.send_header(*header)
        self.end_headers()
        if self.command == "HEAD":
            return
        while fault in ("huge", "endless") and self.server.num_sent < _MUCH:
            try:
                self.server.num_sent += self.wfile.write(bytes(1 << 16))
            except ConnectionError:
                return
        half = len(content) // 2
        self.wfile.write(content[:half])
        if fault == "stalled":
            self.server.closing.wait()
        if fault not in ("cut", "stalled"):
            self.wfile.write(content[half:])


def use_as_hub(server, monkeypatch):
    """The library of the Hugging Face Hub asks this server."""
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "ENDPOINT", server.url)
    template = f"{server.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)


class Server(http.server.ThreadingHTTPServer):
    def __init__(self, handler=_Files):
        super().__init__(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.files, self.requests = {}, []  # contents by names, and the names that were asked for
        self.fault, self.faulty = None, "weights.hdf5"  # what is wrong with the answers of a file
        self.headers = {}  # of every answer
        self.location = None  # where the fault "redirect" leads; `None`: to moved/ on this server
        self.num_sent = 0  # bytes that were sent beyond those of the file
        self.closing = threading.Event()
        self.thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def close(self):
        self.closing.set()
        if self.thread.is_alive():
            self.shutdown()
            self.server_close()
            self.thread.join()
