import dataclasses
import gc
import os
import pathlib
import random
import signal

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_elmo
from keras_elmo.process.traced_function import TracedFunction

# Traces make many objects that live long, through which each collection of garbage goes anew.
gc.freeze()
gc.set_threshold(50_000, 20, 50)
# TensorFlow's graph optimizer changes no result, but takes much of the time of a first training
# step of a small model. It is on in tests/golden and tests/export, and in every fresh process.
tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})

# In the background of a shell a process ignores SIGINT, and so do those that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = pathlib.Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def seeded():
    """Seeds what the tests draw from. (Keras draws the seeds of its layers from `random`.)

    TensorFlow's own seed is left alone: to set it, it prepares all graphs anew.
    """
    random.seed(0)
    np.random.seed(0)


@pytest.fixture(scope="session")
def shared():
    """The folder with the originals' models and outputs; tests that need it skip without it."""
    folder = pathlib.Path(os.environ.get("KERAS_ELMO_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"there is no folder {folder} (or set KERAS_ELMO_SHARED)")
    return folder


@pytest.fixture(scope="session")
def small_config():
    return keras_elmo.ElmoConfig(
        units=24,
        projection_dim=8,
        cell_clip=3.0,
        projection_clip=3.0,
        character_dim=4,
        filters=[(1, 4), (2, 8), (3, 8)],
        num_highway=1,
    )


def save_random(config, folder):
    """Writes a random model in the original's format."""
    keras.utils.set_random_seed(1)
    initializer = keras.initializers.RandomNormal(stddev=0.3)
    keras_elmo.Elmo(config, kernel_initializer=initializer).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def small_folder(tmp_path_factory, small_config):
    """A small random model."""
    return save_random(small_config, tmp_path_factory.mktemp("model") / "small")


@pytest.fixture(scope="session")
def one_layer_folder(tmp_path_factory, small_config):
    """The same with one LSTM layer, for tests where more would only take longer to trace."""
    config = dataclasses.replace(small_config, num_layers=1)
    return save_random(config, tmp_path_factory.mktemp("model") / "one_layer")


@pytest.fixture(scope="session")
def shared_elmo(small_folder):
    return keras_elmo.Elmo.from_pretrained(small_folder)


@pytest.fixture
def elmo(shared_elmo):
    """A small model that is traced once for all tests. A test that changes it takes `new_elmo`."""
    weights, config = shared_elmo.get_weights(), shared_elmo.get_config()
    yield shared_elmo
    assert all(map(np.array_equal, shared_elmo.get_weights(), weights))
    assert shared_elmo.get_config() == config


@pytest.fixture
def new_elmo(small_folder):
    return keras_elmo.Elmo.from_pretrained(small_folder)


def _untraced():
    """Eager calls run without graphs, which take seconds to trace.

    This is for tests of what a model computes that call each model a few times. What is called
    inside a `tf.function` has a graph all the same.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TracedFunction, "__call__", TracedFunction.run_untraced)
        yield


untraced = pytest.fixture(_untraced)
untraced_module = pytest.fixture(_untraced, scope="module")


@pytest.fixture(scope="module")
def without_traces():
    """Runs TensorFlow's functions eagerly: tests that take few steps save the time of traces."""
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.fixture(scope="module")
def graph_optimizer():
    """Turns on TensorFlow's graph optimizer, as users have it."""
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": False})
    yield
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})


@pytest.fixture
def no_delay(monkeypatch):
    """Progress is shown of short work, too."""
    monkeypatch.setattr("keras_elmo.process.progress.DELAY", 0)
