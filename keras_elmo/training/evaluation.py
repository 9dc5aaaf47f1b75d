"""`evaluate`: the perplexity of a corpus, with a state that is carried through it."""

import numpy as np
import tensorflow as tf

from keras_elmo.process.signals import check_signals
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
    model.check_softmax()
    stream = Stream(model.vocabulary, batch_size, unroll_steps)
    state = model.bilm.zero_state(batch_size)
    loss_sums = np.zeros(2)  # of the forward and the backward direction
    num_predictions = num_ends = num_unknown = 0
    for batch in read_ahead(stream.evaluation_batches(sentences)):
        losses, state = model.traced_losses(tf.nest.map_structure(tf.constant, batch), state)
        targets = batch["targets"][0][batch["mask"]]
        loss_sums += losses.numpy()
        num_predictions += len(targets)
        num_ends += np.count_nonzero(targets == model.vocabulary.end)
        num_unknown += np.count_nonzero(targets == model.vocabulary.unknown)
        if progress is not None:
            progress(len(targets))
        check_signals()
    if not num_predictions:
        raise ValueError("There must be a sentence to evaluate. Received: none")
    return {
        **perplexities(*(loss_sums / num_predictions)),
        "predictions": num_predictions,
        "oov_rate": float(num_unknown / max(1, num_predictions - num_ends)),
    }
