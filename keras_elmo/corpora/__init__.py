"""Text files to folders of vectors, and these to batches, on Keras's TensorFlow backend alone."""

import keras

__all__ = []

if keras.backend.backend() == "tensorflow":
    from keras_elmo.corpora.manifest import read_manifest
    from keras_elmo.corpora.run import embed_files
    from keras_elmo.corpora.vector_dataset import VectorDataset

    __all__ += ["VectorDataset", "embed_files", "read_manifest"]
