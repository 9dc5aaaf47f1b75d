"""A stand-in for TensorFlow Serving, to try a client where there is none. It is not that server.

It loads the newest version of a model once and answers `Predict` and `GetModelMetadata` of the same
gRPC protocol, and `POST /v1/models/NAME:predict` in the column format ("inputs") of the same REST
API. It puts no requests together, looks for no new versions, and listens on this machine alone.

    python examples/serving/server.py saved_models/elmo --port 8500 --rest-port 8501

It needs `tensorflow-serving-api`, and of the model's packages tensorflow alone (and
tensorflow-text, unless the model was exported with `ops="core"`).
"""

import argparse
import base64
import concurrent.futures
import contextlib
import http.server
import json
import math
import os
import re
import signal
import sys
import threading
import urllib.parse

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import grpc
import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    predict_pb2,
    prediction_service_pb2_grpc,
)

with contextlib.suppress(ImportError):  # registers operations that the model may need
    import tensorflow_text  # noqa: F401

DEFAULT = "serving_default"
MAX_ELEMENTS = 1 << 20  # of an input
MAX_BYTES = 64 << 20  # of a REST request
CODES = {code.value[0]: code for code in grpc.StatusCode}  # TensorFlow's error codes are gRPC's
HTTP = {
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.FAILED_PRECONDITION: 412,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.UNIMPLEMENTED: 501,
    grpc.StatusCode.UNAVAILABLE: 503,
}


class RequestError(Exception):
    """A request that is answered with an error."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def invalid(message):
    return RequestError(grpc.StatusCode.INVALID_ARGUMENT, message)


class Model:
    """The newest version of a model.

    Args:
        folder: the model's folder, whose subfolders are versions: numbers, the highest is loaded.
        name: what requests call it.
    """

    def __init__(self, folder, name):
        versions = [entry for entry in os.listdir(folder) if re.fullmatch("[0-9]+", entry)]
        if not versions:
            raise ValueError(f"The folder must hold a version, as {folder}/1. Received: none")
        newest = max(versions, key=int)
        self.name, self.version = name, int(newest)
        path = os.path.join(folder, newest)
        self.loaded = tf.saved_model.load(path)
        self.signatures = dict(self.loaded.signatures)
        saved = SavedModel()
        with open(os.path.join(path, "saved_model.pb"), "rb") as file:
            saved.ParseFromString(file.read())
        self.definitions = dict(saved.meta_graphs[0].signature_def)

    def check(self, name, version=None):
        """Raises a `RequestError` unless it is asked for this model and version."""
        if name != self.name or version not in (None, self.version):
            wanted = f"Latest({name})" if version is None else f"Specific({name}, {version})"
            message = f"Servable not found for request: {wanted}"
            raise RequestError(grpc.StatusCode.NOT_FOUND, message)

    def predict(self, signature, inputs, convert, only=()):
        """Runs a signature.

        Args:
            signature: its name; `""` for the default.
            inputs: dict of values as the protocol has them.
            convert: function of such a value and a `tf.TensorSpec`, to a tensor.
            only: names of the outputs to return; all if there are none.

        Returns:
            A dict of NumPy arrays.
        """
        function = self.signatures.get(signature or DEFAULT)
        if function is None:  # the code that TensorFlow Serving has for it
            message = f'Serving signature key "{signature}" not found.'
            raise RequestError(grpc.StatusCode.FAILED_PRECONDITION, message)
        specs = function.structured_input_signature[1]
        if set(inputs) != set(specs):
            raise invalid(f"Inputs must be {sorted(specs)}. Received: {sorted(inputs)}")
        unknown = set(only) - set(function.structured_outputs)
        if unknown:
            raise invalid(f"There are no outputs of these names. Received: {sorted(unknown)}")
        try:
            tensors = {name: convert(inputs[name], spec) for name, spec in specs.items()}
            for name, spec in specs.items():
                _check_tensor(name, tensors[name], spec)
            outputs = function(**tensors)
            return {name: outputs[name].numpy() for name in only or outputs}
        except tf.errors.OpError as error:
            code = CODES.get(error.error_code, grpc.StatusCode.INTERNAL)
            raise RequestError(code, _short(error.message)) from None


def _check_tensor(name, tensor, spec):
    if tensor.dtype != spec.dtype or not spec.shape.is_compatible_with(tensor.shape):
        raise invalid(
            f"Input `{name}` must be {spec.dtype.name} of shape {spec.shape}. "
            f"Received: {tensor.dtype.name} of shape {tensor.shape}"
        )


def _short(message):
    """An operation's own message, without where in the graph it is."""
    match = re.search(r"assertion failed: .*", message)
    return match[0] if match else message


def from_proto(value, _):
    """A TensorProto as a tensor."""
    dims = [dim.size for dim in value.tensor_shape.dim]
    if value.tensor_shape.unknown_rank or any(size < 0 for size in dims):
        raise invalid("A tensor must have a shape. Received: an unknown one")
    if math.prod(dims) > MAX_ELEMENTS:  # one value may stand for all
        raise invalid(f"A tensor must have at most {MAX_ELEMENTS} elements. Received: shape {dims}")
    try:
        return tf.constant(tf.make_ndarray(value), tf.as_dtype(value.dtype), dims)
    except (TypeError, ValueError) as error:
        raise invalid(f"A tensor cannot be read: {error}") from None


def from_json(value, spec):
    """Nested lists as a tensor."""
    try:
        if spec.dtype == tf.string:
            value = _strings(value)
        return tf.constant(value, spec.dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise invalid(f"A tensor cannot be read: {error}") from None


def _strings(value):
    if isinstance(value, list):
        return [_strings(item) for item in value]
    if isinstance(value, dict) and list(value) == ["b64"] and isinstance(value["b64"], str):
        return base64.b64decode(value["b64"], validate=True)
    if isinstance(value, str):
        return value.encode()
    raise TypeError(f"a string, or an object of b64, was expected. Received: {value!r:.100}")


def _json(answer):
    return json.dumps(answer, default=_plain).encode()


def _plain(value):
    """What JSON has no form for: arrays; and bytes, as `{"b64": ...}` where they are not UTF-8."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(value).decode()}


class PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    """The gRPC service."""

    def __init__(self, model):
        self.model = model

    def Predict(self, request, context):
        with self._answering(request.model_spec, context):
            signature = request.model_spec.signature_name
            only = request.output_filter
            outputs = self.model.predict(signature, request.inputs, from_proto, only)
            response = predict_pb2.PredictResponse()
            self._fill(response.model_spec, signature or DEFAULT)
            for name, value in outputs.items():
                dtype = tf.string if value.dtype == object else None
                response.outputs[name].CopyFrom(tf.make_tensor_proto(value, dtype))
            return response

    def GetModelMetadata(self, request, context):
        with self._answering(request.model_spec, context):
            if list(request.metadata_field) != ["signature_def"]:
                received = list(request.metadata_field)
                raise invalid(f"Metadata field must be signature_def. Received: {received}")
            response = get_model_metadata_pb2.GetModelMetadataResponse()
            self._fill(response.model_spec)
            signatures = get_model_metadata_pb2.SignatureDefMap()
            for name, definition in self.model.definitions.items():
                signatures.signature_def[name].CopyFrom(definition)
            response.metadata["signature_def"].Pack(signatures)
            return response

    @contextlib.contextmanager
    def _answering(self, spec, context):
        try:
            version = spec.version.value if spec.HasField("version") else None
            self.model.check(spec.name, version)
            yield
        except RequestError as error:
            context.abort(error.code, str(error))

    def _fill(self, spec, signature=""):
        spec.name, spec.signature_name = self.model.name, signature
        spec.version.value = self.model.version


class RestServer(http.server.ThreadingHTTPServer):
    """Waits at its end for the requests that came before, and lets many wait for a connection."""

    daemon_threads = False
    request_queue_size = 128


class Handler(http.server.BaseHTTPRequestHandler):
    """The REST API. `model` is set by a subclass, and `pool`, whose few threads do the work."""

    timeout = 30  # seconds that a client may be silent
    path_pattern = re.compile(r"/v1/models/([^/:]+)(?:/versions/(\d+))?(:predict)?")

    def do_GET(self):
        self._answer(self._status, False)

    def do_POST(self):
        self._answer(lambda: self.pool.submit(self._predict, self._read()).result(), True)

    def _answer(self, function, is_predict):
        try:
            match = self.path_pattern.fullmatch(self.path)
            if not match or bool(match[3]) != is_predict:
                raise invalid(f"Malformed request: {self.command} {self.path:.200}")
            self.model.check(urllib.parse.unquote(match[1]), int(match[2]) if match[2] else None)
            status, body = 200, function()
        except RequestError as error:
            status, body = HTTP.get(error.code, 500), _json({"error": str(error)})
        except Exception as error:  # the answer to this request; the server goes on
            self.log_error("%r", error)
            status, body = 500, _json({"error": repr(error)})
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _status(self):
        state = {"error_code": "OK", "error_message": ""}
        version = {"version": str(self.model.version), "state": "AVAILABLE", "status": state}
        return _json({"model_version_status": [version]})

    def _read(self):
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch(r"\d{1,9}", length) or int(length) > MAX_BYTES:
            raise invalid(f"Content-Length must be at most {MAX_BYTES}. Received: {length:.50}")
        return self.rfile.read(int(length))

    def _predict(self, body):
        try:
            request = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise invalid(f"JSON Parse error: {error}") from None
        signature = request.get("signature_name", DEFAULT) if isinstance(request, dict) else None
        if not isinstance(signature, str) or "inputs" not in request:
            raise invalid('A request must be an object with "inputs" (this server takes no rows)')
        inputs = request["inputs"]
        if not isinstance(inputs, dict) and signature in self.model.signatures:
            names = list(self.model.signatures[signature].structured_input_signature[1])
            inputs = dict.fromkeys(names[:1], inputs)  # of a single input the name may be left out
        outputs = self.model.predict(signature, inputs, from_json)
        if len(outputs) == 1:
            (outputs,) = outputs.values()
        return _json({"outputs": outputs})

    def log_request(self, *_):
        pass


def serve(folder, name, host, port, rest_port, threads):
    """Serves until SIGTERM or SIGINT; the requests that came before it are answered."""
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    model = Model(folder, name)
    # For both protocols: how many requests run at a time, and the memory, are not up to clients.
    pool = concurrent.futures.ThreadPoolExecutor(threads)
    # Without the last, a second server could take the same port unnoticed.
    options = [
        ("grpc.max_receive_message_length", -1),
        ("grpc.max_send_message_length", -1),
        ("grpc.so_reuseport", 0),
    ]
    server = grpc.server(pool, options=options)
    service = PredictionService(model)
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(service, server)
    port = server.add_insecure_port(f"{host}:{port}")
    handler = type("ModelHandler", (Handler,), {"model": model, "pool": pool})
    rest = RestServer((host, rest_port), handler)
    server.start()
    threading.Thread(target=rest.serve_forever, daemon=True).start()
    # For who started it: a line of JSON when it is ready.
    ready = {"model": name, "version": model.version, "host": host, "port": port}
    print(json.dumps({**ready, "rest_port": rest.server_port}), flush=True)
    stopped.wait()
    rest.shutdown()
    ended = server.stop(grace=30)
    rest.server_close()
    ended.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="the model's folder; the highest number in it is served")
    parser.add_argument("--model", default="elmo", help="its name (default: %(default)s)")
    parser.add_argument("--host", default="127.0.0.1", help="(default: %(default)s)")
    parser.add_argument("--port", type=int, default=8500, help="of gRPC (%(default)s); 0: any")
    parser.add_argument("--rest-port", type=int, default=8501, help="(%(default)s); 0: any")
    parser.add_argument(
        "--threads",
        type=int,
        default=os.cpu_count(),
        help="requests that run at the same time (default: %(default)s)",
    )
    options = parser.parse_args()
    try:
        serve(
            options.folder,
            options.model,
            options.host,
            options.port,
            options.rest_port,
            options.threads,
        )
    except (OSError, ValueError, RuntimeError) as error:
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
