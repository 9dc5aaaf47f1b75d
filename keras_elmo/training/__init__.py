"""Text files to a trained biLM: `BiLanguageModel`, its softmax, its vocabulary and optimizers."""

from keras_elmo.training.checkpoints import BackupAndResume
from keras_elmo.training.corpus import Corpus, build_vocabulary
from keras_elmo.training.language_model import BiLanguageModel
from keras_elmo.training.optimizer import LazyAdagrad, LazyAdam, WarmUpSchedule
from keras_elmo.training.options import read_options

__all__ = [
    "BackupAndResume",
    "BiLanguageModel",
    "Corpus",
    "LazyAdagrad",
    "LazyAdam",
    "WarmUpSchedule",
    "build_vocabulary",
    "read_options",
]
