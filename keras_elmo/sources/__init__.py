"""What names a model, a name, a folder, a file or an address, to its files."""

from keras_elmo.sources.models import find

__all__ = ["find"]
