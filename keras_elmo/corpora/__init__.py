"""Text files to files of vectors, and these to `tf.data`.

`embed_files` writes the vectors of text files as a folder of Parquet files, and resumes where an
earlier run was stopped. `dataset` reads such a folder in batches. `keras_elmo.corpora.beam` embeds
in pipelines of Apache Beam. On Keras's other backends there is only `embedding_files`.
"""

import keras

__all__ = []

if keras.backend.backend() == "tensorflow":
    from keras_elmo.corpora.dataset import dataset
    from keras_elmo.corpora.manifest import read_manifest
    from keras_elmo.corpora.run import embed_files

    __all__ += ["dataset", "embed_files", "read_manifest"]
