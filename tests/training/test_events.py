import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.training.events import event_log, read_event_log

FIGURES = {"loss": 2.5, "perplexity": 12.25, "norm": 0.5, "learning_rate": 0.2}


def read_scalars(folder):
    """The scalars of the one event file of a folder, as TensorBoard finds them: tag -> pairs."""
    (path,) = folder.iterdir()
    scalars = {}
    for record in tf.data.TFRecordDataset(str(path)):
        event = tf.compat.v1.Event.FromString(record.numpy())
        for value in event.summary.value:
            assert value.metadata.plugin_data.plugin_name in ("scalars", "")
            pair = event.step, float(tf.make_ndarray(value.tensor))
            scalars.setdefault(value.tag, []).append(pair)
    return scalars


def test_metrics_are_written_with_their_steps(tmp_path):
    with event_log(tmp_path / "logs") as log:
        log({"step": 1, **FIGURES})
        evaluation = {"perplexity": 9.5, "oov_rate": 0.25}
        log({"step": 2, **FIGURES, "loss": 2.25, "evaluation": evaluation})
    scalars = read_scalars(tmp_path / "logs")
    assert scalars["train/loss"] == [(1, 2.5), (2, 2.25)]
    for name in ("perplexity", "norm", "learning_rate"):
        value = np.float32(FIGURES[name])
        assert scalars[f"train/{name}"] == [(1, value), (2, value)]
    assert scalars["heldout/perplexity"] == [(2, 9.5)]
    assert scalars["heldout/oov_rate"] == [(2, 0.25)]


def test_metrics_before_an_error_are_in_the_file(tmp_path):
    with pytest.raises(RuntimeError):
        with event_log(tmp_path / "logs") as log:
            log({"step": 1, **FIGURES})
            raise RuntimeError
    assert read_scalars(tmp_path / "logs")["train/loss"] == [(1, 2.5)]


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with event_log(None) as log:
        log({"step": 1, **FIGURES})
    assert list(tmp_path.iterdir()) == []


def test_a_log_is_read_as_it_was_written(tmp_path):
    for losses in ((2.5, 2.0), (1.5, 1.0)):  # the second run continues from step 1
        with event_log(tmp_path / "logs") as log:
            for step, loss in enumerate(losses, start=1 + (losses[0] < 2)):
                log({"step": step, **FIGURES, "loss": loss})
    assert read_event_log(tmp_path)["train/loss"] == [(1, 2.5), (2, 1.5), (3, 1.0)]
    assert read_event_log(tmp_path / "logs") == read_event_log(tmp_path)


def test_texts_and_pictures_of_other_programs_are_left_out(tmp_path):
    writer = tf.summary.create_file_writer(str(tmp_path))
    metadata = tf.compat.v1.SummaryMetadata()
    with writer.as_default():
        for tensor in (tf.constant(["a", "b"]), tf.constant("text"), tf.zeros((2, 3))):
            tf.summary.write("train/loss", tensor, 1, metadata)
        tf.summary.write("train/loss", tf.constant([0.5]), 2, metadata)
    writer.close()
    assert read_event_log(tmp_path) == {"train/loss": [(2, 0.5)]}


def test_a_record_that_is_no_event(tmp_path):
    with tf.io.TFRecordWriter(str(tmp_path / "events.out.tfevents.1")) as writer:
        writer.write(b"\xff\xff no event")
    with pytest.raises(ValueError, match="must be an event file"):
        read_event_log(tmp_path)


def test_a_log_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="log of the run could not be written to .*file.*--resume"):
        with event_log(tmp_path / "file"):
            pass


def test_a_log_that_is_cut_short_or_damaged(tmp_path):
    with event_log(tmp_path) as log:
        log({"step": 1, **FIGURES})
        log({"step": 2, **FIGURES})
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    path.write_bytes(content[:-5])
    scalars = read_event_log(tmp_path)
    assert scalars["train/loss"] == [(1, 2.5), (2, 2.5)]
    assert len(scalars["train/learning_rate"]) == 1
    path.write_bytes(b"no event" * 20)
    with pytest.raises(ValueError, match="must be an event file"):
        read_event_log(tmp_path)
    path.unlink()
    with pytest.raises(FileNotFoundError, match="must be a training folder"):
        read_event_log(tmp_path)
