"""`log_uniform_sample`: the negative samples of the sampled softmax."""

import numpy as np


def log_uniform_sample(rng, num_samples, num_words):
    """Draws word ids until there are enough distinct ones.

    A draw gives word k with the probability log((k + 2) / (k + 1)) / log(num_words + 1), so that
    frequent words, whose ids are small, are drawn more often.

    Args:
        rng: a NumPy `Generator`.
        num_samples: int. How many distinct words are wanted, at most `num_words`.
        num_words: int. The size of the vocabulary.

    Returns:
        A pair: the distinct word ids, int32, (num_samples,), in the order in which they were first
        drawn; and the number of draws that it took, int.

    Reference: `LogUniformCandidateSampler` of TensorFlow, with `unique=True`.
    """
    drawn = np.zeros(0, np.int64)
    while True:
        uniform = rng.random(2 * num_samples)
        word_ids = np.expm1(uniform * np.log(num_words + 1)).astype(np.int64)
        drawn = np.concatenate([drawn, np.minimum(word_ids, num_words - 1)])
        distinct, first_draws = np.unique(drawn, return_index=True)
        if len(distinct) >= num_samples:
            first_draws = np.sort(first_draws)[:num_samples]
            return drawn[first_draws].astype(np.int32), int(first_draws[-1]) + 1
