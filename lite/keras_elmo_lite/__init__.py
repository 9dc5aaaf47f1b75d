"""Runs the TFLite files that `keras-elmo tflite` writes, with NumPy and LiteRT alone."""

__version__ = "0.2.0"

from keras_elmo_lite.elmo import Elmo
from keras_elmo_lite.tasks import Entity, TaggedToken, Tagger, TextClassifier

__all__ = ["Elmo", "Entity", "TaggedToken", "Tagger", "TextClassifier"]
