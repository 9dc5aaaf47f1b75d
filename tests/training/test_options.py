import dataclasses
import json
from fractions import Fraction

import numpy as np
import pytest

from keras_elmo.training import TrainingOptions, read_options

MODEL_OPTIONS = {
    "lstm": {"dim": 12, "projection_dim": 6, "n_layers": 2, "use_skip_connections": True},
    "char_cnn": {
        "activation": "relu", "embedding": {"dim": 4}, "filters": [[1, 4], [2, 4]],
        "max_characters_per_token": 50, "n_characters": 261, "n_highway": 1,
    },
}  # fmt: skip


@pytest.mark.parametrize(
    "options, steps, num_steps, expected",
    [
        ({"learning_rate": 0.5, "warmup_steps": 5, "schedule": "linear"}, [0, 4, 5, 10, 14], 15,
         [0.1, 0.5, 0.5, 0.25, 0.05]),
        ({"learning_rate": 1.0, "schedule": "cosine"}, [0, 5], 10, [1.0, 0.5]),
        ({}, [10**6], 10, [0.2]),
        ({"optimizer": "adam"}, [0], 10, [0.001]),
        ({"optimizer": "adam", "learning_rate": 0.5}, [0], 10, [0.5]),
    ],
)  # fmt: skip
def test_learning_rates(options, steps, num_steps, expected):
    options = TrainingOptions(**options)
    found = [options.learning_rate_at(step, num_steps) for step in steps]
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16, Fraction])
def test_numbers_of_any_kind_become_those_of_python(kind):
    values = {"dropout": 0.25, "learning_rate": 0.5, "clip_norm": 2.0, "epochs": 3.0}
    options = TrainingOptions(
        **{name: kind(value) for name, value in values.items()}, batch_size=np.int64(8)
    )
    assert options == TrainingOptions(**values, batch_size=8)
    json.dumps(dataclasses.asdict(options))  # a run's settings
    for name in values:
        with pytest.raises(ValueError, match=f"`{name}` must be"):
            TrainingOptions(**{name: kind(-1)})
    with pytest.raises(ValueError, match="dropout"):
        TrainingOptions(dropout=np.float32("nan"))
    assert isinstance(TrainingOptions(epochs=3).epochs, int)


def test_options_out_of_range_are_all_named():
    faults = {
        "batch_size": 0, "unroll_steps": 2.5, "dropout": 1.0, "optimizer": "sgd",
        "learning_rate": -1, "clip_norm": 0, "num_negatives": -1, "epochs": float("inf"),
        "schedule": "step", "warmup_steps": -1, "shuffle": 1, "zero_starts": None,
        "dtype": "float16", "matmul_dtype": "float16", "seed": -1,
    }  # fmt: skip
    with pytest.raises(ValueError) as error:
        TrainingOptions(**faults)
    lines = str(error.value).split("\n")
    assert sorted(line.split("`")[1] for line in lines) == sorted(faults)


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
    path = tmp_path / "options.json"
    path.write_text(json.dumps({**MODEL_OPTIONS, **training}))
    config, arguments, num_words = read_options(path)
    assert (config.units, config.projection_dim, config.num_layers) == (12, 6, 2)
    assert num_words == 1503
    assert arguments == {
        "batch_size": 16, "unroll_steps": 10, "dropout": 0.3, "learning_rate": 0.1,
        "clip_norm": 5.0, "num_negatives": 64, "epochs": 2,
    }  # fmt: skip
    path.write_text(json.dumps({**MODEL_OPTIONS, **training, "sample_softmax": False}))
    assert read_options(path)[1] == {**arguments, "num_negatives": 0}
    path.write_text(json.dumps(MODEL_OPTIONS))
    assert read_options(path) == (config, {}, None)
