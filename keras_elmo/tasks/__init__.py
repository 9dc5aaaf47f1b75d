"""Models for a task: an `Elmo`, layers above it, and labels.

On Keras's other backends there is only the CRF with its loss, metric and decoder.
"""

import keras

from keras_elmo.tasks.crf import CRF, CRFDecoder
from keras_elmo.tasks.crf_loss import CRFAccuracy, CRFLoss

__all__ = ["CRF", "CRFAccuracy", "CRFDecoder", "CRFLoss"]

if keras.backend.backend() == "tensorflow":
    from keras_elmo.tasks.metrics import EntityF1
    from keras_elmo.tasks.tagger import Entity, Tagger
    from keras_elmo.tasks.text_classifier import TextClassifier

    __all__ += ["Entity", "EntityF1", "Tagger", "TextClassifier"]
