"""ELMo for Keras 3 and TensorFlow 2.

`import keras_elmo` also registers the layers and models with Keras, so that
`keras.models.load_model` finds them. On other backends than TensorFlow only the numeric layers are
there (and need no TensorFlow).

TensorFlow's log of its libraries and devices is not shown, as long as it reports no error: neither
while `import keras_elmo` imports TensorFlow, nor when the first model is made. To see it, set
`TF_CPP_MIN_LOG_LEVEL=0` in the environment, or import TensorFlow first. If nothing is set,
`keras_elmo` sets the variable to 2, and TensorFlow logs no warnings from C++ later either. If an
import fails, all that was written meanwhile is shown.
"""

import contextlib
import importlib
import os
import re
import sys

from keras_elmo import quiet
from keras_elmo._version import __version__

_MODULES = {
    "BiLM": "layers",
    "CharCNNEmbedding": "layers",
    "Highway": "layers",
    "MaskedMean": "layers",
    "ScalarMix": "layers",
    "ElmoConfig": "config",
    "dump_token_embeddings": "embedding_files",
    "read_embeddings": "embedding_files",
    "BiLanguageModel": "models",
    "Elmo": "models",
    "ElmoEmbedding": "models",
    "export_saved_model": "export",
    "export_tflite": "export",
    "SpaceTokenizer": "text",
    "TreebankTokenizer": "text",
    "WhitespaceTokenizer": "text",
    "batch_to_ids": "text",
    "strings": "text",
}
__all__ = ["__version__", *_MODULES]


def __getattr__(name):
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__():
    return sorted({*globals(), *__all__})


def _is_command():
    """Whether this process is the command line, which imports TensorFlow only when it needs it."""
    program = sys.argv[0] if sys.argv else ""
    if program == "-m":  # python -m MODULE, while MODULE is looked for
        flags = [k for k, flag in enumerate(sys.orig_argv) if re.fullmatch("-[A-Za-z]*m", flag)]
        return bool(flags) and sys.orig_argv[flags[0] + 1] == "keras_elmo"
    return os.path.splitext(os.path.basename(program))[0] == "keras-elmo"


if not _is_command():
    # A TensorFlow that is imported already has logged what it logs.
    _is_loaded = "tensorflow" in sys.modules
    with contextlib.nullcontext() if _is_loaded else quiet.hide_tensorflow_log():
        import keras as _keras

        importlib.import_module(f"{__name__}.layers")
        if _keras.backend.backend() == "tensorflow":
            importlib.import_module(f"{__name__}.models")
