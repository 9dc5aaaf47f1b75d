"""The models: strings, tokens or character ids to every output."""

from keras_elmo.models.elmo import Elmo
from keras_elmo.models.elmo_embedding import ElmoEmbedding

__all__ = ["Elmo", "ElmoEmbedding"]
