"""`LastMask`: the mask that a model's last call computed."""

import threading


class LastMask(threading.local):
    """The mask of a thread's last call.

    Keras calls `compute_mask` with the inputs right after `call`. The mask is known by then, and
    need not be computed from the text a second time.
    """

    _kept = None

    def keep(self, inputs, mask):
        """Keeps the mask that a call computed for its inputs."""
        self._kept = inputs, mask

    def take(self, inputs):
        """The mask that was kept for these very inputs, once; else `None`."""
        kept, self._kept = self._kept, None
        return kept[1] if kept is not None and kept[0] is inputs else None
