"""Random models against the NumPy references: every output, `embed`, and their files."""

import numpy as np
from golden.test_reference import WORDS, random_config, random_model
from manylangs.torch_files import FORMATS
from manylangs_models import CHARACTERS, architecture, random_weights, write_model
from text.tokenizer_cases import python_split

from fuzz.case import expect
from keras_elmo import Elmo, strings

_CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def run(seed, folder):
    rng = np.random.default_rng(seed)
    is_original = bool(rng.random() < 0.75)
    make = _original if is_original else _manylangs
    words, layers_of = make(rng, folder / "model")
    max_tokens = [None, None, 1, 4, 9][rng.integers(5)]
    tokenizer = ["whitespace", "treebank", "space", None][rng.integers(4)]
    elmo = Elmo.from_pretrained(
        folder / "model",
        tokenizer=tokenizer,
        num_mixes=int(rng.integers(1, 4)),
        do_layer_norm=bool(rng.random() < 0.3),
        max_tokens=max_tokens,
    )
    for mix in elmo.mixes:
        for variable in mix.weights:
            variable.assign(rng.normal(size=variable.shape))
    sentences = inputs = _sentences(rng, words)
    if tokenizer is not None and rng.random() < 0.7:
        inputs = [b" ".join(words) for words in sentences]
        split = {
            "whitespace": python_split,
            "space": lambda text: [word for word in text.split(b" ") if word],
            "treebank": lambda text: elmo.tokenizer.tokenize([text]).to_list()[0],
        }
        sentences = [split[tokenizer](text) for text in inputs]
    cut = [words[:max_tokens] for words in sentences]
    expected = [_expected(elmo, words, layers_of(words)) for words in cut]
    if elmo.do_layer_norm:
        _normalize(elmo, expected)
    _check_call(elmo, inputs, cut, expected)
    if is_original and sentences and rng.random() < 0.3:
        called = elmo(_tokens(inputs))
        for name, value in elmo.from_character_ids(elmo.batch_to_ids(sentences)).items():
            close = np.allclose(value, called[name], **_CLOSE)
            expect(close, f"the {name} of a call from character ids", value)
    _check_embed(rng, elmo, inputs, expected)
    elmo.save_pretrained(folder / "again")
    again = Elmo.from_pretrained(folder / "again", num_mixes=len(elmo.mixes))
    expect(again.config == elmo.config, elmo.config, again.config)
    for one, other in zip(_weights(elmo), _weights(again), strict=True):
        expect(one.tobytes() == other.tobytes(), "the same bits of the weights", "others")


def _weights(elmo):
    return [v.numpy() for v in [*elmo.character_encoder.weights, *elmo.bilm.weights]]


def _original(rng, folder):
    """Writes a model: words to ask it for, and a function that gives a sentence's layers."""
    elmo, reference = random_model(random_config(rng), rng, folder)
    for one, other in zip(_weights(elmo), _weights(Elmo.from_pretrained(folder)), strict=True):
        expect(one.tobytes() == other.tobytes(), "the same bits of the weights", "others")
    noise = [rng.bytes(int(rng.integers(1, 70))) for _ in range(8)]
    return noise + [word.encode() for word in WORDS], reference.sentence


def _manylangs(rng, folder):
    encoder = {
        "projection_dim": int(rng.integers(2, 8)),
        "cell_clip": [0, 0.05, 3][rng.integers(3)],
        "proj_clip": [0, 0.05, 3][rng.integers(3)],
        "dim": int(rng.integers(2, 12)),
        "n_layers": int(rng.integers(1, 4)),
    }
    embedder = {
        "activation": str(rng.choice(["relu", "tanh"])),
        "filters": [[width, int(rng.integers(1, 6))] for width in range(1, rng.integers(2, 5))],
        "n_highway": int(rng.integers(0, 3)),
        "word_dim": int(rng.choice([0, 3])),
        "max_characters_per_token": int(rng.integers(5, 12)),
    }
    shape = architecture(encoder, embedder)
    weights = random_weights(shape, int(rng.integers(2**31)))
    reference = write_model(folder, shape, weights, str(rng.choice(list(FORMATS))))
    empty = np.zeros((encoder["n_layers"] + 1, 0, 2 * encoder["projection_dim"]))
    words = ["".join(rng.choice(CHARACTERS[:16], rng.integers(1, 14))) for _ in range(12)]

    def layers_of(words):
        return reference.sentence([word.decode() for word in words]) if words else empty

    return [word.encode() for word in [*words, "cat", "<bos>", "<pad>", "今天"]], layers_of


def _sentences(rng, words):
    count = [0, 1, 1, int(rng.integers(2, 9)), 40][rng.integers(5)]
    longest = [1, 6, 12, 60 if count < 9 else 12][rng.integers(4)]
    words = np.array(words, object)
    return [list(rng.choice(words, rng.integers(0, longest + 1))) for _ in range(count)]


def _tokens(inputs):
    """Lists of tokens as a RaggedTensor: in lists, most tokens must not hold whitespace."""
    return strings(inputs) if inputs and isinstance(inputs[0], list) else inputs


def _expected(elmo, words, layers):
    """The floats of a sentence by their names in a call, and the array of its `"layers"`."""
    layers = np.asarray(layers)
    values = {"layers": layers, "word_emb": layers[0][:, : elmo.config.projection_dim]}
    values |= {f"lstm_outputs{k}": layer for k, layer in enumerate(layers) if k}
    return values | _mixed(elmo, layers)


def _mixed(elmo, layers):
    values = {}
    for k, mix in enumerate(elmo.mixes):
        *scalars, gamma = (np.ravel(np.asarray(v, np.float64)) for v in mix.weights)
        weights = np.exp(np.concatenate(scalars))
        values[f"elmo_{k + 1}" if k else "elmo"] = gamma * np.tensordot(
            weights / weights.sum(), layers, 1
        )
    return values | {"default": values["elmo"].sum(axis=0) / max(1, layers.shape[1])}


def _normalize(elmo, expected):
    """The mixes with a layer norm: over all tokens of all sentences."""
    if not sum(values["layers"].shape[1] for values in expected):
        return
    whole = np.concatenate([values["layers"] for values in expected], axis=1)
    mean, variance = (f(axis=(1, 2), keepdims=True) for f in (whole.mean, whole.var))
    for values in expected:
        values |= _mixed(elmo, (values["layers"] - mean) / np.sqrt(variance + 1e-12))


def _check_call(elmo, inputs, sentences, expected):
    outputs = {name: value.numpy() for name, value in elmo(_tokens(inputs)).items()}
    width = elmo.max_tokens or max([1, *map(len, sentences)])
    expect(len(outputs["mask"]) == len(sentences), f"{len(sentences)} rows", outputs["mask"].shape)
    for row, words in enumerate(sentences):
        values = {name: value for name, value in expected[row].items() if name != "layers"}
        padding = width - len(words)
        received = {name: value[row] for name, value in outputs.items()}
        is_right = (
            received.pop("sequence_len") == len(words)
            and received.pop("tokens").tolist() == [*words, *[b""] * padding]
            and received.pop("mask").tolist() == [True] * len(words) + [False] * padding
        )
        expect(is_right, f"{len(words)} tokens in row {row}", outputs["tokens"][row])
        expect(set(received) == set(values), sorted(values), sorted(received))
        for name, value in values.items():
            if name != "default":
                value = np.pad(value, [[0, padding], [0, 0]])
            # A layer norm makes small differences larger where values hardly differ.
            loose = 1e-4 if elmo.do_layer_norm else 1e-5
            close = {"rtol": 1e-4, "atol": loose} if name[:4] in ("elmo", "defa") else _CLOSE
            _expect_close(f"{name} of row {row}", received[name], value, close)


def _check_embed(rng, elmo, inputs, expected):
    order = rng.permutation(len(inputs))
    texts = _tokens([inputs[k] for k in order])
    choices = ["all", "word_emb", -1, "average"]
    if not elmo.do_layer_norm:  # over other tokens than a call's: those of one batch
        choices += ["elmo", "default"]
    results = elmo.embed(texts, layers=choices, token_budget=[None, 1, 20][rng.integers(3)])
    expect(len(results) == len(inputs), f"{len(inputs)} results", len(results))
    for k, result in zip(order, results, strict=True):
        layers = expected[k]["layers"]
        values = {**expected[k], "all": layers, -1: layers[-1], "average": layers.mean(axis=0)}
        for name in choices:
            close = {"rtol": 1e-4, "atol": 1e-5} if name == "default" else _CLOSE
            _expect_close(f"embed {name} of row {k}", result[name], values[name], close)


def _expect_close(what, received, expected, close):
    expect(received.shape == expected.shape, f"{what} of shape {expected.shape}", received.shape)
    expect(received.dtype == np.float32, f"{what} of float32", received.dtype)
    is_close = np.allclose(received, expected, **close)
    expect(is_close, f"{what} within {close}: {expected}", received)
