import dataclasses
import json

import numpy as np
import pytest

from keras_elmo import ElmoConfig
from keras_elmo.training import TrainingOptions, read_options


@pytest.mark.parametrize(
    "options, steps, num_steps, expected",
    [
        ({"learning_rate": 0.5, "warmup_steps": 5, "schedule": "linear"}, [0, 4, 5, 10, 14], 15,
         [0.1, 0.5, 0.5, 0.25, 0.05]),
        ({"learning_rate": 1.0, "schedule": "cosine"}, [0, 5], 10, [1.0, 0.5]),
        ({}, [10**6], 10, [0.2]),
        ({"optimizer": "adam"}, [0], 10, [0.001]),
    ],
)  # fmt: skip
def test_learning_rates(options, steps, num_steps, expected):
    options = TrainingOptions(**options)
    found = [options.learning_rate_at(step, num_steps) for step in steps]
    assert found == pytest.approx(expected)


def test_numbers_of_numpy_become_those_of_python():
    options = TrainingOptions(
        dropout=np.float32(0.25), epochs=np.float16(3), seed=np.int64(8), shuffle=np.False_
    )
    assert options == TrainingOptions(dropout=0.25, epochs=3.0, seed=8, shuffle=False)
    json.dumps(dataclasses.asdict(options))  # a run's settings
    assert isinstance(TrainingOptions(epochs=3).epochs, int)


@pytest.mark.parametrize(
    "name, value",
    [
        ("batch_size", 0), ("unroll_steps", 2.5), ("dropout", np.float32("nan")),
        ("optimizer", "sgd"), ("learning_rate", -1), ("clip_norm", 0), ("num_negatives", -1),
        ("epochs", float("inf")), ("epochs", None), ("schedule", "step"), ("warmup_steps", -1),
        ("shuffle", "no"), ("zero_starts", None), ("dtype", "float16"),
        ("matmul_dtype", "float16"), ("seed", -1),
    ],
)  # fmt: skip
def test_options_out_of_range(name, value):
    with pytest.raises(ValueError, match=f"`{name}` must be .* Received: {name}="):
        TrainingOptions(**{name: value})


def test_samples_are_at_most_half_of_the_vocabulary():
    for num_words, num_negatives in [(27, 13), (1999, 999), (2048, 1024), (5000, 1024)]:
        assert TrainingOptions().for_vocabulary(num_words).num_negatives == num_negatives
    options = TrainingOptions(num_negatives=14)
    assert options.for_vocabulary(28) is options
    with pytest.raises(ValueError, match="num_negatives"):
        options.for_vocabulary(27)


def test_options_of_the_original_trainer_are_read(tmp_path):
    training = {
        "batch_size": 16, "unroll_steps": 10, "dropout": 0.3, "learning_rate": 0.1,
        "all_clip_norm_val": 5.0, "n_negative_samples_batch": 64, "n_epochs": 2,
        "n_tokens_vocab": 1503, "n_train_tokens": 48000, "bidirectional": True,
    }  # fmt: skip
    config, path = ElmoConfig(12, 6, filters=[(1, 4)]), tmp_path / "options.json"
    path.write_text(json.dumps({**config.to_options(), **training}))
    arguments = {
        "batch_size": 16, "unroll_steps": 10, "dropout": 0.3, "learning_rate": 0.1,
        "clip_norm": 5.0, "num_negatives": 64, "epochs": 2,
    }  # fmt: skip
    assert read_options(path) == (config, arguments, 1503)
    path.write_text(json.dumps({**config.to_options(), "sample_softmax": False}))
    assert read_options(path) == (config, {"num_negatives": 0}, None)
