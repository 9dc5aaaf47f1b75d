import pytest
import tensorflow as tf

from keras_elmo.training.events import event_log, read_event_log

METRICS = {"loss": 2.5, "perplexity": 12.25, "norm": 0.5, "learning_rate": 0.25}


def test_metrics_are_written_with_their_steps_as_tensorboard_reads_them(tmp_path):
    evaluation = {"perplexity": 9.5, "oov_rate": 0.25}
    with pytest.raises(RuntimeError), event_log(tmp_path / "logs") as log:
        log({"step": 1, **METRICS})
        log({"step": 2, **METRICS, "loss": 2.25, "evaluation": evaluation})
        raise RuntimeError  # what was written before is kept
    assert read_event_log(tmp_path) == {
        **{f"train/{name}": [(1, value), (2, value)] for name, value in METRICS.items()},
        "train/loss": [(1, 2.5), (2, 2.25)],
        **{f"heldout/{name}": [(2, value)] for name, value in evaluation.items()},
    }
    (path,) = (tmp_path / "logs").iterdir()
    first = next(iter(tf.data.TFRecordDataset(str(path))))
    assert tf.compat.v1.Event.FromString(first.numpy()).file_version == "brain.Event:2"


def test_a_resumed_run_replaces_the_steps_after_its_checkpoint(tmp_path):
    for losses in {1: 2.5, 2: 2.0}, {2: 1.5, 3: 1.0}:
        with event_log(tmp_path / "logs") as log:
            for step, loss in losses.items():
                log({"step": step, **METRICS, "loss": loss})
    assert read_event_log(tmp_path)["train/loss"] == [(1, 2.5), (2, 1.5), (3, 1.0)]
    assert read_event_log(tmp_path / "logs") == read_event_log(tmp_path)


def test_what_other_programs_write_is_left_out(tmp_path):
    writer = tf.summary.create_file_writer(str(tmp_path))
    with writer.as_default():
        metadata = tf.compat.v1.SummaryMetadata()
        tf.summary.write("train/loss", tf.constant(["a", "b"]), 1, metadata)
    writer.close()
    assert read_event_log(tmp_path) == {}


def test_a_log_that_is_cut_short_or_damaged(tmp_path):
    with event_log(tmp_path) as log:
        log({"step": 1, **METRICS})
        log({"step": 2, **METRICS})
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-5])
    assert read_event_log(tmp_path)["train/loss"] == [(1, 2.5)]  # without the last event
    with pytest.raises(OSError, match=path.name), event_log(path):  # it is no folder
        pass
    path.write_bytes(b"not an event" * 20)
    with pytest.raises(ValueError, match="must be an event file"):
        read_event_log(tmp_path)
    with tf.io.TFRecordWriter(str(path)) as writer:
        writer.write(b"\xff\xff not an event")
    with pytest.raises(ValueError, match="must be an event file"):
        read_event_log(tmp_path)
    path.unlink()
    with pytest.raises(FileNotFoundError, match="must be a training folder"):
        read_event_log(tmp_path)
