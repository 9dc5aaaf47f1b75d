"""Files for TensorFlow Serving beside a SavedModel: warm-up requests and how to batch."""

import pathlib

import tensorflow as tf

from keras_elmo import text
from keras_elmo.checks import check_library

_LARGEST_REQUEST = 4096  # rows


def warmup_inputs(texts, takes_only_tokens):
    """A warm-up request: a dict of `"text"`, string (batch,), or `"tokens"`, (batch, tokens)."""
    tensor = text.strings(texts)
    is_column = not isinstance(tensor, tf.RaggedTensor) and tensor.shape[-1] == 1
    is_tokens = tensor.shape.rank == 2 and (takes_only_tokens or not is_column)
    if is_tokens != takes_only_tokens:
        form = "lists of tokens" if takes_only_tokens else "strings"
        raise ValueError(
            f"`warmup_texts` must be {form}, which is what the model takes. Received: {texts!r}"
        )
    if takes_only_tokens:
        return {"tokens": text.to_tokens(tensor, None).to_tensor("")}
    return {"text": tf.reshape(tensor, [-1])}


def write_warmup(path, inputs):
    """Writes a request that TensorFlow Serving runs when it loads the model: SavedModel Warmup."""
    check_library("tensorflow_serving.apis", "tensorflow-serving-api", "serving")
    from tensorflow_serving.apis import model_pb2, predict_pb2, prediction_log_pb2

    request = predict_pb2.PredictRequest(
        model_spec=model_pb2.ModelSpec(signature_name="serving_default"),
        inputs={name: tf.make_tensor_proto(value.numpy()) for name, value in inputs.items()},
    )
    log = prediction_log_pb2.PredictionLog(
        predict_log=prediction_log_pb2.PredictLog(request=request)
    )
    folder = pathlib.Path(path, "assets.extra")
    folder.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(folder / "tf_serving_warmup_requests")) as writer:
        writer.write(log.SerializeToString())


def write_batching(path, max_batch_size):
    """Writes `batching_params.pbtxt`, by which TensorFlow Serving puts requests together.

    The outputs of requests that ran together are padded to the longest of them.
    """
    pathlib.Path(path, "batching_params.pbtxt").write_text(
        f"max_execution_batch_size {{ value: {max_batch_size} }}\n"
        f"max_batch_size {{ value: {max(max_batch_size, _LARGEST_REQUEST)} }}\n"
        "enable_large_batch_splitting { value: true }\n"
        "pad_variable_length_inputs: true\n"  # those of the signature `tokens`
        "batch_timeout_micros { value: 2000 }\n"
        "max_enqueued_batches { value: 256 }\n",
        encoding="utf-8",
    )
