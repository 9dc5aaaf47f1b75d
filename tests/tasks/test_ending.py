"""When `fit` ends, whose weights stay, and what their score is."""

import h5py
import keras
import numpy as np
import pytest
from tasks.cases import FILMS as TEXTS
from tasks.cases import LABELS, NAMES

from keras_elmo import TextClassifier
from keras_elmo.tasks import batches, ending
from keras_elmo.tasks.examples import read_examples

OF_CHOICE = TEXTS, ["neg"] * 18 + ["pos"] * 6


@pytest.fixture
def model(one_layer_folder, monkeypatch):
    monkeypatch.setattr(ending, "MIN_EPOCHS", 4)
    monkeypatch.setattr(ending, "MAX_EPOCHS", 8)
    monkeypatch.setattr(TextClassifier, "texts_read", 1)
    model = TextClassifier(one_layer_folder, NAMES, filters=2, word_dim=0, dropout=0.0)
    model.compile(keras.optimizers.SGD(0.1))
    return model


def on_epoch(function, event="on_epoch_begin"):
    return keras.callbacks.LambdaCallback(**{event: lambda epoch, logs: function(epoch)})


def accuracies(model, *shares):
    """A callback that makes the accuracy of an epoch, of `OF_CHOICE`, 0.75 or 0.25."""
    bias = model.head.get_layer("classifier").bias
    return on_epoch(lambda k: bias.assign([99.0, 0.0] if shares[k] == 0.75 else [0.0, 99.0]))


def test_the_score_on_a_card_is_that_of_the_weights(model):
    model.compile(keras.optimizers.SGD(0.0))
    options = {"validation_data": OF_CHOICE, "verbose": 0}
    for shares in ((0.75, 0.25), (0.25, 0.75)):
        model.fit(*OF_CHOICE, epochs=2, callbacks=accuracies(model, *shares), **options)
        assert model.facts()["accuracy of the validation data"] == f"{shares[1]:.3f}"
    model.head.set_weights([0 * weight for weight in model.head.get_weights()])
    assert "accuracy of the validation data" not in model.facts()


def test_metrics_of_ones_own_leave_the_loss(model):
    metric = keras.metrics.SparseCategoricalAccuracy("acc")
    model.compile(keras.optimizers.SGD(0.0), metrics=[metric])
    history = model.fit(*OF_CHOICE, validation_data=OF_CHOICE, verbose=0).history
    assert len(history["val_loss"]) == 6 and model.main_metric == "loss"
    model.compile()
    history = model.fit(*OF_CHOICE, epochs=1, verbose=0).history
    assert set(history) == {"accuracy", "loss"}


def test_the_weights_of_ones_own_callback_stay(model):
    kept = []
    keep = on_epoch(lambda _: kept.append(model.head.get_weights()), "on_epoch_end")
    # The largest loss: the first epoch.
    best = keras.callbacks.EarlyStopping("loss", 0, 9, mode="max", restore_best_weights=True)
    model.fit(TEXTS, LABELS, callbacks=[keep, best], verbose=0)
    assert all(map(np.array_equal, model.head.get_weights(), kept[0])) and len(kept) == 4
    model.compile(keras.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.0))
    model.fit(TEXTS, LABELS, callbacks=keep, verbose=0)
    assert all(map(np.array_equal, model.head.get_weights(), kept[-1]))


def test_layers_may_be_frozen_meanwhile(model):
    layers, kept = [model.head.get_layer(f"width_{k}") for k in (1, 2)], []

    def swap(epoch):
        layers[0].trainable, layers[1].trainable = epoch < 3, epoch >= 3

    keep = on_epoch(lambda _: kept.append([x.get_weights() for x in layers]), "on_epoch_end")
    model.fit(TEXTS, LABELS, callbacks=[on_epoch(swap), keep], verbose=0)
    for index, layer in enumerate(layers):  # In the second half, both epochs or one of them.
        expected = np.mean([each[index][0] for each in kept[2 + index :]], axis=0)
        np.testing.assert_allclose(layer.get_weights()[0], expected, atol=1e-7)


@pytest.mark.parametrize("has_validation", [False, True])
def test_an_interruption_changes_nothing(model, has_validation, tmp_path):
    rate, validation, changes = 0.1, None, []
    if has_validation:
        rate, validation = 0.0, OF_CHOICE
        changes = [accuracies(model, 0.25, 0.75, *[0.25] * 6)]
    first = model.get_weights()

    def stop(epoch):
        if epoch == 3:
            raise InterruptedError

    def fit(*callbacks):
        callbacks = [keras.callbacks.BackupAndRestore(tmp_path / "backup"), *changes, *callbacks]
        options = {"shuffle": False, "validation_data": validation, "verbose": 0}
        model.fit(*OF_CHOICE, callbacks=callbacks, **options)
        return model.head.get_weights()

    model.compile(keras.optimizers.SGD(rate))
    expected = fit()
    model.set_weights(first)
    model.compile(keras.optimizers.SGD(rate))
    with pytest.raises(InterruptedError):
        fit(on_epoch(stop))
    model.save_weights(tmp_path / "own.weights.h5")  # and nothing of the training
    assert list(h5py.File(tmp_path / "own.weights.h5")["vars"]) == []
    model.set_weights(first)
    found = fit()
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-7)
    assert not (tmp_path / "backup").exists()


def test_few_epochs_where_the_bilm_trains(model):
    epochs, (mean,) = ending.choose_ending(model, None, None, 24)
    assert epochs == 4
    model.trainable_part = "all"
    assert ending.choose_ending(model, None, mean, 24)[0] == ending.FINE_TUNING_EPOCHS < 8


def test_vectors_without_room_are_not_kept(model, tmp_path, monkeypatch):
    parts = [read_examples(model, TEXTS, LABELS)]
    arguments = model, parts, 500, tmp_path / "x", False
    (tmp_path / "x").mkdir()
    assert batches.make_cache(*arguments).share < 1
    usage = batches.shutil.disk_usage(tmp_path)._replace(free=2_000)
    monkeypatch.setattr(batches.shutil, "disk_usage", lambda _: usage)
    with pytest.warns(UserWarning, match=f"GB, and {tmp_path} has 0.0 GB left.* TMPDIR"):
        assert batches.make_cache(*arguments) is None
