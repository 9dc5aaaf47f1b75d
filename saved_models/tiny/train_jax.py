"""Trains a biLM in JAX on one GPU: how the weights of `tiny` were made.

    python saved_models/tiny/train_jax.py --train TEXT --vocab FILE --options FILE --steps N -o OUT

A step computes what a step of `keras-elmo train` does with Adam, the cosine schedule, the sampled
softmax and no dropout; a test compares the two. There is one difference: Adam goes on moving a
character's embedding in a step whose window does not have the character. The whole text lies in the
memory of the GPU, and one compiled program takes some hundred steps, for a model as small as `tiny`
leaves a GPU idle between the operations otherwise. There are no checkpoints: the model is written
at the end.

It needs JAX (`pip install "keras-elmo[jax]"`, and JAX's own plugin for the GPU) beside TensorFlow,
which draws the first weights and writes the model on the processor.
"""

import argparse
import array
import functools
import math
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import tensorflow as tf

from keras_elmo import BiLanguageModel, characters
from keras_elmo.training import Corpus, TrainingOptions
from keras_elmo.training.stream import log_uniform_sample

CHUNK = 500  # steps of one call of the compiled program
BEGIN, END = 0, 1  # the indices of <S> and </S> among the distinct words of a text
DIRECTIONS = "forward", "backward"


# The model: `weights` is a dict of the variables of `BiLanguageModel`, by their paths.


def product(x, kernel, dtype):
    if dtype is None:
        return x @ kernel
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
    activation = {"relu": jax.nn.relu, "tanh": jnp.tanh}[config.activation]
    x = activation(jnp.concatenate(features, -1))
    for k in range(config.num_highway):
        carry, transform = (
            product(x, weights[f"highway_{k}/{name}_kernel"], dtype)
            + weights[f"highway_{k}/{name}_bias"]
            for name in ("carry", "transform")
        )
        x = x + jax.nn.sigmoid(carry) * (jax.nn.relu(transform) - x)
    return product(x, weights["projection_kernel"], dtype) + weights["projection_bias"]


def read(weights, x, state, config, dtype):
    """As `BiLM`: (2, lanes, tokens, projection) -> the last layer's outputs, and the state.

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
        bias = bias + (jnp.arange(4 * config.units) // config.units == 2)  # the forget gate's 1

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
        last, outputs = jax.lax.scan(step, state[layer], gates, unroll=x.shape[0])
        next_state.append(last)
        x = outputs + x if layer and config.use_skip_connections else outputs
    return jnp.moveaxis(x, 0, 2), next_state


def clip(x, limit):
    return x if limit is None else jnp.clip(x, -limit, limit)


def softmax_loss(weights, x, targets, negatives, num_draws):
    """As `Softmax.loss`, of one direction."""
    kernel, bias = weights["softmax/kernel"], weights["softmax/bias"]
    log_total = math.log(len(bias) + 1)

    def log_expected(ids):
        chance = jnp.log1p(1 / (ids.astype(jnp.float32) + 1)) / log_total
        return jnp.log(-jnp.expm1(num_draws.astype(jnp.float32) * jnp.log1p(-chance)))

    right = (x * kernel[targets]).sum(1) + bias[targets] - log_expected(targets)
    wrong = x @ kernel[negatives].T + bias[negatives] - log_expected(negatives)
    wrong = jnp.where(targets[:, None] == negatives, -jnp.inf, wrong)
    return (jax.nn.logsumexp(jnp.concatenate([right[:, None], wrong], 1), 1) - right).mean()


# The step: as `TrainingStep`, with `Adam`.


def objective(weights, state, batch, config, dtype):
    embeddings = encode(weights, batch["character_ids"], config, dtype)
    outputs, state = read(weights, embeddings[batch["inputs"]], state, config, dtype)
    losses = [
        softmax_loss(
            weights,
            outputs[direction].reshape(-1, config.projection_dim),
            batch["targets"][direction].reshape(-1),
            batch["negatives"][direction],
            batch["num_draws"][direction],
        )
        for direction in range(2)
    ]
    return outputs.shape[2] * sum(losses) / 2, (jnp.stack(losses), state)


def update(weights, optimizer, gradients, batch, learning_rate, clip_norm):
    """Adam, which leaves the rows of the softmax alone that no target and no sample has."""
    norm = jnp.sqrt(sum((gradient**2).sum() for gradient in gradients.values()))
    scale = clip_norm / jnp.maximum(norm, clip_norm)
    step = optimizer["step"] + 1
    rate = learning_rate * jnp.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    ids = jnp.concatenate([batch["targets"].reshape(-1), batch["negatives"].reshape(-1)])
    is_touched = jnp.zeros(weights["softmax/bias"].shape, bool).at[ids].set(True)
    new_weights, new_optimizer = {}, {"step": step, "mean": {}, "square": {}}
    for name, weight in weights.items():
        gradient = gradients[name] * scale
        old = weight, optimizer["mean"][name], optimizer["square"][name]
        mean = 0.9 * old[1] + 0.1 * gradient
        square = 0.999 * old[2] + 0.001 * gradient**2
        new = weight - rate * mean / (jnp.sqrt(square) + 1e-8), mean, square
        if name.startswith("softmax/"):
            is_new = is_touched.reshape(-1, *[1] * (weight.ndim - 1))
            new = tuple(jnp.where(is_new, *pair) for pair in zip(new, old, strict=True))
        new_weights[name], new_optimizer["mean"][name], new_optimizer["square"][name] = new
    return new_weights, new_optimizer, norm


def training_step(weights, optimizer, state, batch, learning_rate, config, clip_norm, dtype=None):
    """The next weights, optimizer and state; the losses of both directions; the gradients' norm.

    `batch` is that of a `Stream` as a dict of arrays, with the words' `character_ids`.
    """
    starts = batch["starts_sentence"][None, :, None]  # such a lane has no state
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
    zeros = {name: jnp.zeros_like(weight) for name, weight in weights.items()}
    optimizer = {"step": jnp.float32(0), "mean": zeros, "square": {**zeros}}
    sizes = config.projection_dim, config.units
    state = [tuple(jnp.zeros((2, lanes, size)) for size in sizes)] * config.num_layers
    return jax.tree.map(jnp.copy, (optimizer, state))  # each is given away by itself


# The text


class Text:
    """A text as the indices of its distinct words.

    Attributes:
        words: list of bytes, the distinct words. The first has the index 2.
        word_ids: int32, (words + 2,). The id of each distinct word in the vocabulary.
        tokens: int32. All tokens in their order, and `END` after each sentence.
    """

    def __init__(self, sentences, vocabulary):
        index_of, tokens = {}, array.array("i")
        for sentence in sentences:
            tokens.extend([index_of.setdefault(word, len(index_of) + 2) for word in sentence])
            tokens.append(END)
        self.words = [characters.text_to_bytes(word) for word in index_of]
        ids = [vocabulary.ids.get(word, vocabulary.unknown) for word in index_of]
        self.word_ids = np.array([vocabulary.begin, vocabulary.end, *ids], np.int32)
        self.tokens = np.frombuffer(tokens, np.int32)
        ends = np.flatnonzero(self.tokens == END) + 1
        self.starts = np.concatenate([[0], ends[:-1]])
        self.lengths = ends - self.starts  # with the END

    def character_ids(self, max_characters):
        """int16, (words + 2, max_characters)."""
        table = np.empty((len(self.words) + 2, max_characters), np.int16)
        table[:2] = characters.boundary_ids(max_characters)
        for row, word in zip(table[2:], self.words, strict=True):
            row[:] = characters.word_to_ids(word, max_characters)
        return table

    def epoch(self, seed, lanes, window):
        """One epoch of a text, in an order of its own: whole windows for every lane.

        Returns:
            inputs and targets, int32, (lanes, 2, tokens), indices of distinct words; and which
            tokens start a sentence, bool, (lanes, tokens).
        """
        order = np.random.default_rng(seed).permutation(len(self.lengths))
        lengths, old_starts = self.lengths[order], self.starts[order]
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        places = np.arange(lengths.sum())
        forward_targets = self.tokens[places + np.repeat(old_starts - starts, lengths)]
        starts_sentence = np.zeros(len(places), bool)
        starts_sentence[starts] = True
        forward_inputs = np.roll(forward_targets, 1)
        forward_inputs[starts_sentence] = BEGIN
        # The backward direction reads each sentence from its end.
        mirrored = np.repeat(2 * starts + lengths - 1, lengths) - places
        inputs = np.stack([forward_inputs, forward_targets[mirrored]])
        targets = np.stack([forward_targets, forward_inputs[mirrored]])
        length = len(places) // (lanes * window) * window

        def cut(x):
            x = x[..., : lanes * length].reshape(*x.shape[:-1], lanes, length)
            return np.ascontiguousarray(np.moveaxis(x, -2, 0))

        return cut(inputs), cut(targets), cut(starts_sentence)


def distinct(ids, size):
    """The distinct ids (size,), where each id stands among them, and how many they are."""
    order = jnp.argsort(ids)
    ordered = ids[order]
    is_new = jnp.concatenate([jnp.zeros(1, bool), ordered[1:] != ordered[:-1]])
    rank = jnp.cumsum(is_new)
    found = jnp.zeros(size, ids.dtype).at[rank].set(ordered, mode="drop")
    return found, jnp.zeros(ids.size, jnp.int32).at[order].set(rank), rank[-1] + 1


# The run


def compile_chunk(config, options, num_distinct, character_ids, word_ids):
    """A function that takes some steps of an epoch.

    Its arguments: (weights, optimizer, state, the most distinct words of a window); the number of
    steps; for each step the place of its window, the samples of the softmax, the numbers of their
    draws and the learning rate; and the arrays of the epoch. It returns the first of these, the
    losses (steps, 2) and the norms of the gradients (steps,).
    """
    lanes, window = options.batch_size, options.unroll_steps
    dtype = options.matmul_dtype and jnp.dtype(options.matmul_dtype)

    def take_step(n, carry, steps, epoch):
        (weights, optimizer, state, most), losses, norms = carry
        place, negatives, num_draws, learning_rate = (values[n] for values in steps)
        inputs, targets, starts_sentence = (
            jax.lax.dynamic_slice_in_dim(x, place, window, x.ndim - 1) for x in epoch
        )
        words, inputs, count = distinct(jnp.moveaxis(inputs, 1, 0).reshape(-1), num_distinct)
        batch = {
            "character_ids": character_ids[words].astype(jnp.int32),
            "inputs": inputs.reshape(2, lanes, window),
            "targets": word_ids[jnp.moveaxis(targets, 1, 0)],
            "starts_sentence": starts_sentence[:, 0],
            "negatives": negatives,
            "num_draws": num_draws,
        }
        weights, optimizer, state, loss, norm = training_step(
            weights, optimizer, state, batch, learning_rate, config, options.clip_norm, dtype
        )
        carry = weights, optimizer, state, jnp.maximum(most, count)
        return carry, losses.at[n].set(loss), norms.at[n].set(norm)

    @functools.partial(jax.jit, donate_argnums=0)
    def chunk(carry, count, steps, epoch):
        carry = carry, jnp.zeros((CHUNK, 2)), jnp.zeros(CHUNK)
        return jax.lax.fori_loop(0, count, lambda n, c: take_step(n, c, steps, epoch), carry)

    return chunk


def train(model, text, options, num_steps, num_distinct, report):
    """Trains a `BiLanguageModel`.

    Args:
        model: a `BiLanguageModel` with its first weights.
        text: a `Text`.
        options: `TrainingOptions`.
        num_steps: int.
        num_distinct: int. At least as many as a window of all lanes has distinct words.
        report: a function that gets the number of steps so far, and the mean loss (nats) and the
            mean norm of the gradients of the last of them.

    Raises:
        ValueError: `num_distinct` is too small.
        FloatingPointError: a loss is not a finite number.
    """
    lanes, window = options.batch_size, options.unroll_steps
    names = [_name(variable) for variable in model.trainable_variables]
    weights = {
        name: jnp.asarray(variable.numpy())
        for name, variable in zip(names, model.trainable_variables, strict=True)
    }
    carry = weights, *first_state(weights, model.config, lanes), jnp.int32(0)
    chunk = compile_chunk(
        model.config,
        options,
        num_distinct,
        jnp.asarray(text.character_ids(model.config.max_characters)),
        jnp.asarray(text.word_ids),
    )

    def sample(step):
        rng = np.random.default_rng([options.seed, 1, step])
        draw = functools.partial(log_uniform_sample, rng, options.num_negatives)
        negatives, num_draws = zip(*(draw(len(model.vocabulary)) for _ in range(2)), strict=True)
        return np.stack(negatives), np.array(num_draws, np.int32)

    def settle(step, count, losses, norms):
        losses, norms = np.asarray(losses)[:count], np.asarray(norms)[:count]
        if not np.isfinite(losses).all():
            raise FloatingPointError(f"A loss is not a finite number, before step {step:,}")
        report(step, float(losses.mean()), float(norms.mean()))

    step, epoch, unsettled = 0, 0, None
    with ThreadPoolExecutor(8) as pool:
        coming = pool.submit(text.epoch, [options.seed, epoch], lanes, window)
        while step < num_steps:
            arrays, epoch = coming.result(), epoch + 1
            if not (length := arrays[0].shape[-1]):
                raise ValueError(
                    f"The text must have at least {lanes} x {window} tokens, a window of every "
                    f"lane. Received: {len(text.tokens)}, ends of sentences counted"
                )
            coming = pool.submit(text.epoch, [options.seed, epoch], lanes, window)
            arrays = tuple(map(jnp.asarray, arrays))
            place = 0
            while place < length and step < num_steps:
                count = min(CHUNK, num_steps - step, (length - place) // window)
                steps = range(step, step + CHUNK)  # those after `count` are not taken
                negatives, num_draws = zip(*pool.map(sample, steps), strict=True)
                rates = [options.learning_rate_at(n, num_steps) for n in steps]
                places = np.arange(CHUNK) * window + place
                values = map(np.stack, (places, negatives, num_draws, np.float32(rates)))
                carry, *results = chunk(carry, count, tuple(values), arrays)
                if unsettled is not None:  # while the device takes the next steps
                    settle(*unsettled)
                step, place = step + count, place + count * window
                unsettled = step, count, *results
        settle(*unsettled)
        coming.cancel()
    weights, _, _, most = carry
    if most > num_distinct:
        raise ValueError(
            f"--distinct must be at least {most}, the most distinct words of a window. "
            f"Received: {num_distinct}"
        )
    for name, variable in zip(names, model.trainable_variables, strict=True):
        variable.assign(np.asarray(weights[name]))
    model.has_softmax = True


def _name(variable):
    """The path of a variable without its cell's name, which Keras numbers."""
    return re.sub(r"projected_lstm_cell(_\d+)?/", "", variable.path)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", required=True, nargs="+", help="text files, a sentence a line")
    parser.add_argument("--vocab", required=True, help="vocabulary file")
    parser.add_argument("--options", required=True, help="options.json of the shape")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--batch-size", type=int, default=128, help="lanes (128)")
    parser.add_argument("--learning-rate", type=float, default=0.003, help="0.003")
    parser.add_argument("--warmup-steps", type=int, default=500, help="500")
    parser.add_argument("--matmul-dtype", choices=["bfloat16"], help="of products, see keras-elmo")
    parser.add_argument(
        "--distinct", type=int, default=2048, help="most distinct words of a window (2048)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", required=True, help="folder of the model")
    values = parser.parse_args(arguments)
    tf.config.set_visible_devices([], "GPU")  # JAX has it.
    options = TrainingOptions(
        batch_size=values.batch_size,
        optimizer="adam",
        learning_rate=values.learning_rate,
        schedule="cosine",
        warmup_steps=values.warmup_steps,
        dropout=0.0,
        matmul_dtype=values.matmul_dtype,
        seed=values.seed,
    )
    model = BiLanguageModel(values.options, values.vocab)
    config = model.config
    if config.dictionary or not (config.has_projection and config.has_token_projection):
        parser.error("--options must be a character CNN of bytes and LSTMs, both with projections")
    model.initialize(options.seed)
    options = options.for_vocabulary(len(model.vocabulary))
    text = Text(Corpus(values.train).sentences(), model.vocabulary)
    tokens, begin = options.batch_size * options.unroll_steps, time.monotonic()
    print(f"{len(text.tokens):,} tokens, ends of sentences counted; {jax.devices()[0].device_kind}")

    def report(step, loss, norm):
        speed = step * tokens / (time.monotonic() - begin)
        print(
            f"step {step:,}: loss {loss:.4f}, norm of gradients {norm:.2f}, {speed:,.0f} tokens/s",
            file=sys.stderr,
            flush=True,
        )

    train(model, text, options, values.steps, values.distinct, report)
    model.save_pretrained(values.output)


if __name__ == "__main__":
    main()
