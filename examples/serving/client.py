"""Asks TensorFlow Serving for vectors, by gRPC or by REST.

    python examples/serving/client.py localhost:8500 --signature elmo "The cat sat ."
    python examples/serving/client.py http://localhost:8501 "The cat sat ." "Hello"

gRPC needs `pip install "keras_elmo[serving]"`; REST needs NumPy alone. From Python:

    with GrpcClient("localhost:8500") as client:
        vectors = client.embed(["The cat sat .", "Hello"], "elmo")
    vectors[0]["elmo"]  # (4, D)
"""

import argparse
import base64
import http.client
import itertools
import json
import os
import random
import time
import urllib.error
import urllib.parse
import urllib.request

import numpy as np

PER_SENTENCE = ("default", "sequence_len")  # the other outputs have an axis of tokens
UNAVAILABLE, DEADLINE_EXCEEDED = "UNAVAILABLE", "DEADLINE_EXCEEDED"


class ServingError(Exception):
    """The server's error, or that there was no answer. `code` is as in `"INVALID_ARGUMENT"`."""

    def __init__(self, code, message):
        super().__init__(f"{code}: {message}")
        self.code = code


class Client:
    """What both clients have in common: inputs, retries, and the cutting of padding.

    A request that met no server (`UNAVAILABLE`: it restarts, or its queue is full) is sent again,
    later and later. That is safe: requests change nothing on the server.

    Args:
        address: `"host:port"`, or of the REST client a URL.
        model: name that the server has for the model.
        version: int, or `None` for the newest.
        timeout: seconds that a call may take, with all its attempts.
        retries: int. Attempts after the first, at most.
    """

    def __init__(self, address, model="elmo", version=None, timeout=60.0, retries=30):
        self.address, self.model, self.version = address, model, version
        self.timeout, self.retries = timeout, retries
        self.num_retries = 0  # of all calls so far

    def embed(self, sentences, signature=None):
        """The outputs of each sentence, without padding.

        Args:
            sentences: list of strings; or of lists of tokens, for the signature `tokens`.
            signature: name of a signature. `None`: `serving_default`, or `tokens` for tokens.

        Returns:
            A list of dicts of NumPy arrays, one of each sentence: `default` (D,), `sequence_len`
            (), and of those with an axis of tokens, such as `elmo`, only the real ones: (n, D).

        Raises:
            ServingError: the server refused the request, or gave no answer in time.
        """
        inputs = request_inputs(sentences)
        if signature is None:
            signature = "tokens" if "tokens" in inputs else "serving_default"
        return cut(self.predict(inputs, signature))

    def predict(self, inputs, signature="serving_default"):
        """The outputs as the server gives them: a dict of NumPy arrays, padded.

        Args:
            inputs: dict of NumPy arrays; strings are bytes, in arrays of dtype `object`.
            signature: name of a signature.
        """
        deadline = time.monotonic() + self.timeout
        for attempt in itertools.count():
            try:
                return self._predict(inputs, signature, max(0.001, deadline - time.monotonic()))
            except ServingError as error:
                wait = min(2.0, 0.1 * 2**attempt) * random.uniform(0.5, 1)
                is_late = time.monotonic() + wait >= deadline
                if error.code != UNAVAILABLE or attempt >= self.retries or is_late:
                    raise
            self.num_retries += 1
            time.sleep(wait)

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class GrpcClient(Client):
    """Calls `PredictionService.Predict`. See `Client`."""

    def __init__(self, address, *args, **kwargs):
        super().__init__(address, *args, **kwargs)
        import grpc
        from tensorflow_serving.apis import prediction_service_pb2_grpc

        # Vectors soon pass 4 MB, gRPC's limit. A connection that broke is tried again every two
        # seconds at most (two minutes otherwise), and is this client's own.
        options = [
            ("grpc.max_receive_message_length", -1),
            ("grpc.max_send_message_length", -1),
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 2000),
            ("grpc.use_local_subchannel_pool", 1),
        ]
        self.channel = grpc.insecure_channel(address, options)
        self.stub = prediction_service_pb2_grpc.PredictionServiceStub(self.channel)

    def _predict(self, inputs, signature, timeout):
        import grpc
        import tensorflow as tf
        from tensorflow_serving.apis import predict_pb2

        request = predict_pb2.PredictRequest()
        request.model_spec.name = self.model
        request.model_spec.signature_name = signature
        if self.version is not None:
            request.model_spec.version.value = self.version
        for name, value in inputs.items():
            dtype = tf.string if value.dtype == object else None
            request.inputs[name].CopyFrom(tf.make_tensor_proto(value, dtype))
        try:
            response = self.stub.Predict(request, timeout=timeout)
        except grpc.RpcError as error:
            raise ServingError(error.code().name, error.details()) from None
        return {name: tf.make_ndarray(value) for name, value in response.outputs.items()}

    def close(self):
        self.channel.close()


class RestClient(Client):
    """Posts JSON to `/v1/models/NAME:predict`. See `Client`.

    Of a batch without a single token, JSON does not tell the size of the vectors. The timeout is
    that of each wait for bytes, not of them all.
    """

    _CODES = {
        400: "INVALID_ARGUMENT",
        404: "NOT_FOUND",
        412: "FAILED_PRECONDITION",
        429: "RESOURCE_EXHAUSTED",
        501: "UNIMPLEMENTED",
        503: UNAVAILABLE,
        504: DEADLINE_EXCEEDED,
    }

    def _predict(self, inputs, signature, timeout):
        url = self.address if "://" in self.address else f"http://{self.address}"
        url = f"{url.rstrip('/')}/v1/models/{urllib.parse.quote(self.model, safe='')}"
        if self.version is not None:
            url += f"/versions/{self.version}"
        inputs = {name: _to_json(value.tolist()) for name, value in inputs.items()}
        body = json.dumps({"signature_name": signature, "inputs": inputs}).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{url}:predict", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as response:
                answer = response.read()
        except urllib.error.HTTPError as error:
            code = self._CODES.get(error.code, f"HTTP {error.code}")
            raise ServingError(code, _message(error)) from None
        except (OSError, http.client.HTTPException) as error:
            error = getattr(error, "reason", error)  # what a URLError is about
            code = DEADLINE_EXCEEDED if isinstance(error, TimeoutError) else UNAVAILABLE
            raise ServingError(code, f"{url}: {error}") from None
        # TensorFlow Serving writes tokens as they are, also if they are not UTF-8.
        outputs = json.loads(answer.decode("utf-8", "surrogateescape"))["outputs"]
        if not isinstance(outputs, dict):  # a single output comes without its name
            outputs = {"output_0": outputs}
        return {name: _from_json(name, value) for name, value in outputs.items()}


def request_inputs(sentences):
    """The inputs of a request: `text`; or `tokens`, padded with "", and `sequence_len`.

    Args:
        sentences: list of strings or bytes, or of lists of those.
    """
    if isinstance(sentences, (str, bytes)):
        raise TypeError(f"Sentences must be a list of strings. Received: {sentences!r}")
    if not sentences or isinstance(sentences[0], (str, bytes)):
        text = np.empty(len(sentences), object)
        text[:] = [_bytes(sentence) for sentence in sentences]
        return {"text": text}
    for tokens in sentences:
        if not isinstance(tokens, (list, tuple)):
            raise TypeError(f"Sentences must be all strings, or all lists. Received: {tokens!r}")
    lengths = np.array([len(tokens) for tokens in sentences], np.int32)
    padded = np.full((len(sentences), lengths.max()), b"", object)
    for row, tokens in enumerate(sentences):
        padded[row, : len(tokens)] = [_bytes(token) for token in tokens]
    return {"tokens": padded, "sequence_len": lengths}


def cut(outputs):
    """The outputs of a batch -> of each sentence, only those of its own tokens.

    A sentence is padded to the longest of its request, and where the server puts requests together,
    to the longest of those.
    """
    lengths = outputs.get("sequence_len")
    if lengths is None:  # not an `Elmo`: there is nothing that says what is padding
        rows = len(next(iter(outputs.values())))
        return [{name: value[row] for name, value in outputs.items()} for row in range(rows)]
    return [
        {
            name: value[row] if name in PER_SENTENCE else value[row, :length]
            for name, value in outputs.items()
        }
        for row, length in enumerate(lengths)
    ]


def _bytes(text):
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"Text must be a string, or bytes. Received: {text!r}")
    return text.encode() if isinstance(text, str) else text


def _to_json(value):
    if isinstance(value, list):
        return [_to_json(item) for item in value]
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"b64": base64.b64encode(value).decode()}
    return value


def _from_json(name, value):
    if name == "tokens":
        return _strings(value)
    return np.array(value, {"sequence_len": np.int32, "mask": bool}.get(name, np.float32))


def _strings(value):
    """Nested lists of strings, or of `{"b64": ...}`, as an array of bytes."""
    if isinstance(value, dict):
        return base64.b64decode(value["b64"])
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    rows = [_strings(item) for item in value]
    shape = (len(rows), *(rows[0].shape if rows and isinstance(rows[0], np.ndarray) else ()))
    strings = np.empty(shape, object)
    for index, row in enumerate(rows):
        strings[index] = row
    return strings


def _message(error):
    """The `error` of an HTTP error's JSON, or else what there is."""
    try:
        body = error.read().decode(errors="replace")
    except (OSError, http.client.HTTPException):
        return str(error)
    try:
        return json.loads(body)["error"]
    except (ValueError, KeyError, TypeError):
        return body.strip() or str(error)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="With --signature tokens, the texts are split at spaces here, not on the server.",
    )
    parser.add_argument("address", help="host:port of gRPC, or http://host:port of REST")
    parser.add_argument("text", nargs="+", help="a sentence")
    parser.add_argument("--signature", default="serving_default", help="(default: %(default)s)")
    parser.add_argument("--model", default="elmo", help="the server's name (default: %(default)s)")
    parser.add_argument("--version", type=int, help="of the model (default: the newest)")
    parser.add_argument(
        "--timeout", type=float, default=60.0, help="seconds, attempts included (%(default)s)"
    )
    options = parser.parse_args()
    sentences = options.text
    if options.signature == "tokens":
        sentences = [text.split() for text in sentences]
    kind = RestClient if "://" in options.address else GrpcClient
    try:
        with kind(options.address, options.model, options.version, options.timeout) as client:
            vectors = client.embed(sentences, options.signature)
    except (ImportError, ServingError) as error:
        parser.exit(2, f"{error}\n")
    for text, outputs in zip(options.text, vectors, strict=True):
        print(text)
        for name, value in sorted(outputs.items()):
            first = " ".join(_shown(item) for item in value.ravel()[:4])
            print(f"  {name:14} {str(value.shape):10} {first}{' ...' if value.size > 4 else ''}")


def _shown(item):
    if isinstance(item, bytes):
        return item.decode(errors="replace")
    return f"{item:.4f}" if isinstance(item, np.floating) else str(item)


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    main()
