"""Models as files that other programs load: SavedModel and TFLite."""

from keras_elmo.export.saved_model import export_saved_model
from keras_elmo.export.tflite import export_tflite

__all__ = ["export_saved_model", "export_tflite"]
