"""`event_log` writes the metrics of a run for TensorBoard; `read_event_log` reads them."""

import contextlib
import os
import pathlib
import time

import tensorflow as tf
from google.protobuf import message

from keras_elmo.files.atomic import tensorflow_reason


@contextlib.contextmanager
def event_log(folder):
    """Yields a function that writes the metrics of a step; `None` as the folder writes nothing."""
    if folder is None:
        yield lambda metrics: None
        return

    def write(**fields):
        event = tf.compat.v1.Event(wall_time=time.time(), **fields)
        with _naming(folder):
            writer.write(event.SerializeToString())
            writer.flush()

    def log(metrics):
        names = "loss", "perplexity", "norm", "learning_rate"
        scalars = {f"train/{name}": metrics[name] for name in names}
        for name, value in metrics.get("evaluation", {}).items():
            scalars[f"heldout/{name}"] = value
        values = [{"tag": tag, "simple_value": value} for tag, value in scalars.items()]
        write(step=metrics["step"], summary=tf.compat.v1.Summary(value=values))

    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"events.out.tfevents.{time.time_ns()}")
    with _naming(folder):
        writer = tf.io.TFRecordWriter(path)
    with writer:
        write(file_version="brain.Event:2")
        yield log


@contextlib.contextmanager
def _naming(folder):
    """Turns an error of TensorFlow, as that of a full disk, into an `OSError`."""
    try:
        yield
    except tf.errors.OpError as error:
        raise OSError(
            f"The log could not be written to {folder}: {tensorflow_reason(error)}. Make room, and "
            "resume with --resume from the last checkpoint"
        ) from None


def read_event_log(folder):
    """Reads the scalars of a run: of a training folder, or of its folder `logs`.

    Returns:
        A dict: by the tag of a scalar, such as `"train/loss"` or `"heldout/perplexity"`, a list of
        pairs, the step and the value, in the order of the steps. If a run was resumed, the later
        value of a step counts.

    Raises:
        FileNotFoundError: there is no event file.
        ValueError: an event file is damaged at its beginning. (A damaged end is left out.)
    """
    folder = pathlib.Path(folder)
    name = "events.out.tfevents.*"
    paths = sorted([*folder.glob(name), *folder.glob(f"logs/{name}")])
    if not paths:
        raise FileNotFoundError(
            f"{folder} must be a training folder, or another with TensorBoard's event files"
        )
    scalars = {}
    for path in paths:
        for event in _events(path):
            for value in event.summary.value:
                if value.HasField("simple_value"):  # not what other programs write there, too
                    scalars.setdefault(value.tag, {})[event.step] = value.simple_value
    return {tag: sorted(values.items()) for tag, values in scalars.items()}


def _events(path):
    count = 0
    try:
        for record in tf.data.TFRecordDataset(os.fspath(path)):
            yield tf.compat.v1.Event.FromString(record.numpy())
            count += 1
    except (tf.errors.DataLossError, message.DecodeError):
        if not count:
            raise ValueError(f"{path} must be an event file. Received: other content") from None
