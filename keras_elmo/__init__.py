"""ELMo for Keras 3 and TensorFlow 2. Begin with `models/elmo.py`; CONTRIBUTING.md has a map.

`import keras_elmo` also registers the layers and models with Keras, so that
`keras.models.load_model` finds them. On Keras's other backends the numeric layers, `Elmo` and what
reads files are there, and TensorFlow is not imported.

If `TF_CPP_MIN_LOG_LEVEL` is not set in the environment, it becomes 2: TensorFlow's C++ then logs
errors alone, but for a few lines that it writes while it is imported.
"""

from typing import TYPE_CHECKING

from keras_elmo import process  # noqa: F401 (first, see there)

# isort: split
import importlib

import keras

from keras_elmo._version import __version__
from keras_elmo.config import ElmoConfig
from keras_elmo.layers import (
    CRF,
    BiLM,
    CharCNNEmbedding,
    CRFAccuracy,
    CRFDecoder,
    CRFLoss,
    EntityF1,
    Highway,
    MaskedMean,
    ScalarMix,
)
from keras_elmo.models import Elmo
from keras_elmo.process.memory import keep_memory
from keras_elmo.text import (
    CharacterTokenizer,
    SpaceTokenizer,
    TreebankTokenizer,
    WebTokenizer,
    WhitespaceTokenizer,
    batch_to_ids,
)
from keras_elmo.weights.embedding_files import read_embeddings

__all__ = [
    "BiLM", "BiLanguageModel", "CRF", "CRFAccuracy", "CRFDecoder", "CRFLoss", "CharCNNEmbedding",
    "CharacterTokenizer", "Elmo", "ElmoConfig", "ElmoEmbedding", "EntityF1", "Highway",
    "MaskedMean", "ScalarMix", "SpaceTokenizer", "Tagger", "TextClassifier", "TreebankTokenizer",
    "WebTokenizer", "WhitespaceTokenizer", "__version__", "batch_to_ids", "export_saved_model",
    "export_tflite", "keep_memory", "read_embeddings", "strings",
]  # fmt: skip

if keras.backend.backend() == "tensorflow":
    from keras_elmo.export import export_saved_model
    from keras_elmo.models import ElmoEmbedding
    from keras_elmo.tasks import Tagger, TextClassifier
    from keras_elmo.text import strings
    from keras_elmo.tflite import export_tflite
    from keras_elmo.training import BiLanguageModel

if not TYPE_CHECKING and keras.backend.backend() != "tensorflow":
    _missing = [name for name in __all__ if name not in {*globals(), "BiLanguageModel"}]
    __all__ = [name for name in __all__ if name in globals()]

    def __getattr__(name):
        """Says why a public name is not there, or imports it, with TensorFlow, when it is used."""
        if name == "BiLanguageModel":
            return importlib.import_module("keras_elmo.training").BiLanguageModel
        if name in _missing:
            # Not an AttributeError, whose message `from keras_elmo import Tagger` would not show.
            raise ImportError(
                f"`keras_elmo.{name}` works on Keras's TensorFlow backend alone: set "
                "KERAS_BACKEND=tensorflow. On others, use `Elmo` and the layers. "
                f"Received: backend {keras.backend.backend()!r}"
            )
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
