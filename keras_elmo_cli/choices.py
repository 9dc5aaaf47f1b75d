"""What options may be, and their defaults: those of the library, without its import.

`keras-elmo --help` and a misspelt option are answered at once; the import of TensorFlow takes
seconds. tests/cli/test_choices.py compares this file with the library.
"""

TOKENIZERS = ("whitespace", "treebank", "space", "characters")
MATMUL_DTYPES = ("bfloat16",)
FORMATS = ("text", "jsonl", "csv", "tsv", "fasta")
TAG_COLUMNS = ("upos", "xpos", "deprel")
# `keras-elmo embed-corpus`
VECTOR_DTYPES = ("float32", "float16")
SHARD_SIZE, POOLED_SHARD_SIZE = 1024, 16384
# `keras-elmo export` and `keras-elmo tflite`
OPS = ("tensorflow-text", "core")
STORAGE = ("float32", "bfloat16", "float16")
INPUTS = ("character_ids", "text", "words")
QUANTIZATIONS = ("float32", "float16", "int8")
# `keras-elmo train` and `keras-elmo evaluate`
OPTIMIZERS = {"adagrad": 0.2, "adam": 0.001}  # with their learning rates
SCHEDULES = ("constant", "linear", "cosine")
DTYPES = ("float32", "mixed_bfloat16")
NUM_NEGATIVES = 1024
