"""Trains a biLM in JAX on one GPU, in minutes for a model of the size of `tiny`.

    python saved_models/tiny/train_jax.py --train TEXT --vocab FILE --options FILE --steps N -o OUT

A step computes what a step of `keras-elmo train` does with Adam, the cosine schedule, the sampled
softmax and no dropout. A test compares the two, in float32 on the processor. What differs:

- The package's Adam updates a character's embedding only in steps whose window has that character.
  Here every step updates it.
- With `--matmul-dtype`, the products are summed and kept in float32; the package rounds each to
  bfloat16. On a GPU, JAX rounds the factors of other float32 products to TensorFloat-32.

`--init MODEL` in the place of `--options FILE` trains a model further. With neither, the model has
the shape of the published `small`.

There are no checkpoints: the model is written at the end, and Ctrl-C keeps nothing.

It needs JAX (`pip install "keras-elmo[jax]"`, and JAX's own plugin for the GPU) beside TensorFlow,
which draws the first weights and writes the model, on the processor.
"""

import argparse
import contextlib
import functools
import math
import os
import re
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import tensorflow as tf

from keras_elmo import BiLanguageModel, ElmoConfig
from keras_elmo.files.atomic import making_folder
from keras_elmo.layers.projected_lstm import FORGET_BIAS
from keras_elmo.training import Corpus, WarmUpSchedule
from keras_elmo.training.corpus import check_texts
from keras_elmo.training.options import fitting_negatives
from keras_elmo.training.stream import Stream, read_ahead
from keras_elmo.training.vocabulary import Vocabulary
from keras_elmo_cli.inputs import model_source
from keras_elmo_cli.options import COUNT
from keras_elmo_cli.train import SMALL

CHUNK = 500  # steps from one report to the next, each of which waits for the device
DIRECTIONS = "forward", "backward"


# The model: `weights` is a dict of the variables of `BiLanguageModel`, by their paths.


def product(x, kernel, dtype):
    """`x @ kernel`: both factors are rounded to the dtype, and the sums are float32."""
    return jnp.matmul(x.astype(dtype), kernel.astype(dtype), preferred_element_type=jnp.float32)


def encode(weights, character_ids, config, dtype):
    """As `CharCNNEmbedding`: int (words, characters) -> (words, projection)."""
    weights = {name.removeprefix("character_encoder/"): w for name, w in weights.items()}
    table = weights["character_embedding"]
    table = jnp.concatenate([jnp.zeros_like(table[:1]), table])  # id 0 is padding
    embedded = table[character_ids]
    features = []
    for k, (width, count) in enumerate(config.filters):
        positions = embedded.shape[1] - width + 1
        windows = jnp.concatenate([embedded[:, i : i + positions] for i in range(width)], -1)
        kernel = weights[f"convolution_kernel_{k}"].reshape(-1, count)
        bias = weights[f"convolution_bias_{k}"]
        features.append(product(windows, kernel, dtype).max(1) + bias)
    x = getattr(jax.nn, config.activation)(jnp.concatenate(features, -1))
    for k in range(config.num_highway):
        carry, transform = (
            product(x, weights[f"highway_{k}/{name}_kernel"], dtype)
            + weights[f"highway_{k}/{name}_bias"]
            for name in ("carry", "transform")
        )
        x = x + jax.nn.sigmoid(carry) * (jax.nn.relu(transform) - x)
    return product(x, weights["projection_kernel"], dtype) + weights["projection_bias"]


def read(weights, x, state, config, dtype):
    """As `BiLM`: (2, lanes, tokens, projection) -> the last layer's outputs, and the next state.

    The state is a pair for each layer: the outputs (2, lanes, projection) and the cells (2, lanes,
    units) of both directions.
    """
    x = jnp.moveaxis(x, 2, 0)
    next_state = []
    for layer in range(config.num_layers):
        kernel, recurrent, bias, projection = (
            jnp.stack([weights[f"bilm/{direction}_{layer}/{name}"] for direction in DIRECTIONS])
            for name in ("kernel", "recurrent_kernel", "bias", "projection_kernel")
        )
        is_forget = jnp.arange(4 * config.units) // config.units == 2
        bias = bias + FORGET_BIAS * is_forget

        def step(state, gates, recurrent=recurrent, projection=projection):
            output, cell = state
            gates = gates + product(output, recurrent, dtype)
            i, j, f, o = jnp.split(gates, 4, -1)
            cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(j)
            cell = clip(cell, config.cell_clip)
            output = product(jax.nn.sigmoid(o) * jnp.tanh(cell), projection, dtype)
            output = clip(output, config.projection_clip)
            return (output, cell), output

        gates = product(x, kernel, dtype) + bias[:, None]
        last, outputs = jax.lax.scan(step, state[layer], gates, unroll=True)
        next_state.append(last)
        x = outputs + x if layer and config.use_skip_connections else outputs
    return jnp.moveaxis(x, 0, 2), next_state


def clip(x, limit):
    return x if limit is None else jnp.clip(x, -limit, limit)


def softmax_loss(weights, x, targets, negatives, num_draws):
    """The mean of `Softmax.loss` over the tokens of one direction, (lanes, tokens, projection)."""
    x, targets = x.reshape(-1, x.shape[-1]), targets.reshape(-1)
    kernel, bias = weights["softmax/kernel"], weights["softmax/bias"]
    log_total = math.log(len(bias) + 1)

    def log_expected(ids):
        chance = jnp.log1p(1 / (ids.astype(jnp.float32) + 1)) / log_total
        return jnp.log(-jnp.expm1(num_draws.astype(jnp.float32) * jnp.log1p(-chance)))

    right = (x * kernel[targets]).sum(1) + bias[targets] - log_expected(targets)
    wrong = x @ kernel[negatives].T + bias[negatives] - log_expected(negatives)
    wrong = jnp.where(targets[:, None] == negatives, -jnp.inf, wrong)
    return (jax.nn.logsumexp(jnp.concatenate([right[:, None], wrong], 1), 1) - right).mean()


# The step: as `BiLanguageModel.fit` takes it, with `LazyAdam`.


def objective(weights, state, batch, config, dtype):
    embeddings = encode(weights, batch["characters"], config, dtype)
    outputs, state = read(weights, embeddings[batch["inputs"]], state, config, dtype)
    values = outputs, *(batch[name] for name in ("targets", "negatives", "num_draws"))
    losses = [softmax_loss(weights, *direction) for direction in zip(*values, strict=True)]
    return outputs.shape[2] * sum(losses) / 2, (jnp.stack(losses), state)


def update(weights, optimizer, gradients, batch, learning_rate, clip_norm):
    """Adam. Rows of the softmax that are neither a target nor a sample stay as they are."""
    norm = jnp.sqrt(sum((gradient**2).sum() for gradient in gradients.values()))
    scale = clip_norm / jnp.maximum(norm, clip_norm)
    step, moments = optimizer[0] + 1, optimizer[1]
    rate = learning_rate * jnp.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    ids = jnp.concatenate([batch["targets"].reshape(-1), batch["negatives"].reshape(-1)])
    is_touched = jnp.zeros(weights["softmax/bias"].shape, bool).at[ids].set(True)

    def new_values(name, *old):
        gradient, (weight, mean, square) = gradients[name] * scale, old
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        new = weight - rate * mean / (jnp.sqrt(square) + 1e-8), mean, square
        if not name.startswith("softmax/"):
            return new
        is_new = is_touched.reshape(-1, *[1] * (weight.ndim - 1))
        return tuple(jnp.where(is_new, *pair) for pair in zip(new, old, strict=True))

    new = {name: new_values(name, weight, *moments[name]) for name, weight in weights.items()}
    weights = {name: values[0] for name, values in new.items()}
    return weights, (step, {name: values[1:] for name, values in new.items()}), norm


def training_step(weights, optimizer, state, batch, learning_rate, config, clip_norm, dtype):
    """The next weights, optimizer and state; the losses of both directions; the gradients' norm.

    `batch` is one of `Stream.training_batches`.
    """
    batch = batch | {name: batch[name].swapaxes(0, 1) for name in ("inputs", "targets")}
    batch |= {"negatives": batch["negatives"].T, "num_draws": batch["num_draws"][0]}
    starts = batch["starts"][None, :, None]  # such a lane begins from zeros
    state = [tuple(jnp.where(starts, 0.0, part) for part in layer) for layer in state]
    gradients, (losses, state) = jax.grad(objective, has_aux=True)(
        weights, state, batch, config, dtype
    )
    weights, optimizer, norm = update(
        weights, optimizer, gradients, batch, learning_rate, clip_norm
    )
    return weights, optimizer, state, losses, norm


def first_state(weights, config, lanes):
    """Optimizer and state before the first step."""
    moments = {name: (jnp.zeros_like(w), jnp.zeros_like(w)) for name, w in weights.items()}
    sizes = config.projection_dim, config.units
    layers = range(config.num_layers)
    state = [tuple(jnp.zeros((2, lanes, size)) for size in sizes) for _ in layers]
    return (jnp.float32(0), moments), state


# The run


def train(model, corpus, options, report):
    """Trains a `BiLanguageModel`.

    Args:
        model: a `BiLanguageModel` with its first weights.
        corpus: a `Corpus`.
        options: an object with `steps`, `batch_size`, `unroll_steps`, `learning_rate`,
            `warmup_steps`, `clip_norm`, `num_negatives`, `matmul_dtype`, `max_words` (at least as
            many as a window of all lanes has distinct words) and `seed`.
        report: a function that is called after each 500 steps, with the number of steps so far, and
            their means of the loss (nats) and of the norm of the gradients.

    Raises:
        ValueError: the text does not fill a window of each lane, or `max_words` is too small.
        FloatingPointError: a loss or a norm is not a finite number.
    """
    windows = options.batch_size, options.unroll_steps
    check_texts(corpus, None, *windows)
    variables = {variable_name(variable): variable for variable in model.trainable_variables}
    weights = {name: jnp.asarray(variable.numpy()) for name, variable in variables.items()}
    carry = weights, *first_state(weights, model.config, options.batch_size)
    constants = model.config, options.clip_norm, options.matmul_dtype
    take_step = jax.jit(
        lambda *values: training_step(*values, *constants), donate_argnums=(0, 1, 2)
    )
    steps = np.arange(options.steps)
    schedule = WarmUpSchedule(options.learning_rate, len(steps), "cosine", options.warmup_steps)
    stream = Stream(
        model.vocabulary,
        model.token_encoder.scheme,
        *windows,
        options.num_negatives,
        options.seed,
        word_multiple=options.max_words,  # so that all batches have one shape
    )
    batches, found = read_ahead(stream.training_batches(corpus, options.seed)), []
    with contextlib.closing(batches):
        for step, rate in enumerate(np.asarray(schedule(steps)), start=1):
            batch = next(batches)
            if (num_words := batch["inputs"].max() + 1) > options.max_words:
                raise ValueError(
                    f"--max-words must be at least {num_words:,}, the distinct words of the window "
                    f"of step {step:,}. Received: {options.max_words:,}"
                )
            *carry, losses, norm = take_step(*carry, batch, rate)
            found.append((losses, norm))
            if step % CHUNK == 0 or step == len(steps):
                means = np.array([(pair.mean(), norm) for pair, norm in jax.device_get(found)])
                is_finite = np.isfinite(means).all(axis=1)
                if not is_finite.all():
                    bad = step - len(found) + is_finite.argmin() + 1
                    raise FloatingPointError(
                        f"In step {bad:,} a loss or the norm of the gradients is not a finite "
                        "number; begin again with a smaller --learning-rate"
                    )
                report(step, *means.mean(axis=0).tolist())
                found = []
    for name, variable in variables.items():
        variable.assign(np.asarray(carry[0][name]))
    model.has_softmax = True


def variable_name(variable):
    """The path of a variable without its cell's name, which Keras numbers."""
    return re.sub(r"projected_lstm_cell(_\d+)?/", "", variable.path)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--train", required=True, nargs="+", help="text files, a sentence a line")
    add("--vocab", required=True, help="vocabulary, as `keras-elmo vocabulary` writes it")
    shape = parser.add_mutually_exclusive_group().add_argument
    shape("--options", help="options.json; its shape alone is read (default: that of `small`)")
    shape("--init", metavar="MODEL", help="start from the weights of this model, in its shape")
    add("--steps", **COUNT, required=True, help="steps of --batch-size x 20 tokens")
    add("--batch-size", type=int, default=128, help="lanes of text, side by side (128)")
    add("--learning-rate", type=float, default=0.003, help="the highest one (0.003)")
    add("--warmup-steps", type=int, default=500, help="steps in which the rate rises (500)")
    add("--matmul-dtype", choices=["bfloat16"], default="float32", help="of products (float32)")
    add("--max-words", **COUNT, default=2048, help="distinct words of all lanes' windows (2048)")
    add("--seed", type=int, default=0, help="of weights, order of sentences and samples (0)")
    add("-o", "--output", required=True, help="folder of the model; it must not exist")
    values = parser.parse_args(arguments)
    if os.path.lexists(values.output):
        parser.error(f"--output must be a new folder. Received: {values.output}")
    options = argparse.Namespace(**vars(values), unroll_steps=20, clip_norm=10.0)
    vocabulary = Vocabulary(values.vocab)
    options.num_negatives = fitting_negatives(None, len(vocabulary))
    if values.init:
        model = BiLanguageModel.from_pretrained(model_source(values.init), vocabulary)
        if not model.has_softmax:
            model.initialize_softmax(options.seed)
    else:
        model = BiLanguageModel(values.options or ElmoConfig(**SMALL), vocabulary)
        model.initialize(options.seed)
    config = model.config
    if config.dictionary or not (config.has_projection and config.has_token_projection):
        parser.error(
            "the model must read bytes, and have a projection in its LSTMs and in its character "
            f"CNN. Received: {values.options or values.init}"
        )
    with making_folder(values.output):
        corpus = Corpus(values.train)
        device, num_tokens = jax.devices()[0].device_kind, sum(corpus.counts())
        show = functools.partial(print, file=sys.stderr, flush=True)
        show(f"{num_tokens:,} tokens, ends of sentences counted; {device}")
        start = time.monotonic()

        def report(step, loss, norm):
            speed = step * options.batch_size * options.unroll_steps / (time.monotonic() - start)
            means = f"loss {loss:.4f}, norm of gradients {norm:.2f}"
            show(f"step {step:,}: {means}, {speed:,.0f} tokens/s since the start")

        train(model, corpus, options, report)
        model.save_pretrained(values.output)


if __name__ == "__main__":
    tf.config.set_visible_devices([], "GPU")  # JAX has it.
    main()
