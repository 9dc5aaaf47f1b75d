"""Writes checkpoints as the original trainer, bilm-tf on TensorFlow 1, does."""

import json

import numpy as np
import tensorflow as tf

from keras_elmo.weights.layout import weight_table


def save_tensors(prefix, tensors):
    """Writes the files of a checkpoint: of arrays by their names, without those that are `None`."""
    names = sorted(name for name, value in tensors.items() if value is not None)
    values = [tf.constant(tensors[name]) for name in names]
    slices = [""] * len(names)
    tf.raw_ops.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=slices, tensors=values)


def write_checkpoint(folder, model, **changes):
    """What the original trainer would write; `changes` replace tensors, or remove them (`None`)."""
    tensors = {"global_step": np.int64(7), "lm/init_lstm_state_0": np.zeros((2, 3), np.float32)}
    for entry in weight_table(model.character_encoder, model.bilm, model.softmax):
        values = np.concatenate([v.numpy() for v, _, _ in entry.pieces]).reshape(entry.shape)
        name = entry.name
        for old, new in [
            ("/RNN/MultiRNNCell/Cell", "/rnn/multi_rnn_cell/cell_"),
            ("LSTMCell/W_P_0", "lstm_cell/projection/kernel"),
            ("LSTMCell/W_0", "lstm_cell/kernel"),
            ("LSTMCell/B", "lstm_cell/bias"),
        ]:
            name = name.replace(old, new)
        if model.config.num_layers == 1:
            name = name.replace("multi_rnn_cell/cell_0/", "")
        tensors[f"lm/{name}"] = values
        tensors[f"lm/{name}/Adagrad"] = np.ones_like(values)
    folder.mkdir()
    prefix = str(folder / "model.ckpt-7")
    save_tensors(prefix, {**tensors, **changes})
    tf.compat.v1.train.update_checkpoint_state(str(folder), prefix)
    options = model.config.to_options()
    options["char_cnn"]["n_characters"] = 261
    (folder / "options.json").write_text(json.dumps(options))
    return folder
