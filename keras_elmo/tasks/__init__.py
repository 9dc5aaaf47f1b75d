"""Models for a task: an `Elmo`, layers above it, and labels.

`TextClassifier` gives a text a label, or several; `Tagger` gives each token one, and finds the
entities of a text. Both take texts and labels in any form, are compiled from the start, and go
through Keras's files and `export_saved_model` with their labels.
"""

from keras_elmo.tasks.metrics import EntityF1
from keras_elmo.tasks.tagger import Entity, Tagger
from keras_elmo.tasks.text_classifier import TextClassifier

__all__ = ["Entity", "EntityF1", "Tagger", "TextClassifier"]
