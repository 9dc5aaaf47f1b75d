"""`evaluate`: the perplexity of a corpus, with a state that is carried through it."""

import numpy as np
import tensorflow as tf

from keras_elmo.training.language_model import perplexities
from keras_elmo.training.stream import Stream, read_ahead


def evaluate(model, sentences, batch_size=32, unroll_steps=20, progress=None):
    """The perplexity of sentences by the full softmax, in constant memory.

    Each lane (row of the batch) carries the state of the LSTMs from sentence to sentence, as in
    training; one lane carries it through the whole text.

    Args:
        model: a `BiLanguageModel`.
        sentences: iterable of lists of `str`, as `Corpus.sentences` gives them.
        batch_size: int. The number of lanes.
        unroll_steps: int. The number of tokens of a lane that are read at a time. With one lane it
            changes only the speed; with more, also which sentence a lane takes next.
        progress: `None`, or a function of the number of predictions of each step.

    Returns:
        A dict: `"forward"`, `"backward"` and `"perplexity"` (floats), of each direction and both;
        `"predictions"` (int), the number of tokens and sentence ends; and `"oov_rate"` (float), the
        share of the tokens that the vocabulary does not have. Such tokens are easy to predict.

    Raises:
        ValueError: there is no sentence, or the model has no softmax.

    Reference: `test` in bilm-tf's bilm/training.py.
    """
    if not model.has_softmax:
        raise ValueError("The model must have a trained softmax. Received: a model without one")
    stream = Stream(model.vocabulary, batch_size, unroll_steps)
    evaluation_step = _evaluation_step(model)
    state = model.bilm.zero_state(batch_size)
    loss_sums = np.zeros(2)  # of the forward and the backward direction
    num_predictions = num_ends = num_unknown = 0
    for batch in read_ahead(stream.evaluation_batches(sentences)):
        losses, state = evaluation_step(batch, state)
        targets = batch["targets"][0][batch["mask"]]
        loss_sums += losses.numpy()
        num_predictions += len(targets)
        num_ends += np.count_nonzero(targets == model.vocabulary.end)
        num_unknown += np.count_nonzero(targets == model.vocabulary.unknown)
        if progress is not None:
            progress(len(targets))
    if not num_predictions:
        raise ValueError("There must be a sentence to evaluate. Received: none")
    return {
        **perplexities(*(loss_sums / num_predictions)),
        "predictions": num_predictions,
        "oov_rate": float(num_unknown / max(1, num_predictions - num_ends)),
    }


def _evaluation_step(model):
    """The step, traced once for a model, since tracing takes seconds."""
    if not hasattr(model, "traced_evaluation"):

        def step(batch, state):
            mask = batch["mask"]
            outputs, state = model.read_windows(batch["words"], batch["inputs"], state, mask)
            loss_sums = []
            for direction in range(2):
                log_probabilities = model.softmax.log_probabilities(
                    tf.boolean_mask(outputs[direction], mask),
                    tf.boolean_mask(batch["targets"][direction], mask),
                )
                loss_sums.append(-tf.reduce_sum(tf.cast(log_probabilities, tf.float64)))
            return tf.stack(loss_sums), state

        model.traced_evaluation = model.kernel_rounding.traced(step, reduce_retracing=True)
    return model.traced_evaluation
