"""`WeightFiles`: the files that hold the weights of a model, of whatever kind."""

import os
from typing import Any, NamedTuple

from keras_elmo.manylangs import model as manylangs
from keras_elmo.weights import hdf5, tf_checkpoint

# A large model is made only if its files have at least this share of its bytes.
_MIN_SHARE = 1 / 16
_SMALL_MODEL = 4 << 20  # bytes


class WeightFiles(NamedTuple):
    """Paths, or an open binary file, of weights; and the module that loads them, their `kind`.

    `kind` is `None` for a `*.weights.h5`, which Keras loads. Error messages call the files `shown`.
    """

    kind: Any
    files: tuple[Any, ...]
    shown: str
    unpacked: Any = None

    @classmethod
    def find(cls, source, shown=None, unpacked=None):
        """The files of what `ContextualModel.load_weights` takes.

        `unpacked` is the temporary folder around them, which goes when they are loaded.
        """
        if isinstance(source, WeightFiles):
            return source
        if not isinstance(source, str | os.PathLike):
            return cls(hdf5, (source,), shown or str(getattr(source, "name", "the file")), unpacked)
        source = os.fspath(source)
        shown = shown or source
        if is_keras_file(source):
            return cls(None, (source,), shown, unpacked)
        for kind in (tf_checkpoint, manylangs):
            if files := kind.find_weights(source):
                if kind is tf_checkpoint and os.path.isdir(source):
                    prefix = files[0].removesuffix(".index")
                    shown = os.path.join(shown, os.path.relpath(prefix, source))
                return cls(kind, files, shown, unpacked)
        if os.path.isdir(source):
            raise ValueError(f"{shown} must hold the files of a checkpoint. Received: none of them")
        if not os.path.exists(source):
            raise FileNotFoundError(f"There is no weight file {shown}")
        return cls(hdf5, (source,), shown, unpacked)

    def num_bytes(self):
        if hasattr(self.files[0], "seek"):
            return self.files[0].seek(0, os.SEEK_END)
        return sum(map(os.path.getsize, self.files))

    def check_size(self, config):
        """Raises a `ValueError` if a model, which takes memory, needs far more bytes than these."""
        expected, size = 4 * sum(config.num_parameters().values()), self.num_bytes()
        if expected > _SMALL_MODEL and size < _MIN_SHARE * expected:
            raise ValueError(
                f"{self.shown} must hold the weights of its options, {expected:,} bytes. "
                f"Received: {size:,} bytes"
            )

    def check_options(self, config):
        """Raises a `ValueError` if the files were saved with other options than a config."""
        if self.digest("options") not in (None, config.digest()):
            raise ValueError(
                f"{self.shown} must have the options that it was saved with. Received: others. "
                "Save the model again; or pass the pair (options, weights), if you mean them"
            )

    def digest(self, companion=None):
        """The digest of the weights, or of what they were saved with; `None` if there is none."""
        return hdf5.read_digest(self.files[0], companion) if self.kind is hdf5 else None

    def has_softmax(self):
        return self.kind is tf_checkpoint and tf_checkpoint.has_softmax(self.files)

    def load(self, mixes=(), **parts):
        """Fills layers, see `hdf5.load_weights`; and `mixes`, where the files have one."""
        try:
            self.kind.load_files(self.files, self.shown, mixes, **parts)
        finally:
            self.close()

    def close(self):
        """Removes what was unpacked."""
        if self.unpacked is not None:
            self.unpacked.cleanup()


def is_keras_file(path):
    return isinstance(path, str | os.PathLike) and os.fspath(path).endswith(".weights.h5")
