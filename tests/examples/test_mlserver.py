"""MLServer with examples/serving/mlserver_models, as a process: REST and gRPC on loopback."""

import importlib.util
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sysconfig
import time
import urllib.error
import urllib.request

import numpy as np
import pytest
from code_blocks import ROOT, run_page

import keras_elmo

FOLDER = ROOT / "examples/serving/mlserver_models"
SENTENCES = ["The cat sat on the mat .", "", "na\u00efve \u6f22\u5b57 \U0001f642"]
MAX_TOKENS = 200
DATATYPES = {"object": "BYTES", "int32": "INT32", "int64": "INT64"}
PORTS = {"HTTP": 8080, "GRPC": 8081, "METRICS": 8082}  # the server's own, which the page names
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def elmo():
    return keras_elmo.Elmo.from_pretrained("tiny")


@pytest.fixture(scope="module")
def ports(elmo, tmp_path_factory):
    """The ports of a server of both models; it must end on SIGTERM."""
    for package in ("mlserver", "tritonclient"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f'{package} is not installed: pip install "keras_elmo[mlserver]"')
    folder = tmp_path_factory.mktemp("served") / "models"
    settings = "elmo/model-settings.json"
    (folder / "elmo").mkdir(parents=True)
    for name in ("settings.json", "saved_model.py", settings):
        shutil.copy(FOLDER / name, folder / name)
    (folder / "elmo/9").mkdir()  # the newest is served, by number and not by name
    keras_elmo.export_saved_model(elmo, folder / "elmo/10", ops="core", max_tokens=MAX_TOKENS)
    classifier = keras_elmo.TextClassifier(elmo, ["negative", "positive"])
    keras_elmo.export_saved_model(classifier, folder / "sentiment/1")
    shutil.copy(folder / settings, folder / "sentiment")
    sockets = {name: socket.create_server(("127.0.0.1", 0)) for name in PORTS}
    ports = {name: opened.getsockname()[1] for name, opened in sockets.items()}
    for opened in sockets.values():
        opened.close()
    command = [pathlib.Path(sysconfig.get_path("scripts")) / "mlserver", "start", folder]
    environment = {f"MLSERVER_{name}_PORT": str(port) for name, port in ports.items()}
    with open(folder / "log.txt", "w+", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | environment)
        with process:
            try:
                for model in ("elmo", "sentiment"):
                    wait_for(ports, model, process, log.name)
                yield ports
                process.send_signal(signal.SIGTERM)
                assert process.wait(60) == 0
            finally:
                process.kill()


def wait_for(ports, model, process, log):
    for _ in range(1200):
        time.sleep(0.1)
        assert process.poll() is None, pathlib.Path(log).read_text("utf-8")
        try:
            url = f"http://127.0.0.1:{ports['HTTP']}/v2/models/{model}/ready"
            with urllib.request.urlopen(url, timeout=10):
                return
        except OSError:  # no server yet, or an HTTPError: no model yet
            pass
    raise TimeoutError(pathlib.Path(log).read_text("utf-8"))


@pytest.fixture
def ask(ports):
    """A function that asks by gRPC. Raises the server's error as a ValueError."""
    from tritonclient import grpc

    def ask(model, inputs, signature=None, outputs=()):
        tensors = []
        for name, value in inputs.items():
            array = value if isinstance(value, np.ndarray) else np.array(value, object)
            tensors.append(grpc.InferInput(name, array.shape, DATATYPES[array.dtype.name]))
            tensors[-1].set_data_from_numpy(array)
        wanted = [grpc.InferRequestedOutput(name) for name in outputs]
        parameters = {"signature": signature} if signature else None
        try:
            with grpc.InferenceServerClient(f"127.0.0.1:{ports['GRPC']}") as client:
                answer = client.infer(model, tensors, outputs=wanted, parameters=parameters)
        except grpc.InferenceServerException as error:
            raise ValueError(f"{error.status()} {error.message()}") from None
        names = [output.name for output in answer.get_response().outputs]
        return {name: answer.as_numpy(name) for name in names}

    return ask


def assert_same(received, right, names):
    assert set(received) == set(names)
    for name, value in received.items():
        assert value.dtype == right[name].dtype and value.shape == right[name].shape, name
        if value.dtype == np.float32:
            np.testing.assert_allclose(value, right[name], rtol=0, atol=1e-5)
        else:
            np.testing.assert_array_equal(value, right[name])


@pytest.mark.parametrize("signature", [None, "elmo", "word_emb"])
def test_the_answer_equals_the_python_model(ask, elmo, signature):
    right = {name: value.numpy() for name, value in elmo(SENTENCES).items()}
    names = [signature, "sequence_len"] if signature else list(right)
    assert_same(ask("elmo", {"text": SENTENCES}, signature), right, names)
    # A column of strings, as clients of MLServer send them, and of the outputs only some.
    column = np.array(SENTENCES, object)[:, None]
    assert_same(ask("elmo", {"text": column}, signature, ["sequence_len"]), right, ["sequence_len"])


def test_inputs_of_several_types(ask, elmo):
    tokens = [["cat.", "sat"], ["\u6f22\u5b57", ""]]
    received = ask("elmo", {"tokens": tokens, "sequence_len": np.array([2, 1], np.int32)}, "tokens")
    right = elmo([tokens[0], tokens[1][:1]])
    assert_same(received, {name: value.numpy() for name, value in right.items()}, right)

    received = ask("elmo", {"text": [""]}, "elmo")
    assert received["sequence_len"].tolist() == [0] and not received["elmo"].any()


@pytest.mark.parametrize(
    ("model", "inputs", "signature", "outputs", "message"),
    [
        ("elmo", {"text": ["a " * (MAX_TOKENS + 1)]}, "elmo", [], "at most 200 tokens.*201"),
        ("elmo", {"texts": ["a"]}, "elmo", [], "The inputs must be of: text. Received: texts"),
        ("elmo", {}, "elmo", [], "missing a required argument: 'text'"),
        ("elmo", {"text": ["a"]}, "elmo", ["default"], "must be of: elmo, sequence_len. Rec"),
        ("sentiment", {"text": ["a"]}, "elmo", [], "must be of: serving_default. Received: elmo"),
        ("elmo", {"text": [["a", "b"]]}, "elmo", [], r"of shape \(None,\). Received: .*\(1, 2\)"),
        ("elmo", {"tokens": [["a"]], "sequence_len": np.int32([2])}, "tokens", [], "assertion"),
        ("elmo", {"tokens": [["a"]], "sequence_len": np.int64([1])}, "tokens", [], "int32"),
    ],
)
def test_errors(ask, model, inputs, signature, outputs, message):
    with pytest.raises(ValueError, match=f"^StatusCode.INVALID_ARGUMENT .*{message}"):
        ask(model, inputs, signature, outputs)


def test_the_requests_of_the_page(ports, tmp_path):
    """They go by REST and by gRPC, and are marked as not run, since they need a server."""
    page = (ROOT / "docs/serving.md").read_text("utf-8")
    mark = "<!-- not run: it needs MLServer; tests/examples/test_mlserver.py runs it -->\n"
    blocks = re.findall(rf"{mark}(```\w+\n.*?\n```\n\n(?:```text.*?\n```\n\n)?)", page, re.DOTALL)
    assert len(blocks) == page.count(mark) >= 2
    code = "".join(blocks)
    for name, port in PORTS.items():
        code = code.replace(f"localhost:{port}", f"127.0.0.1:{ports[name]}")
    (tmp_path / "page.md").write_text(code, "utf-8")
    run_page(tmp_path / "page.md", tmp_path)
