"""The files of ELMoForManyLangs, read without PyTorch."""

from keras_elmo.manylangs import model
from keras_elmo.weights.weight_files import FORMATS

FORMATS.append(model)
