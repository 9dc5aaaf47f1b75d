"""Two processes or devices, each with a part of the lanes, train as one with all of them does."""

import json
import os
import signal
import socket
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.training import Corpus, TrainingOptions
from keras_elmo.training.signals import Interrupted

STEPS = 6
OPTIONS = TrainingOptions(
    batch_size=3, unroll_steps=5, dropout=0.0, num_negatives=0, seed=5, zero_starts=False
)
WORDS = ["<S>", "</S>", "<UNK>", *"abcdefghijklmnopqrstuvwx"]


def train(folder, output, steps=STEPS):
    """A run under the strategy that the environment asks for: the losses of its steps."""
    import keras_elmo
    from keras_elmo import BiLanguageModel
    from keras_elmo.training import Trainer

    strategy = tf.distribute.get_strategy()
    if os.environ.get("TF_CONFIG"):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
    elif os.environ.get("TWO_DEVICES"):
        (processor,) = tf.config.list_physical_devices("CPU")
        parts = [tf.config.LogicalDeviceConfiguration() for _ in range(2)]
        tf.config.set_logical_device_configuration(processor, parts)
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    config = keras_elmo.ElmoConfig(
        units=12, projection_dim=6, character_dim=4, filters=[(1, 4), (2, 4)], num_highway=1
    )
    losses = []

    def report(figures):
        losses.append(figures["loss"])
        if os.environ.get("STOPPED") and figures["step"] == 2:
            os.kill(os.getpid(), signal.SIGTERM)

    with strategy.scope():
        model = BiLanguageModel(config, WORDS)
        model.initialize(1)
        corpus = Corpus([os.path.join(folder, name) for name in ("0.txt", "1.txt")])
        trainer = Trainer(model, corpus, OPTIONS, output, steps=steps, checkpoint_every=2)
        if os.environ.get("TF_CONFIG"):
            with pytest.raises(RuntimeError, match="outside of the strategy's scope"):
                trainer.run()
    if output:
        trainer.restore()
    try:
        trainer.run(report)
    except Interrupted as error:
        return {"stopped": str(error)}
    return {"losses": losses, "bias": model.softmax.bias.numpy().tolist()}


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for k in range(2):
        starts = rng.integers(0, 18, 60)
        lines = [" ".join(WORDS[3 + s : 3 + s + rng.integers(3, 7)]) for s in starts]
        (tmp_path / f"{k}.txt").write_text("\n".join(lines))
    return tmp_path


def alone(folder):
    """The same steps in one process, the lanes of both workers in one batch."""
    import keras_elmo
    from keras_elmo import BiLanguageModel
    from keras_elmo.training import Stream
    from keras_elmo.training.optimizer import Adagrad, add_up, clip

    config = keras_elmo.ElmoConfig(
        units=12, projection_dim=6, character_dim=4, filters=[(1, 4), (2, 4)], num_highway=1
    )
    model = BiLanguageModel(config, WORDS)
    model.initialize(1)
    variables = [variable.value for variable in model.trainable_variables]
    optimizer = Adagrad(variables)
    corpus = Corpus([folder / "0.txt", folder / "1.txt"])
    stream = Stream(model.vocabulary, OPTIONS.batch_size, OPTIONS.unroll_steps)
    shards = [iter(stream.training(corpus, OPTIONS.seed, k, 2)) for k in range(2)]
    state, losses = model.bilm.zero_state(2 * OPTIONS.batch_size), []
    for _ in range(STEPS):
        one, other = (next(shard) for shard in shards)
        # The words of the second come after those of the first; boundaries are shared.
        moved = tf.where(
            other["inputs"] < 2, other["inputs"], other["inputs"] + tf.size(one["words"])
        )
        inputs = tf.concat([one["inputs"], moved], 1)
        targets = tf.concat([one["targets"], other["targets"]], 1)
        words = tf.concat([one["words"], other["words"]], 0)
        with tf.GradientTape() as tape:
            outputs, state = model.read_windows(words, inputs, state)
            loss = tf.reduce_mean(
                model.softmax.loss(tf.reshape(outputs, (-1, 6)), tf.reshape(targets, [-1]))
            )
            objective = OPTIONS.unroll_steps * loss
        gradients = [add_up(g) for g in tape.gradient(objective, variables)]
        optimizer.apply(clip(gradients, OPTIONS.clip_norm)[0], tf.constant(OPTIONS.learning_rate))
        losses.append(float(loss))
    return {"losses": losses, "bias": model.softmax.bias.numpy().tolist()}


def free_ports(number):
    sockets = [socket.socket() for _ in range(number)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def together(folder, output="", steps=STEPS, second=()):
    """Two processes of this file, as TF_CONFIG says: what each gives.

    The second has more in its environment.
    """
    workers = [f"127.0.0.1:{port}" for port in free_ports(2)]
    tasks = [{"type": "worker", "index": index} for index in range(2)]
    cluster = {"worker": workers}
    one, other = ({"TF_CONFIG": json.dumps({"cluster": cluster, "task": task})} for task in tasks)
    return apart([one, {**other, **dict(second)}], folder, output, steps)


def apart(environments, folder, output="", steps=STEPS):
    """Runs of this file, one with each environment, all at once: what each gives."""
    command = [sys.executable, __file__, str(folder), str(output), str(steps)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    processes = [
        subprocess.Popen(command, env={**os.environ, **path, **environment}, **pipes)
        for environment in environments
    ]
    results = []
    try:
        for process in processes:
            out, err = process.communicate(timeout=240)
            assert process.returncode == 0, err[-3000:]
            results.append(json.loads(out.splitlines()[-1]))
    finally:
        for process in processes:
            process.kill()
    return results


def test_two_processes_equal_one(folder):
    expected = alone(folder)
    for result in together(folder):
        np.testing.assert_allclose(result["losses"], expected["losses"], atol=1e-4)
        np.testing.assert_allclose(result["bias"], expected["bias"], atol=1e-4)
    # And from a checkpoint, of which the first wrote every lane's state.
    together(folder, folder / "run", steps=4)
    for result in together(folder, folder / "run"):
        np.testing.assert_allclose(result["losses"], expected["losses"][4:], atol=1e-4)


def test_where_one_is_told_to_stop_both_do(folder):
    results = together(folder, folder / "run", steps=5, second={"STOPPED": "1"})
    assert results == 2 * [{"stopped": "go on from the checkpoint of step 3 with --resume"}]
    assert tf.train.latest_checkpoint(str(folder / "run/checkpoints")).endswith("ckpt-3")


def test_two_devices_equal_one(folder):
    expected = alone(folder)
    (result,) = apart([{"TWO_DEVICES": "1"}], folder)
    np.testing.assert_allclose(result["losses"], expected["losses"], atol=1e-4)
    np.testing.assert_allclose(result["bias"], expected["bias"], atol=1e-4)
    apart([{"TWO_DEVICES": "1"}], folder, folder / "run", steps=4)
    (result,) = apart([{"TWO_DEVICES": "1"}], folder, folder / "run")
    np.testing.assert_allclose(result["losses"], expected["losses"][4:], atol=1e-4)


if __name__ == "__main__":
    folder, output, steps = sys.argv[1:]
    print(json.dumps(train(folder, output or None, int(steps))))
