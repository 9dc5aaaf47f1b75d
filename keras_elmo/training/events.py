"""`event_log`: writes the figures of a run for TensorBoard."""

import contextlib
import os

import tensorflow as tf


@contextlib.contextmanager
def event_log(folder):
    """A context that gives a function, which writes the figures of a step.

    Args:
        folder: path of the folder to write to; or `None`, and nothing is written.

    Yields:
        A function of a dict, see `Trainer.run`.
    """
    if folder is None:
        yield lambda figures: None
        return
    writer = tf.summary.create_file_writer(os.fspath(folder))
    # This is what `tf.summary.scalar` writes. That function needs TensorBoard itself.
    metadata = tf.compat.v1.SummaryMetadata(
        plugin_data={"plugin_name": "scalars"}, data_class="DATA_CLASS_SCALAR"
    )

    def log(figures):
        names = ("loss", "perplexity", "norm", "learning_rate")
        scalars = {f"train/{name}": figures[name] for name in names}
        for name, value in figures.get("evaluation", {}).items():
            scalars[f"heldout/{name}"] = value
        with writer.as_default():
            for tag, value in scalars.items():
                tf.summary.write(tag, tf.constant(value, tf.float32), figures["step"], metadata)

    try:
        yield log
    finally:
        writer.close()
