"""The numeric layers, in `keras.ops`. They know nothing of files, options or strings."""

from keras_elmo.layers.bilm import BiLM
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.layers.crf import CRF, CRFDecoder
from keras_elmo.layers.crf_loss import CRFAccuracy, CRFLoss
from keras_elmo.layers.entity_f1 import EntityF1
from keras_elmo.layers.highway import Highway
from keras_elmo.layers.masked_mean import MaskedMean
from keras_elmo.layers.projected_lstm import ProjectedLSTMCell
from keras_elmo.layers.scalar_mix import ScalarMix

__all__ = [
    "BiLM",
    "CRF",
    "CRFAccuracy",
    "CRFDecoder",
    "CRFLoss",
    "CharCNNEmbedding",
    "EntityF1",
    "Highway",
    "MaskedMean",
    "ProjectedLSTMCell",
    "ScalarMix",
]
