"""`dump_token_embeddings`."""

from collections.abc import Sequence

import numpy as np

from keras_elmo.annotations import AnyPath
from keras_elmo.files.atomic import replacing_file
from keras_elmo.models.contextual_model import ContextualModel
from keras_elmo.training.vocabulary import Vocabulary
from keras_elmo.weights.hdf5 import create_hdf5

WORDS_PER_WRITE = 16384  # bounds the memory of the embeddings


def dump_token_embeddings(
    elmo: ContextualModel, vocabulary: Vocabulary | AnyPath | Sequence[str], path: AnyPath
) -> int:
    """Writes the token embeddings of a vocabulary, like bilm-tf's function of the same name.

    The file is HDF5, with one dataset `embedding`, float32, (words, projection_dim): a row for each
    word of the vocabulary, in its order. The rows of `<S>` and `</S>` are the embeddings of the
    sentence boundaries. The originals take the file as `embedding_weight_file`.

    Args:
        elmo: an `Elmo` or a `BiLanguageModel`.
        vocabulary: a `Vocabulary`, the path of a file with one word on each line, or a list of
            strings. `<S>`, `</S>` and `<UNK>` must be among the words, since the originals need
            them.
        path: the file to write. It appears when it is whole.

    Returns:
        The number of words, an int.

    Raises:
        ValueError: the vocabulary cannot be used; the message names all its faults.
        OSError: a file cannot be opened or written.

    Example:

    >>> dump_token_embeddings(elmo, "vocab.txt", "tokens.hdf5")

    Reference: `dump_token_embeddings` in bilm-tf's bilm/model.py.
    """
    if not isinstance(vocabulary, Vocabulary):
        vocabulary = Vocabulary(vocabulary)
    words = vocabulary.words
    with replacing_file(path) as temporary, create_hdf5(temporary) as file:
        shape = (len(words), elmo.config.projection_dim)
        dataset = file.create_dataset("embedding", shape, np.float32)
        for start in range(0, len(words), WORDS_PER_WRITE):
            part = words[start : start + WORDS_PER_WRITE]
            dataset[start : start + len(part)] = elmo.token_embeddings(part)
        begin, end = elmo.token_encoder.from_many_words([]).numpy().astype(np.float32)
        dataset[vocabulary.begin], dataset[vocabulary.end] = begin, end
    return len(words)
