"""Two processes or devices, each with a part of the lanes, train as one with all of them does.

Each process makes one run that is stopped, and one that resumes where it was stopped.
"""

import contextlib
import dataclasses
import functools
import itertools
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from training.letters import OPTIONS, make_model, make_trainer, spoil, write_letters

from keras_elmo import BiLanguageModel
from keras_elmo.process.signals import Interrupted
from keras_elmo.training import Corpus, Stream
from keras_elmo.training.replicas import Replicas
from keras_elmo.training.training_step import TrainingStep

STEPS = 6
OPTIONS = dataclasses.replace(
    OPTIONS, batch_size=3, dropout=0.0, num_negatives=0, zero_starts=False
)


def open_corpus(folder):
    """Two files, of which each replica reads one."""
    return Corpus([folder / "0.txt", folder / "1.txt"])


@functools.cache
def run_alone(folder):
    """The same steps in one process, with the lanes of both replicas in one batch."""
    model, corpus = make_model(OPTIONS), open_corpus(folder)
    stream = Stream(model.vocabulary, OPTIONS.batch_size, OPTIONS.unroll_steps)
    shards = [stream.training_batches(corpus, OPTIONS.seed, shard, 2) for shard in range(2)]
    step = TrainingStep(model, OPTIONS, Replicas())
    state, losses = model.bilm.zero_state(2 * OPTIONS.batch_size), []
    for first, second in itertools.islice(zip(*shards, strict=True), STEPS):
        # The words of the second come after those of the first. Boundaries are shared.
        indices = second["inputs"]
        indices = np.where(indices < 2, indices, indices + len(first["words"])).astype(np.int32)
        batch = {
            "step": first["step"],
            "words": np.concatenate([first["words"], second["words"]]),
            "inputs": np.concatenate([first["inputs"], indices], 1),
            "targets": np.concatenate([first["targets"], second["targets"]], 1),
        }
        loss, *_, state = step(batch, state, tf.constant(OPTIONS.learning_rate), tf.constant(0.0))
        losses.append(float(tf.reduce_mean(loss)))
    return {"losses": losses, "bias": model.softmax.bias.numpy().tolist()}


def run_replicas(folder, name):
    """What a process of the test does: a run that is stopped, and one that resumes from there."""
    if name == "two devices":
        (processor,) = tf.config.list_physical_devices("CPU")
        parts = [tf.config.LogicalDeviceConfiguration() for _ in range(2)]
        tf.config.set_logical_device_configuration(processor, parts)
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    else:
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
    corpus = open_corpus(folder)
    losses, traces, read_windows = [], [], BiLanguageModel.read_windows

    def traced(*args, **kwargs):
        traces.append(None)
        return read_windows(*args, **kwargs)

    BiLanguageModel.read_windows = traced

    def make():
        with strategy.scope():
            trainer = make_trainer(corpus, folder / name, OPTIONS, steps=STEPS)
            with pytest.raises(RuntimeError, match="outside of the strategy's scope"):
                trainer.run()
        return trainer

    def stop_at_step_3(metrics):
        losses.append(metrics["loss"])
        # Of two processes, only the second is asked to stop.
        if metrics["step"] == 3 and (name == "two devices" or not stopped.replicas.is_chief()):
            os.kill(os.getpid(), signal.SIGTERM)

    stopped = make()
    with pytest.raises(Interrupted) as error:
        stopped.run(stop_at_step_3)

    resumed = make()
    spoil(resumed)
    first_step = resumed.step if resumed.restore() else None
    resumed.run(lambda metrics: losses.append(metrics["loss"]))
    return {
        "losses": losses,
        "bias": resumed.model.softmax.bias.numpy().tolist(),
        "message": str(error.value),
        "resumed at": first_step,
        # Each replica traces the step. Both runs share it.
        "num_traces": len(traces) / len(resumed.replicas.local_indices),
    }


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("distribution")
    rng = np.random.default_rng(0)
    for k in range(2):
        write_letters(folder / f"{k}.txt", rng, 60)
    return folder


@pytest.fixture(scope="module")
def results(folder, name):
    """What each process of a test gives. All of them run at the same time."""
    environments = [{}]
    if name == "two processes":
        workers = [f"127.0.0.1:{port}" for port in free_ports(2)]
        tasks = [
            {"cluster": {"worker": workers}, "task": {"type": "worker", "index": index}}
            for index in range(2)
        ]
        environments = [{"TF_CONFIG": json.dumps(task)} for task in tasks]
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, str(folder), name],
            env={**os.environ, **path, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for environment in environments
    ]
    found = []
    try:
        for process in processes:
            out, err = process.communicate(timeout=400)
            assert process.returncode == 0, err[-3000:]
            found.append(json.loads(out.splitlines()[-1]))
    finally:
        for process in processes:
            process.kill()
    return found


REPLICAS = pytest.mark.parametrize(
    "name, count",
    [("two devices", 1), pytest.param("two processes", 2, marks=pytest.mark.slow)],
    scope="module",
)


@REPLICAS
def test_two_equal_one(results, folder, name, count):
    """Though they were stopped and resumed from a checkpoint, which has the state of every lane."""
    expected = run_alone(folder)
    assert len(results) == count
    for result in results:
        np.testing.assert_allclose(result["losses"], expected["losses"], atol=1e-4)
        np.testing.assert_allclose(result["bias"], expected["bias"], atol=1e-4)


@REPLICAS
def test_all_trace_once_and_stop_if_one_is_asked_to_stop(results, folder, name, count):
    assert len(results) == count
    for result in results:
        assert result["message"] == "resume from the checkpoint of step 4 with --resume"
        assert result["resumed at"] == 4
        assert result["num_traces"] == 1  # though batches differ in the numbers of words
    checkpoints = str(folder / name / "checkpoints")
    assert tf.train.latest_checkpoint(checkpoints).endswith(f"ckpt-{STEPS}")


if __name__ == "__main__":
    print(json.dumps(run_replicas(pathlib.Path(sys.argv[1]), sys.argv[2])))
