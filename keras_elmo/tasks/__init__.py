"""Models for a task: an `Elmo`, layers above it, and labels."""

from keras_elmo.tags import spans_of_tags, tags_of_spans
from keras_elmo.tasks.report import Report, Scores
from keras_elmo.tasks.tagger import Entity, TaggedToken, Tagger
from keras_elmo.tasks.text_classifier import TextClassifier

__all__ = [
    "Entity",
    "Report",
    "Scores",
    "TaggedToken",
    "Tagger",
    "TextClassifier",
    "spans_of_tags",
    "tags_of_spans",
]
