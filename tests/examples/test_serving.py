"""The client against the stand-in server, a process of its own, over the wire on loopback."""

import ast
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import numpy as np
import pytest

import keras_elmo

pytest.importorskip(
    "tensorflow_serving",
    reason='tensorflow-serving-api is missing: pip install "keras_elmo[serving]"',
)
import grpc
import tensorflow as tf
from tensorflow_serving.apis import get_model_metadata_pb2, predict_pb2, prediction_service_pb2_grpc

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples/serving"
sys.path.insert(0, str(FOLDER))
try:
    import client as serving
finally:
    sys.path.remove(str(FOLDER))

SENTENCES = ["The cat sat on the mat .", "", "Hello", "na\u00efve \u6f22\u5b57 \U0001f642 \x00 end"]
TOKENS = [["The", "cat", "."], [], [b"\xff\xfe", "two words", "\u6f22\u5b57"]]
SIGNATURES = ["default", "serving_default", "elmo", "word_emb", "lstm_outputs1"]
KINDS = ["grpc", "rest"]
MAX_TOKENS = 200


class Server:
    """server.py as a process, which may end and start again on the same ports."""

    def __init__(self, folder):
        self.folder, self.port, self.rest_port = folder, 0, 0
        self.process = None

    def start(self):
        command = [sys.executable, str(FOLDER / "server.py"), str(self.folder), "--threads", "2"]
        command += ["--port", str(self.port), "--rest-port", str(self.rest_port)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        line = self.process.stdout.readline()
        assert line, f"the server ended with status {self.process.wait()}"
        ready = json.loads(line)
        self.port, self.rest_port = ready["port"], ready["rest_port"]
        self.addresses = {
            "grpc": f"127.0.0.1:{self.port}",
            "rest": f"http://127.0.0.1:{self.rest_port}",
        }

    def client(self, kind, **kwargs):
        return client(kind, self.addresses[kind], **kwargs)

    def end(self, number):
        """Sends a signal; the status with which the process ends."""
        self.process.send_signal(number)
        with self.process:
            self.process.wait(60)
        status, self.process = self.process.returncode, None
        return status


def client(kind, *args, **kwargs):
    return {"grpc": serving.GrpcClient, "rest": serving.RestClient}[kind](*args, **kwargs)


@pytest.fixture(scope="module")
def model(one_layer_folder):
    return keras_elmo.Elmo.from_pretrained(one_layer_folder)


@pytest.fixture(scope="module")
def exported(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported") / "elmo"
    keras_elmo.export_saved_model(model, folder / "9", ops="core", max_tokens=MAX_TOKENS)
    (folder / "10").symlink_to(folder / "9")  # the newest, by number and not by name
    return folder


@pytest.fixture(scope="module")
def shared_server(exported):
    server = Server(exported)
    yield server
    if server.process:
        server.end(signal.SIGKILL)


@pytest.fixture
def server(shared_server):
    if shared_server.process is None:
        shared_server.start()
    yield shared_server
    # Nothing that a test sent has ended it.
    assert shared_server.process is None or shared_server.process.poll() is None


def expected(model, sentences):
    outputs = {name: value.numpy() for name, value in model(sentences).items()}
    return serving.cut(outputs)


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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("signature", SIGNATURES)
def test_every_signature_equals_the_python_model(server, model, kind, signature):
    names = None if "default" in signature else [signature, "sequence_len"]
    with server.client(kind) as asking:
        received = asking.embed(SENTENCES, signature)
    assert_same(received, expected(model, SENTENCES), names)


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_are_taken_as_they_are(server, model, kind):
    with server.client(kind) as asking:
        received = asking.embed(TOKENS)
    assert received[2]["tokens"].tolist() == [b"\xff\xfe", b"two words", "\u6f22\u5b57".encode()]
    assert_same(received, expected(model, tf.ragged.constant(TOKENS, dtype=tf.string)))


@pytest.mark.parametrize("kind", KINDS)
def test_batches_without_a_token(server, kind):
    with server.client(kind) as asking:
        (row,) = asking.embed([""])
        assert row["sequence_len"] == 0 and len(row["elmo"]) == 0 and len(row["tokens"]) == 0
        assert np.all(row["default"] == 0)
        assert asking.embed([]) == []
        assert asking.embed([[]])[0]["sequence_len"] == 0


def test_answers_may_pass_the_limit_of_grpc(server):
    with server.client("grpc") as asking:
        outputs = asking.predict(serving.request_inputs(["a b " * 100] * 150))
    assert sum(value.nbytes for value in outputs.values()) > 4 << 20


def test_padding_beyond_the_longest_sentence_is_cut(model):
    outputs = {name: value.numpy() for name, value in model(SENTENCES).items()}
    padded = dict(outputs)
    for name in set(outputs) - {"default", "sequence_len"}:
        more = [(0, 0), (0, 7)] + [(0, 0)] * (outputs[name].ndim - 2)
        padded[name] = np.pad(outputs[name], more, constant_values=outputs[name].dtype.type(1))
    assert_same(serving.cut(padded), serving.cut(outputs))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("inputs", "signature", "code"),
    [
        ({"texts": np.array([b"a"], object)}, "elmo", "INVALID_ARGUMENT"),
        ({}, "elmo", "INVALID_ARGUMENT"),
        ({"text": np.array([1, 2])}, "elmo", "INVALID_ARGUMENT"),
        ({"text": np.array([[b"a"]], object)}, "elmo", "INVALID_ARGUMENT"),
        ({"text": np.array([b"a " * (MAX_TOKENS + 1)], object)}, "elmo", "INVALID_ARGUMENT"),
        ({"text": np.array([b"a"], object)}, "nothing", "FAILED_PRECONDITION"),
        (
            {"tokens": np.array([[b"a"]], object), "sequence_len": np.array([2], np.int32)},
            "tokens",
            "INVALID_ARGUMENT",
        ),
    ],
)
def test_wrong_inputs_are_refused(server, kind, inputs, signature, code):
    with server.client(kind) as asking:
        with pytest.raises(serving.ServingError) as error:
            asking.predict(inputs, signature)
        assert error.value.code == code and asking.num_retries == 0
        assert len(asking.embed(["a b"], "elmo")[0]["elmo"]) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_models_and_versions(server, kind):
    with server.client(kind, version=10) as asking:
        assert asking.embed(["a"])[0]["sequence_len"] == 1
    for wrong in ({"version": 9}, {"model": "other/one"}):
        with server.client(kind, **wrong) as asking:
            with pytest.raises(serving.ServingError, match="NOT_FOUND"):
                asking.embed(["a"])


def test_bytes_that_are_no_request(server):
    strings = tf.make_tensor_proto(np.array([b"a"], object), tf.string)
    claims = predict_pb2.PredictRequest()
    claims.model_spec.name = "elmo"
    claims.inputs["text"].CopyFrom(strings)
    claims.inputs["text"].tensor_shape.dim[0].size = 1 << 40
    lacks = predict_pb2.PredictRequest()
    lacks.CopyFrom(claims)
    lacks.inputs["text"].tensor_shape.dim[0].size = -1
    unknown = predict_pb2.PredictRequest()
    unknown.CopyFrom(claims)
    unknown.inputs["text"].dtype = 99
    unknown.inputs["text"].tensor_shape.dim[0].size = 1
    right = predict_pb2.PredictRequest()
    right.model_spec.name = "elmo"
    right.inputs["text"].CopyFrom(strings)
    requests = [b"\xff" * 20, b"", *(r.SerializeToString() for r in (claims, lacks, unknown))]
    with grpc.insecure_channel(server.addresses["grpc"]) as channel:
        call = channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
        for request in requests:
            with pytest.raises(grpc.RpcError) as error:
                call(request, timeout=30)
            assert error.value.code() not in (
                grpc.StatusCode.DEADLINE_EXCEEDED,
                grpc.StatusCode.UNAVAILABLE,
            )
        response = predict_pb2.PredictResponse.FromString(call(right.SerializeToString()))
    assert tf.make_ndarray(response.outputs["sequence_len"]).tolist() == [1]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe",
        b"[" * 100_000,
        b"[]",
        b"{}",
        b'{"instances": ["a"]}',
        b'{"inputs": {"text": ["\\ud800"]}}',
        b'{"inputs": {"text": [["a"], ["b", "c"]]}}',
        b'{"inputs": {"text": [null]}}',
        b'{"inputs": {"text": [{"b64": "?"}]}}',
        b'{"inputs": ["a"], "signature_name": 3}',
    ],
)
def test_bodies_that_are_no_request(server, body):
    url = f"{server.addresses['rest']}/v1/models/elmo:predict"
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(urllib.request.Request(url, body), timeout=30)
    assert error.value.code == 400 and json.loads(error.value.read())["error"]


def test_metadata_and_output_filter(server):
    with grpc.insecure_channel(server.addresses["grpc"]) as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
        request.model_spec.name = "elmo"
        answer = stub.GetModelMetadata(request, timeout=30)
        signatures = get_model_metadata_pb2.SignatureDefMap()
        assert answer.metadata["signature_def"].Unpack(signatures)
        assert answer.model_spec.version.value == 10
        assert {*SIGNATURES, "tokens"} <= set(signatures.signature_def)
        assert list(signatures.signature_def["elmo"].inputs) == ["text"]

        request = predict_pb2.PredictRequest(output_filter=["elmo"])
        request.model_spec.name = "elmo"
        request.inputs["text"].CopyFrom(tf.make_tensor_proto([b"a b"]))
        assert list(stub.Predict(request, timeout=30).outputs) == ["elmo"]


@pytest.mark.parametrize("kind", KINDS)
def test_retries_are_bounded(kind):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # and does not listen
        port = unused.getsockname()[1]
        for limits in ({"retries": 2}, {"timeout": 1.0}):
            with client(kind, f"127.0.0.1:{port}", **limits) as asking:
                start = time.monotonic()
                with pytest.raises(serving.ServingError) as error:
                    asking.embed(["a"])
                assert error.value.code in ("UNAVAILABLE", "DEADLINE_EXCEEDED")
                assert asking.num_retries >= 1 and time.monotonic() - start < 20


@pytest.mark.parametrize("kind", KINDS)
def test_a_silent_server_ends_in_an_error(kind):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with client(kind, address, timeout=0.5) as asking:
            with pytest.raises(serving.ServingError) as error:
                asking.embed(["a"])
    assert error.value.code in ("UNAVAILABLE", "DEADLINE_EXCEEDED")


def run(*arguments):
    command = [sys.executable, str(FOLDER / "client.py"), *arguments]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)


@pytest.mark.parametrize("kind", ["rest", pytest.param("grpc", marks=pytest.mark.slow)])
def test_the_command(server, kind):
    result = run(server.addresses[kind], "--signature", "elmo", "The cat sat .", "Hi")
    assert result.returncode == 0, result.stderr
    assert re.search(r"The cat sat \.\n  elmo +\(4, 16\) +-?\d\.\d{4} ", result.stdout)
    assert re.search(r"Hi\n  elmo +\(1, 16\) ", result.stdout)


def test_the_command_ends_with_the_servers_error(server):
    result = run(server.addresses["rest"], "--model", "other", "Hi")
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr == "NOT_FOUND: Servable not found for request: Latest(other)\n"


def test_the_python_of_the_readme(server, monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    (block,) = re.findall(r"```python\n(.*?)```", (FOLDER / "README.md").read_text(), re.DOTALL)
    scope = {}
    exec(block.replace("localhost:8500", server.addresses["grpc"]), scope)
    assert [row["elmo"].shape for row in scope["vectors"]] == [(4, 16), (1, 16)]


def test_inputs_are_checked():
    for wrong in ("a string", [1], [["a"], [1]], [None]):
        with pytest.raises(TypeError, match="Received"):
            serving.request_inputs(wrong)


def test_the_server_needs_no_keras_elmo():
    tree = ast.parse((FOLDER / "server.py").read_text())
    imported = {
        name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names
    }
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not [name for name in imported if name.startswith("keras")]


@pytest.mark.slow
def test_kill_and_restart_lose_no_answered_request(server, model):
    texts = [["one two three"], ["four", ""], ["five six"]]
    right = [expected(model, text) for text in texts]
    answered, errors, killed = [], [], threading.Event()

    def ask(kind, number=60, pause=0.02):
        try:
            with server.client(kind) as asking:
                for turn in range(number):
                    assert_same(asking.embed(texts[turn % 3]), right[turn % 3])
                    answered.append(killed.is_set())
                    time.sleep(pause)
                assert asking.num_retries <= 30
        except BaseException as error:
            errors.append(error)
            raise

    threads = [threading.Thread(target=ask, args=(kind,)) for kind in KINDS * 2]
    for thread in threads:
        thread.start()
    while len(answered) < 40 and not errors:
        time.sleep(0.01)
    assert server.end(signal.SIGKILL) == -signal.SIGKILL
    killed.set()
    server.start()
    for thread in threads:
        thread.join(60)
    assert not errors
    assert len(answered) == 4 * 60 and 0 < sum(answered) < len(answered)


def test_sigterm_answers_what_came_before_it(server):
    inputs = serving.request_inputs(["a b " * 100] * 400)
    results = {}

    def ask(kind):
        with server.client(kind, retries=0) as asking:
            results[kind] = len(asking.predict(inputs, "elmo")["elmo"])

    threads = [threading.Thread(target=ask, args=(kind,)) for kind in KINDS]
    for kind in KINDS:  # connected, and the signature has run
        with server.client(kind) as asking:
            asking.embed(["a"], "elmo")
    for thread in threads:
        thread.start()
    time.sleep(1.0)
    assert server.end(signal.SIGTERM) == 0
    for thread in threads:
        thread.join(60)
    assert results == {"grpc": 400, "rest": 400}
