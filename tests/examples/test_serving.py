"""The client over the wire on loopback: gRPC against the stand-in server, REST against a fake."""

import base64
import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import tensorflow as tf
from scripts import ROOT, load_script, run_python
from sources import file_server

import keras_elmo

FOLDER = ROOT / "examples/serving"
serving = load_script("examples/serving/client.py")

SENTENCES = ["The cat sat on the mat .", "", "Hello", "na\u00efve \u6f22\u5b57 \U0001f642 \x00 end"]
TOKENS = [["The", "cat", "."], [], [b"\xff\xfe", "two words", "\u6f22\u5b57"]]
SIGNATURES = ["default", "serving_default", "elmo", "word_emb", "lstm_outputs1"]
KINDS = ["grpc", "rest"]
MAX_TOKENS = 200


def client(kind, *args, **kwargs):
    if kind == "rest":
        return serving.RestClient(*args, **kwargs)
    pytest.importorskip("tensorflow_serving", reason='pip install "keras_elmo[serving]"')
    return serving.GrpcClient(*args, **kwargs)


class Server:
    """server.py as a process, which may end and start again on the same port."""

    def __init__(self, folder):
        self.folder, self.port, self.process = folder, 0, None

    def start(self):
        command = [sys.executable, str(FOLDER / "server.py"), str(self.folder), "--threads", "2"]
        command += ["--port", str(self.port)]
        outputs = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, **outputs, text=True)
        line = self.process.stdout.readline()
        assert line, f"the server ended with status {self.process.wait()}"
        self.port = json.loads(line)["port"]
        self.address = f"127.0.0.1:{self.port}"

    def client(self, **kwargs):
        return client("grpc", self.address, **kwargs)

    def kill(self):
        self.process.kill()
        with self.process:
            self.process.wait(60)
        assert self.process.returncode == -signal.SIGKILL


@pytest.fixture(scope="module")
def model(one_layer_folder):
    return keras_elmo.Elmo.from_pretrained(one_layer_folder)


@pytest.fixture(scope="module")
def server(model, tmp_path_factory):
    pytest.importorskip("tensorflow_serving", reason='pip install "keras_elmo[serving]"')
    folder = tmp_path_factory.mktemp("exported") / "elmo"
    keras_elmo.export_saved_model(model, folder / "9", ops="core", max_tokens=MAX_TOKENS)
    (folder / "10").symlink_to(folder / "9")  # the newest, by number and not by name
    server = Server(folder)
    server.start()
    yield server
    server.kill()


@pytest.fixture
def fake():
    """A server that answers with `fake.answers`, (status, bytes) each, and notes the requests."""

    class Handler(file_server.Handler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            fake.requests.append((self.path, json.loads(body)))
            status, answer = fake.answers.pop(0)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(answer)

    with contextlib.closing(file_server.Server(Handler)) as fake:
        fake.answers = []
        yield fake


def expected(model, sentences):
    return serving.cut({name: value.numpy() for name, value in model(sentences).items()})


def assert_same(received, wanted, names=None):
    assert len(received) == len(wanted)
    for row, right in zip(received, wanted, strict=True):
        assert set(row) == set(names or right)
        for name, value in row.items():
            assert value.shape == right[name].shape, name
            if value.dtype.kind == "f":
                assert value.dtype == np.float32
                np.testing.assert_allclose(value, right[name], atol=1e-5)
            else:
                np.testing.assert_array_equal(value, right[name])


@pytest.mark.parametrize("signature", SIGNATURES)
def test_every_signature_equals_the_python_model(server, model, signature):
    names = None if "default" in signature else [signature, "sequence_len"]
    with server.client() as asking:
        received = asking.embed(SENTENCES, signature)
    assert_same(received, expected(model, SENTENCES), names)


def test_tokens_are_taken_as_they_are(server, model):
    with server.client() as asking:
        received = asking.embed(TOKENS)
    assert received[2]["tokens"].tolist() == [b"\xff\xfe", b"two words", "\u6f22\u5b57".encode()]
    assert_same(received, expected(model, tf.ragged.constant(TOKENS, dtype=tf.string)))


def test_batches_without_a_token(server):
    with server.client() as asking:
        for empty in ("", []):
            (row,) = asking.embed([empty])
            assert row["sequence_len"] == 0 and len(row["elmo"]) == 0 and len(row["tokens"]) == 0
        assert asking.embed([]) == []


def test_answers_may_pass_the_limit_of_grpc(server):
    with server.client() as asking:
        outputs = asking.predict(serving.request_inputs(["a b " * 100] * 150))
    assert sum(value.nbytes for value in outputs.values()) > 4 << 20


@pytest.mark.parametrize(
    ("inputs", "signature", "code"),
    [
        ({"text": [b"a " * (MAX_TOKENS + 1)]}, "elmo", "INVALID_ARGUMENT"),
        ({"text": [b"a"]}, "nothing", "FAILED_PRECONDITION"),
        ({"texts": [b"a"]}, "elmo", "INVALID_ARGUMENT"),
        ({"tokens": [[b"a"]], "sequence_len": np.int32([2])}, "tokens", "INVALID_ARGUMENT"),
    ],
)
def test_the_servers_errors_are_raised_at_once(server, inputs, signature, code):
    arrays = {n: np.array(x, object) if isinstance(x, list) else x for n, x in inputs.items()}
    with server.client() as asking:
        with pytest.raises(serving.ServingError) as error:
            asking.predict(arrays, signature)
        assert error.value.code == code and asking.num_retries == 0


def test_models_and_versions(server):
    with server.client(version=10) as asking:
        assert asking.embed(["a"])[0]["sequence_len"] == 1
    for wrong in ({"version": 9}, {"model": "other/one"}):
        with server.client(**wrong) as asking:
            with pytest.raises(serving.ServingError, match="NOT_FOUND"):
                asking.embed(["a"])


def test_rest_requests(fake):
    fake.answers += 2 * [(200, b'{"outputs": [[1]]}')]
    serving.RestClient(fake.url).predict(serving.request_inputs(["a b", b"\xff"]))
    inputs = serving.request_inputs([["a"], ["b", "c"]])
    serving.RestClient(fake.url + "/", "my/model", 3).predict(inputs, "tokens")
    texts = {"text": ["a b", {"b64": base64.b64encode(b"\xff").decode()}]}
    tokens = {"tokens": [["a", ""], ["b", "c"]], "sequence_len": [1, 2]}
    (path, first), (path_of_version, second) = fake.requests
    assert path == "/v1/models/elmo:predict"
    assert first == {"signature_name": "serving_default", "inputs": texts}
    assert path_of_version == "/v1/models/my%2Fmodel/versions/3:predict"
    assert second == {"signature_name": "tokens", "inputs": tokens}


def test_rest_answers(fake, model):
    answer = {name: value.numpy().tolist() for name, value in model(SENTENCES).items()}
    answer["tokens"] = [[token.decode() for token in row] for row in answer["tokens"]]
    fake.answers.append((200, json.dumps({"outputs": answer}).encode()))
    with serving.RestClient(fake.url) as asking:
        assert_same(asking.embed(SENTENCES), expected(model, SENTENCES))
        # Strings as they are, also if they are not UTF-8, or encoded. Sentences without tokens.
        tokens = b'[["\xff", {"b64": "/v8="}], ["", ""]]'
        fake.answers.append((200, b'{"outputs": {"sequence_len": [2, 0], "tokens": %b}}' % tokens))
        rows = [row["tokens"].tolist() for row in asking.embed(["", ""])]
        assert rows == [[b"\xff", b"\xfe\xff"], []]
        # A single output comes without its name: here a classifier's.
        fake.answers.append((200, b'{"outputs": [[0.5], [0.25]]}'))
        assert [row["output_0"].tolist() for row in asking.embed(["a", "b"])] == [[0.5], [0.25]]


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (400, b'{"error": "wrong input"}', "INVALID_ARGUMENT: wrong input"),
        (404, b"no such page\n", "NOT_FOUND: no such page"),
        (504, b"[]", "DEADLINE_EXCEEDED: []"),
        (418, b"", "HTTP 418: HTTP Error 418: I'm a Teapot"),
    ],
)
def test_rest_errors_are_raised_at_once(fake, status, body, message):
    fake.answers.append((status, body))
    with pytest.raises(serving.ServingError) as error:
        serving.RestClient(fake.url).embed(["a"])
    assert str(error.value) == message and len(fake.requests) == 1


def test_a_rest_server_that_is_busy_is_asked_again(fake):
    fake.answers += [(503, b""), (503, b""), (200, b'{"outputs": [[1]]}')]
    with serving.RestClient(fake.url) as asking:
        assert len(asking.embed(["a"])) == 1 and asking.num_retries == 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("listens", "limits"), [(False, {"retries": 2}), (False, {"timeout": 1.0}), (True, {})]
)
def test_the_client_gives_up_where_no_answer_comes(kind, listens, limits):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        if listens:
            silent.listen()
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with client(kind, address, **({"timeout": 0.5} if listens else limits)) as asking:
            start = time.monotonic()
            with pytest.raises(serving.ServingError) as error:
                asking.embed(["a"])
            assert error.value.code in ("UNAVAILABLE", "DEADLINE_EXCEEDED")
            assert time.monotonic() - start < 20 and (listens or asking.num_retries >= 1)


def run(*arguments):
    return run_python(FOLDER / "client.py", *arguments, timeout=60)


@pytest.mark.slow
def test_the_command_over_grpc(server):
    result = run(server.address, "--signature", "elmo", "The cat sat .")
    assert re.search(r"The cat sat \.\n  elmo +\(4, 16\) +-?\d\.\d{4} ", result.stdout), result


def test_the_command_over_rest(fake):
    answer = b'{"outputs": {"elmo": [[[0.5, -1]]], "tokens": [["Hi"]], "sequence_len": [1]}}'
    fake.answers += [(200, answer), (404, b'{"error": "no such model"}')]
    result = run(fake.url, "--signature", "tokens", "Hi")
    assert result.returncode == 0, result.stderr
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[:2] == [["Hi"], ["elmo", "(1,", "2)", "0.5000", "-1.0000"]]
    result = run(fake.url, "--model", "other", "Hi")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "NOT_FOUND: no such model\n"


def test_the_python_of_the_readme(server, monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    (block,) = re.findall(r"```python\n(.*?)```", (FOLDER / "README.md").read_text(), re.DOTALL)
    scope = {}
    exec(block.replace("localhost:8500", server.address), scope)
    assert [row["elmo"].shape for row in scope["vectors"]] == [(4, 16), (1, 16)]


@pytest.mark.parametrize("wrong", ["a string", [1], [["a"], [1]], [["a"], "b"], [None]])
def test_inputs_are_checked(wrong):
    with pytest.raises(TypeError):
        serving.request_inputs(wrong)


@pytest.mark.slow
def test_a_server_that_starts_again_loses_no_request(server, model):
    text = ["one two three"]
    with server.client() as asking:
        assert_same(asking.embed(text), expected(model, text))
        server.kill()
        starting = threading.Timer(0.5, server.start)
        starting.start()
        assert_same(asking.embed(text), expected(model, text))
        starting.join()
        assert asking.num_retries >= 1
