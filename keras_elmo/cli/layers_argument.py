"""The option --layers of `keras-elmo embed`."""

import re


def parse_layer(typed, config):
    """The argument `layers` of `Elmo.embed` for what was typed."""
    last = config.num_layers
    names = ["all", "average", "top", "elmo", "default", "word_emb"]
    names += [f"lstm_outputs{number}" for number in range(1, last + 1)]
    if typed in names:
        return typed
    if re.fullmatch(r"-?[0-9]+", typed) and -last - 1 <= int(typed) <= last:
        return int(typed)
    raise ValueError(
        f"--layers must be one of {', '.join(names)}, or a number from {-last - 1} to {last}. "
        f"Received: --layers {typed}"
    )
