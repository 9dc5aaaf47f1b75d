"""The models of which the tests of keras-elmo-lite make files."""

from keras_elmo import Tagger, TextClassifier

MIXES = {"num_mixes": 2, "initial_scalars": [0.1, 0.7, -0.2]}
# By name, the arguments of a small model.
MODELS = {
    "whitespace": {"initial_scalars": [0.3, -0.5, 0.8]},
    "treebank": {"tokenizer": "treebank"},
    "space": {"tokenizer": "space"},
    None: {"tokenizer": None},
    "two mixes": MIXES,
    "layer norm": {"do_layer_norm": True, **MIXES},
}
BIO = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
MANY = ["O", *(f"{prefix}-{k}" for k in range(20) for prefix in "BI")]  # so many are quantised
OF_MIX = {"layers": "elmo", "word_dim": 0}
SEVERAL = {"labels": list("abcd"), "multi_label": True, **OF_MIX}
# By name: the class, the tokenizer, the arguments, and the quantization.
TASKS = {
    "classifier": (TextClassifier, "whitespace", {"labels": [3, True, "c"], "word_dim": 4}, None),
    "several labels": (TextClassifier, "treebank", SEVERAL, "float16"),
    "tagger": (Tagger, "treebank", {"labels": BIO, "word_dim": 4}, None),
    "no CRF": (Tagger, None, {"labels": [0, 1, 2], "crf": False, **OF_MIX}, None),
    "int8": (Tagger, "whitespace", {"labels": MANY, "word_dim": 4}, "int8"),
}
