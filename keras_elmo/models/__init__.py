"""The models: strings, tokens or character ids to every output."""

from keras_elmo.models.elmo import Elmo
from keras_elmo.models.elmo_embedding import ElmoEmbedding
from keras_elmo.models.language_model import BiLanguageModel

__all__ = ["BiLanguageModel", "Elmo", "ElmoEmbedding"]
