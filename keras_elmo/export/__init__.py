"""Models as SavedModels, which other programs load."""

from keras_elmo.export.saved_model import export_saved_model

__all__ = ["export_saved_model"]
