"""Text files to folders of vectors, and these to batches, on Keras's TensorFlow backend alone."""

from keras_elmo.backend import ON_TENSORFLOW

__all__ = []

if ON_TENSORFLOW:
    from keras_elmo.corpora.manifest import read_manifest
    from keras_elmo.corpora.run import embed_files
    from keras_elmo.corpora.vector_dataset import VectorDataset

    __all__ += ["VectorDataset", "embed_files", "read_manifest"]
