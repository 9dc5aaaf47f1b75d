import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.training.events import event_log

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


def test_figures_are_written_with_their_steps(tmp_path):
    with event_log(tmp_path / "logs") as log:
        log({"step": 1, **FIGURES})
        evaluation = {"perplexity": 9.5, "unknown": 0.25}
        log({"step": 2, **FIGURES, "loss": 2.25, "evaluation": evaluation})
    scalars = read_scalars(tmp_path / "logs")
    assert scalars["train/loss"] == [(1, 2.5), (2, 2.25)]
    for name in ("perplexity", "norm", "learning_rate"):
        value = np.float32(FIGURES[name])
        assert scalars[f"train/{name}"] == [(1, value), (2, value)]
    assert scalars["heldout/perplexity"] == [(2, 9.5)]
    assert scalars["heldout/unknown"] == [(2, 0.25)]


def test_figures_before_an_error_are_in_the_file(tmp_path):
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
