"""Models as TFLite files."""

from keras_elmo.tflite.export import export_tflite

__all__ = ["export_tflite"]
