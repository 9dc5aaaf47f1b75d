"""Corpora to a trained biLM."""

import importlib

# The command line checks a corpus before TensorFlow is loaded: modules are imported when asked for.
_MODULES = {
    "Corpus": "corpus",
    "Stream": "stream",
    "Trainer": "trainer",
    "TrainingOptions": "options",
    "build_vocabulary": "vocabulary",
    "evaluate": "evaluation",
    "read_options": "options",
}
__all__ = list(_MODULES)


def __getattr__(name):
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__():
    return sorted({*globals(), *__all__})
