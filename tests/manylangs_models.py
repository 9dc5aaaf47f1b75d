"""Writes small random models in the form of ELMoForManyLangs, and their references."""

import copy
import json

import numpy as np
from manylangs.torch_files import FORMATS
from manylangs_reference import ManyLangsReference

MARKS = ["<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>"]
CHARACTERS = [*"Thecatsonm.b\ufffd", *"éßж今天", "\U0001f600", "\u3000", *MARKS]
WORDS = ["<oov>", "<bos>", "<eos>", "<pad>", "The", "cat", "今天", "cattttt", "x\ufffd", "\u3000"]
ARCHITECTURE = {
    "encoder": {
        "name": "elmo", "projection_dim": 6, "cell_clip": 3, "proj_clip": 3, "dim": 10,
        "n_layers": 2,
    },
    "token_embedder": {
        "name": "cnn", "activation": "relu", "filters": [[1, 3], [2, 4], [3, 5]], "n_highway": 2,
        "word_dim": 4, "char_dim": 3, "max_characters_per_token": 9,
    },
    "classifier": {"name": "sampled_softmax", "n_samples": 8192},
    "dropout": 0.1,
}  # fmt: skip
SENTENCES = [
    ["The", "cat", "sat", "on", "the", "mat", ".", "Straße", "\U0001f600", "\ufffd"],
    ["今天", "ж"],
    ["catttttttttttttt", "\u3000", "<bos>", "<pad>", "a b", "cat"],
    ["x" * 60],
]


def architecture(encoder=None, token_embedder=None):
    """`ARCHITECTURE` with some values changed."""
    changed = copy.deepcopy(ARCHITECTURE)
    changed["encoder"].update(encoder or {})
    changed["token_embedder"].update(token_embedder or {})
    return changed


def random_weights(shape, seed=0):
    """The arrays of `token_embedder.pkl` and of `encoder.pkl`, by their names."""
    rng = np.random.default_rng(seed)
    lstm, cnn = shape["encoder"], shape["token_embedder"]
    num_filters = sum(count for _, count in cnn["filters"])
    dim, units = lstm["projection_dim"], lstm["dim"]
    shapes = {}
    if cnn["word_dim"]:
        shapes["word_emb_layer.embedding.weight"] = (len(WORDS), cnn["word_dim"])
    shapes["char_emb_layer.embedding.weight"] = (len(CHARACTERS), cnn["char_dim"])
    for k, (width, count) in enumerate(cnn["filters"]):
        shapes[f"convolutions.{k}.weight"] = (count, cnn["char_dim"], width)
        shapes[f"convolutions.{k}.bias"] = (count,)
    for k in range(cnn["n_highway"]):
        shapes[f"highways._layers.{k}.weight"] = (2 * num_filters, num_filters)
        shapes[f"highways._layers.{k}.bias"] = (2 * num_filters,)
    shapes["projection.weight"] = (dim, cnn["word_dim"] + num_filters)
    shapes["projection.bias"] = (dim,)
    lstm_shapes = {}
    for layer in range(lstm["n_layers"]):
        for direction in ("forward", "backward"):
            prefix = f"{direction}_layer_{layer}"
            lstm_shapes[f"{prefix}.input_linearity.weight"] = (4 * units, dim)
            lstm_shapes[f"{prefix}.state_linearity.weight"] = (4 * units, dim)
            lstm_shapes[f"{prefix}.state_linearity.bias"] = (4 * units,)
            lstm_shapes[f"{prefix}.state_projection.weight"] = (dim, units)
    return tuple(
        {name: rng.normal(scale=0.5, size=size).astype("f4") for name, size in part.items()}
        for part in (shapes, lstm_shapes)
    )


def write_dic(path, tokens):
    lines = [f"{token}\t{number}\n" for number, token in enumerate(tokens)]
    path.write_text("".join(lines), encoding="utf-8")


def write_model(folder, shape=ARCHITECTURE, weights=None, form="legacy"):
    """Writes a model's folder, and returns its `ManyLangsReference`."""
    folder.mkdir(parents=True, exist_ok=True)
    has_words = shape["token_embedder"]["word_dim"] > 0
    weights = random_weights(shape) if weights is None else weights
    (folder / "config.json").write_text(json.dumps({"config_path": "/home/me/shape.json"}))
    (folder / "shape.json").write_text(json.dumps(shape))
    write_dic(folder / "char.dic", CHARACTERS)
    if has_words:
        write_dic(folder / "word.dic", WORDS)
    for name, part in zip(("token_embedder", "encoder"), weights, strict=True):
        (folder / f"{name}.pkl").write_bytes(FORMATS[form](part))
    words = WORDS if has_words else None
    return ManyLangsReference(shape, CHARACTERS, words, {**weights[0], **weights[1]})
