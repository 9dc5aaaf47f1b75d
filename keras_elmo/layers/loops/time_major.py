"""`TimeMajorLoop`: what the loops have in common whose tensors begin with the token axis."""

from keras import ops

from keras_elmo.layers.loops import Loop


class TimeMajorLoop(Loop):
    """A loop whose own form is (tokens, batch, features).

    A step then reads and writes a slice of contiguous rows.
    """

    def enter(self, directions):
        # (batch, tokens, features) -> (tokens, batch, features)
        return [ops.transpose(x, (1, 0, 2)) for x in directions]

    def leave(self, directions):
        # (tokens, batch, features) each -> (batch, tokens, 2 * features)
        return ops.transpose(ops.concatenate(directions, axis=-1), (1, 0, 2))
