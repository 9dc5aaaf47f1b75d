"""Text files to a trained biLM: `BiLanguageModel`, its softmax, its vocabulary, a `Trainer`."""

from keras_elmo.training.corpus import Corpus, build_vocabulary
from keras_elmo.training.evaluation import evaluate
from keras_elmo.training.events import read_event_log
from keras_elmo.training.language_model import BiLanguageModel
from keras_elmo.training.options import TrainingOptions, read_options
from keras_elmo.training.stream import Stream
from keras_elmo.training.trainer import Trainer

__all__ = [
    "BiLanguageModel",
    "Corpus",
    "Stream",
    "Trainer",
    "TrainingOptions",
    "build_vocabulary",
    "evaluate",
    "read_event_log",
    "read_options",
]
