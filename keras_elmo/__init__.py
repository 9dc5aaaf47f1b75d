"""ELMo for Keras 3 and TensorFlow 2.

`import keras_elmo` also registers the layers and models with Keras, so that
`keras.models.load_model` finds them. On Keras's other backends only the numeric layers and what
reads files are there, and TensorFlow is not imported.

TensorFlow's log of its libraries and devices is not shown, as long as it reports no error: neither
while `import keras_elmo` imports TensorFlow, nor when the first model is made. To see it, set
`TF_CPP_MIN_LOG_LEVEL=0` in the environment, or import TensorFlow first. If nothing is set,
`keras_elmo` sets the variable to 2, and TensorFlow logs no warnings from C++ later either. If an
import fails, all that was written meanwhile is shown.
"""

import contextlib
import sys
from typing import TYPE_CHECKING

from keras_elmo import quiet, signals
from keras_elmo._version import __version__

__all__ = [
    "BiLM",
    "BiLanguageModel",
    "CRF",
    "CRFAccuracy",
    "CRFDecoder",
    "CRFLoss",
    "CharCNNEmbedding",
    "Elmo",
    "ElmoConfig",
    "ElmoEmbedding",
    "Highway",
    "MaskedMean",
    "ScalarMix",
    "SpaceTokenizer",
    "Tagger",
    "TextClassifier",
    "TreebankTokenizer",
    "WhitespaceTokenizer",
    "__version__",
    "batch_to_ids",
    "dump_token_embeddings",
    "export_saved_model",
    "export_tflite",
    "read_embeddings",
    "strings",
]

signals.end_command_at_once()
# A TensorFlow that is imported already has logged what it logs.
_is_loaded = "tensorflow" in sys.modules
with contextlib.nullcontext() if _is_loaded else quiet.hide_tensorflow_log():
    import keras

    from keras_elmo.config import ElmoConfig
    from keras_elmo.corpora.embedding_files import dump_token_embeddings, read_embeddings
    from keras_elmo.layers import (
        CRF,
        BiLM,
        CharCNNEmbedding,
        CRFAccuracy,
        CRFDecoder,
        CRFLoss,
        Highway,
        MaskedMean,
        ScalarMix,
    )

    if keras.backend.backend() == "tensorflow":
        from keras_elmo.export import export_saved_model, export_tflite
        from keras_elmo.models import BiLanguageModel, Elmo, ElmoEmbedding
        from keras_elmo.tasks import Tagger, TextClassifier
        from keras_elmo.text import (
            SpaceTokenizer,
            TreebankTokenizer,
            WhitespaceTokenizer,
            batch_to_ids,
            strings,
        )

if not TYPE_CHECKING and keras.backend.backend() != "tensorflow":
    _missing = [name for name in __all__ if name not in globals()]
    __all__ = [name for name in __all__ if name in globals()]

    def __getattr__(name):
        """Says why a public name is not there."""
        if name in _missing:
            # Not an AttributeError, whose message `from keras_elmo import Elmo` would not show.
            raise ImportError(
                f"`keras_elmo.{name}` works on Keras's TensorFlow backend alone. On other "
                "backends, use the layers of `keras_elmo.layers`. "
                f"Received: backend {keras.backend.backend()!r}"
            )
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
