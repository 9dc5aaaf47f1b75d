"""The weights that a training begins with, drawn as the original trainer draws them.

Reference: `_build_word_char_embeddings` in bilm-tf's bilm/training.py; the kernels of the LSTMs are
`glorot_uniform`, TensorFlow 1's default.
"""

import numpy as np
import tensorflow as tf


def draw(model, seed):
    """Draws all weights of a `BiLanguageModel`.

    Args:
        model: the `BiLanguageModel`.
        seed: int.
    """
    rng = np.random.default_rng(seed)
    for variable in model.variables:  # the biases stay at zero
        variable.assign(tf.zeros_like(variable))
    _draw_character_encoder(rng, model.config, model.character_encoder)
    for cell in (*model.bilm.cells("forward"), *model.bilm.cells("backward")):
        # Both kernels are one in the original.
        fans = cell.kernel.shape[0] + cell.recurrent_kernel.shape[0] + cell.kernel.shape[1]
        _draw_uniform(rng, (6 / fans) ** 0.5, cell.kernel, cell.recurrent_kernel)
        if cell.projection_kernel is not None:
            limit = (6 / sum(cell.projection_kernel.shape)) ** 0.5
            _draw_uniform(rng, limit, cell.projection_kernel)
    _draw_normal(rng, model.config.projection_dim, model.softmax.kernel)


def draw_softmax(softmax, seed):
    """Draws the weights of a `Softmax` alone.

    Args:
        softmax: the `Softmax`.
        seed: int.
    """
    _draw_normal(np.random.default_rng(seed), softmax.projection_dim, softmax.kernel)
    softmax.bias.assign(tf.zeros_like(softmax.bias))


def _draw_character_encoder(rng, config, encoder):
    _draw_uniform(rng, 1.0, encoder.character_embedding)
    if encoder.num_words is not None:
        _draw_uniform(rng, 1.0, encoder.word_embedding)
    for (width, _), kernel in zip(config.filters, encoder.convolution_kernels, strict=True):
        if config.activation == "relu":
            _draw_uniform(rng, 0.05, kernel)
        else:
            _draw_normal(rng, width * config.character_dim, kernel)
    for layer in encoder.highway_layers:
        _draw_normal(rng, config.num_filters, layer.carry_kernel, layer.transform_kernel)
        layer.carry_bias.assign(tf.fill(layer.carry_bias.shape, -2.0))
    if encoder.projection_dim is not None:
        _draw_normal(rng, encoder.projection_kernel.shape[0], encoder.projection_kernel)


def _draw_uniform(rng, limit, *variables):
    for variable in variables:
        variable.assign(rng.uniform(-limit, limit, variable.shape).astype(np.float32))


def _draw_normal(rng, fan_in, *variables):
    for variable in variables:
        values = rng.normal(scale=fan_in**-0.5, size=variable.shape)
        variable.assign(values.astype(np.float32))
