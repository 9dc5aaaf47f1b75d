"""Corpora to files of vectors, and these to `tf.data`.

`embed_files` writes the vectors of text files as a folder of Parquet files, and goes on where an
earlier run was stopped. `dataset` reads such a folder in batches. `keras_elmo.features.beam` embeds
in pipelines of Apache Beam.
"""

from keras_elmo.features.dataset import dataset
from keras_elmo.features.manifest import read_manifest
from keras_elmo.features.run import embed_files

__all__ = ["dataset", "embed_files", "read_manifest"]
