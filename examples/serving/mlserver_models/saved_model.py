"""Serves exported models with MLServer, by the Open Inference Protocol (V2) over REST and gRPC.

    keras-elmo export tiny examples/serving/mlserver_models/elmo --ops core --overwrite
    mlserver start examples/serving/mlserver_models

It needs `mlserver`, and of the model's packages tensorflow alone (and tensorflow-text, unless the
model was exported with `ops="core"`). The model's folder holds versions, as `elmo/1`, and
`model-settings.json`, which names the class below.
"""

import asyncio
import contextlib
import os
import re

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf
from mlserver import MLModel
from mlserver.codecs.numpy import to_datatype, to_dtype
from mlserver.errors import InferenceError
from mlserver.types import InferenceResponse, ResponseOutput
from mlserver.utils import get_model_uri

with contextlib.suppress(ImportError):  # registers operations that the model may need
    import tensorflow_text  # noqa: F401


class SavedModel(MLModel):
    """Answers inference requests with the signatures of a SavedModel.

    The newest version in the model's folder is loaded: the highest number. A request names its
    inputs as the signature does. Its parameter `signature` names the signature; without it,
    `serving_default` runs. The answer has the outputs that the request names, or all.

    Raises:
        InferenceError: a name that the model does not have, or inputs that it refuses. MLServer
            answers with HTTP status 400, or gRPC's INVALID_ARGUMENT, and the message.
    """

    async def load(self):
        folder = await get_model_uri(self.settings)
        versions = [int(entry) for entry in os.listdir(folder) if re.fullmatch("[0-9]+", entry)]
        if not versions:
            raise ValueError(f"The folder must hold a version, as {folder}/1. Received: none")
        self.model = tf.saved_model.load(os.path.join(folder, str(max(versions))))
        return True

    async def predict(self, payload):
        name = getattr(payload.parameters, "signature", "serving_default")
        _check_names("The signature", [name], self.model.signatures)
        signature = self.model.signatures[name]
        wanted = [output.name for output in payload.outputs or []]
        wanted = wanted or sorted(signature.structured_outputs)
        _check_names("The outputs", wanted, signature.structured_outputs)
        # In a thread: the server goes on reading and writing other requests.
        outputs = await asyncio.to_thread(self._run, signature, payload.inputs)
        outputs = [_to_output(name, outputs[name].numpy()) for name in wanted]
        return InferenceResponse(model_name=self.name, outputs=outputs)

    def _run(self, signature, inputs):
        _, specs = signature.structured_input_signature
        _check_names("The inputs", [tensor.name for tensor in inputs], specs)
        try:
            tensors = {tensor.name: _to_tensor(tensor, specs[tensor.name]) for tensor in inputs}
            return signature(**tensors)
        except tf.errors.InvalidArgumentError as error:
            # The operation's own message, without where in the graph it is.
            message = re.search(r"assertion failed: .*|$", error.message)[0] or error.message
            raise InferenceError(message) from None
        except (TypeError, ValueError, OverflowError) as error:
            raise InferenceError(str(error)) from None


def _check_names(what, names, known):
    if not set(names) <= set(known):
        known = ", ".join(sorted(known))
        raise InferenceError(f"{what} must be of: {known}. Received: {', '.join(names)}")


def _to_tensor(tensor, spec):
    """A `RequestInput` -> a `tf.Tensor`. Text is str in JSON, and bytes in gRPC."""
    is_text = tensor.datatype == "BYTES"
    array = np.array(tensor.data.root, object if is_text else to_dtype(tensor))
    shape = tensor.shape
    if spec.shape.rank == 1 and shape[1:] == [1]:
        shape = shape[:1]  # clients of MLServer send a batch of n strings as (n, 1)
    value = tf.constant(array.reshape(shape), tf.string if is_text else None)
    if not spec.is_compatible_with(value):  # a signature does not look at shapes
        raise ValueError(
            f"The input {tensor.name} must be {spec.dtype.name} of shape {spec.shape}. "
            f"Received: {value.dtype.name} of shape {value.shape}"
        )
    return value


def _to_output(name, array):
    # Without MLServer's NumpyCodec, which makes (n, 1) of (n,).
    data, datatype = array.ravel().tolist(), to_datatype(array.dtype)
    return ResponseOutput(name=name, shape=list(array.shape), datatype=datatype, data=data)
