"""What names a model, a name, a folder, a file or an address, to its files."""

from keras_elmo.sources.models import find, open_model

__all__ = ["find", "open_model"]
