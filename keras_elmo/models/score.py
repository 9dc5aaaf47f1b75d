"""`Score`: the log-probabilities of a sentence; and perplexities."""

from typing import NamedTuple

import numpy as np


class Score(NamedTuple):
    """Log-probabilities (natural) of a sentence of n tokens.

    Attributes:
        forward: float32, (n + 1,). Those of each token and then of `</S>`, given the tokens to
            their left.
        backward: float32, (n + 1,). Those of `<S>` and then of each token, given the tokens to
            their right.
    """

    forward: np.ndarray
    backward: np.ndarray


def perplexities(forward, backward):
    """The perplexities of both directions, and of both together, from their losses (nats)."""
    return {
        "forward": float(np.exp(forward)),
        "backward": float(np.exp(backward)),
        "perplexity": float(np.exp((forward + backward) / 2)),
    }
