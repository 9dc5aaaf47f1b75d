"""Text files to files of vectors, and these to batches for training.

`embed_files` writes the vectors of text files as a folder of Parquet files, and resumes where an
earlier run was stopped. `VectorDataset` reads such a folder in batches. On Keras's other backends
there is only `embedding_files`.
"""

import keras

__all__ = []

if keras.backend.backend() == "tensorflow":
    from keras_elmo.corpora.manifest import read_manifest
    from keras_elmo.corpora.run import embed_files
    from keras_elmo.corpora.vector_dataset import VectorDataset

    __all__ += ["VectorDataset", "embed_files", "read_manifest"]
