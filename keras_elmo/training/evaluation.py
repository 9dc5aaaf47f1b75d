"""`evaluate`: the perplexity of a corpus, its state carried from sentence to sentence."""

import numpy as np
import tensorflow as tf

from keras_elmo.models.language_model import perplexities
from keras_elmo.traced_function import TracedFunction
from keras_elmo.training.dataset import Stream


def evaluate(model, sentences, batch_size=32, unroll_steps=20, progress=None):
    """The perplexity of sentences by the full softmax, in constant memory.

    The LSTMs' state goes on from sentence to sentence of a lane, as in training; with
    `batch_size=1` through the whole text.

    Args:
        model: a `BiLanguageModel`.
        sentences: iterable of lists of `str`, as `Corpus.sentences` gives them.
        batch_size: int. Lanes, to which sentences are dealt out as they become free.
        unroll_steps: int. Tokens that are read at a time. With one lane it changes nothing but
            the speed; with more, which sentence comes after which.
        progress: `None`, or a function that is called with the number of predictions of each step.

    Returns:
        A dict: `"forward"`, `"backward"` and `"perplexity"` (floats, see `perplexities`);
        `"predictions"` (int): tokens and sentence ends; and `"unknown"` (float): the share of the
        tokens that the vocabulary does not have, which are easy to predict.

    Raises:
        ValueError: there is no sentence, or the model has no softmax.

    Reference: `test` in bilm-tf's bilm/training.py.
    """
    if not model.has_softmax:
        raise ValueError("The model has no softmax; it gives no perplexity")
    stream = Stream(model.vocabulary, batch_size, unroll_steps)
    step = _step(model)
    state = model.bilm.zero_state(batch_size)
    sums, count = np.zeros(2), 0
    ends = unknown = 0
    for batch in stream.evaluation(sentences):
        losses, state = step(batch, state)
        number = int(tf.math.count_nonzero(batch["mask"]))
        sums += losses.numpy()
        count += number
        words = tf.boolean_mask(batch["targets"][0], batch["mask"]).numpy()
        ends += np.count_nonzero(words == model.vocabulary.end)
        unknown += np.count_nonzero(words == model.vocabulary.unknown)
        if progress is not None:
            progress(number)
    if not count:
        raise ValueError("There is no sentence to evaluate")
    share = float(unknown / max(1, count - ends))
    return {**perplexities(*(sums / count)), "predictions": count, "unknown": share}


def _step(model):
    # Made once for a model: tracing takes seconds.
    if not hasattr(model, "_evaluation_step"):

        def step(batch, state):
            mask = batch["mask"]
            outputs, state = model.read_windows(batch["words"], batch["inputs"], state, mask)
            losses = [
                -model.softmax.log_probabilities(
                    tf.boolean_mask(output, mask), tf.boolean_mask(targets, mask)
                )
                for output, targets in zip(
                    tf.unstack(outputs), tf.unstack(batch["targets"]), strict=True
                )
            ]
            return tf.stack([tf.reduce_sum(tf.cast(x, tf.float64)) for x in losses]), state

        model._evaluation_step = TracedFunction(step, reduce_retracing=True)
    return model._evaluation_step
