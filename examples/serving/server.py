"""A stand-in for TensorFlow Serving, to try the gRPC client without one. It is not that server.

It loads the newest version of a model once and answers `Predict` of the same gRPC protocol. It does
not batch requests together, does not look for new versions, and has no REST API.

    python examples/serving/server.py saved_models/elmo --port 8500

It needs `tensorflow-serving-api`, and of the model's packages tensorflow alone (and
tensorflow-text, unless the model was exported with `ops="core"`).
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import re
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import grpc
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

with contextlib.suppress(ImportError):  # registers operations that the model may need
    import tensorflow_text  # noqa: F401

CODES = {code.value[0]: code for code in grpc.StatusCode}  # TensorFlow's error codes are gRPC's


class PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Answers `Predict` with a model's signatures.

    Args:
        folder: the model's folder, whose subfolders are versions: the highest number is loaded.
        name: string. The model's name in requests.
    """

    def __init__(self, folder, name):
        versions = [int(entry) for entry in os.listdir(folder) if re.fullmatch("[0-9]+", entry)]
        if not versions:
            raise ValueError(f"The folder must hold a version, as {folder}/1. Received: none")
        self.name, self.version = name, max(versions)
        self.model = tf.saved_model.load(os.path.join(folder, str(self.version)))

    def Predict(self, request, context):
        spec = request.model_spec
        is_version = not spec.HasField("version") or spec.version.value == self.version
        if spec.name != self.name or not is_version:
            context.abort(grpc.StatusCode.NOT_FOUND, f"Servable not found: {spec.name}")
        name = spec.signature_name or "serving_default"
        if name not in self.model.signatures:  # TensorFlow Serving has the same code for it
            message = f'Serving signature key "{name}" not found.'
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, message)
        try:
            inputs = {
                key: tf.constant(tf.make_ndarray(value), tf.as_dtype(value.dtype))
                for key, value in request.inputs.items()
            }
            outputs = self.model.signatures[name](**inputs)
        except tf.errors.OpError as error:
            # The operation's own message, without where in the graph it is.
            message = re.search(r"assertion failed: .*|$", error.message)[0] or error.message
            context.abort(CODES[error.error_code], message)
        except (TypeError, ValueError) as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        response = predict_pb2.PredictResponse()
        response.model_spec.name, response.model_spec.signature_name = self.name, name
        response.model_spec.version.value = self.version
        for key, value in outputs.items():
            response.outputs[key].CopyFrom(tf.make_tensor_proto(value.numpy(), value.dtype))
        return response


def serve(folder, name, host, port, threads):
    """Serves until the process is stopped."""
    service = PredictionService(folder, name)
    options = [
        ("grpc.max_receive_message_length", -1),
        ("grpc.max_send_message_length", -1),
        ("grpc.so_reuseport", 0),  # otherwise a second server takes the same port unnoticed
    ]
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(threads), options=options)
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(service, server)
    port = server.add_insecure_port(f"{host}:{port}")
    server.start()
    # One line of JSON tells the program that started this one that the server is ready.
    ready = {"model": name, "version": service.version, "host": host, "port": port}
    print(json.dumps(ready), flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        server.wait_for_termination()
    server.stop(grace=30).wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="the model's folder; the highest number in it is served")
    parser.add_argument("--model", default="elmo", help="its name (default: %(default)s)")
    parser.add_argument("--host", default="127.0.0.1", help="(default: %(default)s)")
    parser.add_argument("--port", type=int, default=8500, help="(default: %(default)s); 0: any")
    parser.add_argument(
        "--threads",
        type=int,
        default=os.cpu_count(),
        help="requests that run at the same time (default: %(default)s)",
    )
    options = parser.parse_args()
    try:
        serve(options.folder, options.model, options.host, options.port, options.threads)
    except (OSError, ValueError, RuntimeError) as error:
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
