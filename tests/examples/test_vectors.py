import sys

import keras
import numpy as np
import pytest

import vectors


@pytest.mark.parametrize("has_token_labels", [True, False])
def test_batches_hold_each_sentence_once(has_token_labels):
    rng = np.random.default_rng(0)
    data = [rng.normal(size=(2, n, 3)) for n in [*rng.integers(1, 9, 19), 0]]
    labels = [[n] * x.shape[1] for n, x in enumerate(data)] if has_token_labels else range(20)
    batches = vectors.Batches(data, list(labels), rng, size=6)
    seen = []
    for rows in batches.rows:
        x, y = batches.batch(rows)
        assert y.shape == (x.shape[:2] if has_token_labels else x.shape[:1])
        for k, row in enumerate(rows):
            count = data[row].shape[1]
            seen.append(row)
            np.testing.assert_allclose(x[k, :count, 3:], data[row][1], atol=1e-6)
            assert not x[k, count:].any()
            assert np.all(
                y[k] == ([row] * count + [0] * (len(x[k]) - count) if y.ndim > 1 else row)
            )
    assert sorted(seen) == list(range(20))
    sums = batches.predict(lambda x: x[:, :, 0])
    for row, first in zip(data, sums, strict=True):
        np.testing.assert_allclose(first[: row.shape[1]], row[0, :, 0], atol=1e-6)


def test_training_where_the_first_batches_are_equally_wide():
    """Keras reads the shapes of a `PyDataset` from its first two batches."""
    data = [np.ones((1, n, 3)) for n in [2] * 64 + [4] * 32]
    parts = data, [[1] * x.shape[1] for x in data]
    head = [keras.layers.Dense(2, activation="softmax")]
    model = vectors.fit(lambda: head, "sparse_categorical_crossentropy", parts, parts, 2, 0)
    assert len(model.history.history["val_loss"]) == 2


def test_each_epoch_has_another_order():
    data = [np.full((1, 2, 3), n) for n in range(8)]
    dataset = vectors.Batches(data, range(8), np.random.default_rng(0), 1).dataset()
    orders = [tuple(int(y[0]) for _, y in dataset) for _ in range(4)]
    assert all(sorted(order) == list(range(8)) for order in orders) and len(set(orders)) == 4


def test_shares_of_a_mix():
    mix = vectors.Mix(2)
    mix.build((None, None, 6))
    mix.mix.scalars.assign([0.0, np.log(3)])
    assert mix.shares() == [0.25, 0.75]
    x = np.arange(12, dtype=np.float32).reshape(1, 2, 6)
    np.testing.assert_allclose(mix(x), x[..., :3] / 4 + x[..., 3:] * 3 / 4, atol=1e-6)


@pytest.mark.parametrize("has_terminal", [True, False])
def test_a_terminal_shows_the_epoch(has_terminal, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: has_terminal)
    line = vectors.EpochLine()
    line.set_params({"epochs": 5})
    line.on_epoch_begin(1)
    line.on_train_end()
    shown = capsys.readouterr().err.split("\r")
    assert [text.strip() for text in shown if text.strip()] == (
        ["training: epoch 2 of at most 5"] if has_terminal else []
    )


def test_rows(capsys):
    vectors.report_rows({"a": {"scores": [1.0, 3.0], "seconds": [4.0, 6.0]}, "b": {"scores": [7]}})
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["a", "2.0", "+-", "1.4", "(5", "s", "of", "the", "processor)"],
        ["b", "7.0"],
    ]
