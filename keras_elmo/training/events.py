"""`event_log`: the figures of a run, for TensorBoard."""

import contextlib

import tensorflow as tf


@contextlib.contextmanager
def event_log(folder):
    """Gives a function that writes the figures of a step, as `Trainer.run` reports them.

    Args:
        folder: path; or `None`, and nothing is written.
    """
    if folder is None:
        yield lambda figures: None
        return
    writer = tf.summary.create_file_writer(folder)
    # `tf.summary.scalar` needs TensorBoard itself.
    metadata = tf.compat.v1.SummaryMetadata(
        plugin_data={"plugin_name": "scalars"}, data_class="DATA_CLASS_SCALAR"
    )

    def log(figures):
        step = figures["step"]
        shown = {f"train/{name}": figures[name] for name in ("loss", "perplexity", "norm")}
        shown["train/learning_rate"] = figures["learning_rate"]
        for name, value in figures.get("heldout", {}).items():
            shown[f"heldout/{name}"] = value
        with writer.as_default():
            for name, value in shown.items():
                tf.summary.write(name, tf.constant(value, tf.float32), step, metadata)

    try:
        yield log
    finally:
        writer.close()
