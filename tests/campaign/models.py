"""Random models against the NumPy references: every output, `embed`, and their files."""

import json

import keras
import numpy as np
from campaign.case import Finding, expect
from campaign.texts import random_string
from golden.test_reference import WORDS, random_config, random_model
from manylangs_models import CHARACTERS, architecture, random_weights, write_model
from text.tokenizer_cases import python_split
from weights.torch_files import FORMATS

from keras_elmo import Elmo, strings

_CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def run(seed, folder):
    rng = np.random.default_rng(seed)
    if rng.random() < 0.25:
        reference, original = _manylangs(rng, folder / "model")
    else:
        reference, original = _original(rng, folder / "model")
    num_mixes, has_norm = int(rng.integers(1, 4)), bool(rng.random() < 0.3)
    max_tokens = [None, None, 1, 4, 9][rng.integers(5)]
    tokenizer = ["whitespace", "treebank", "space", None][rng.integers(4)]
    elmo = Elmo.from_pretrained(
        folder / "model",
        tokenizer=tokenizer,
        num_mixes=num_mixes,
        do_layer_norm=has_norm,
        max_tokens=max_tokens,
    )
    if original is not None:
        _expect_same_weights(elmo, original)
    for mix in elmo.mixes:
        for variable in mix.weights:
            variable.assign(rng.normal(size=variable.shape))
    if reference.is_of_bytes:
        words = [random_string(rng)[:70] for _ in range(8)] + [word.encode() for word in WORDS]
    else:
        words = ["".join(rng.choice(CHARACTERS[:16], rng.integers(1, 14))) for _ in range(12)]
        words = [word.encode() for word in [*words, "cat", "<bos>", "<pad>", "今天"]]
    sentences = _sentences(rng, words)
    inputs = sentences
    if tokenizer is not None and rng.random() < 0.7:
        inputs = [b" ".join(words) for words in sentences]
        split = {"whitespace": python_split, "space": lambda s: [w for w in s.split(b" ") if w]}
        if tokenizer == "treebank":
            split["treebank"] = lambda s: elmo.tokenizer.tokenize([s]).to_list()[0]
        sentences = [split[tokenizer](text) for text in inputs]
    cut = [words[:max_tokens] for words in sentences]
    layers = [reference.layers_of(words) for words in cut]
    _check_call(elmo, inputs, cut, layers, max_tokens)
    _check_embed(rng, elmo, inputs, layers, has_norm)
    if reference.is_of_bytes and sentences and rng.random() < 0.3:
        expected = elmo(_tokens(inputs))
        for name, value in elmo.from_character_ids(elmo.batch_to_ids(sentences)).items():
            close = np.allclose(value, expected[name], **_CLOSE)
            expect(close, f"the {name} of a call from character ids", value)
    elmo.save_pretrained(folder / "again")
    again = Elmo.from_pretrained(folder / "again", num_mixes=num_mixes)
    expect(again.config == elmo.config, elmo.config, again.config)
    _expect_same_weights(again, elmo)


def _original(rng, folder):
    config = random_config(rng)
    elmo, reference = random_model(config, rng, folder)
    options = config.to_options()
    options["char_cnn"]["n_characters"] = int(rng.choice([261, 262]))
    if not config.use_skip_connections and rng.random() < 0.5:
        del options["lstm"]["use_skip_connections"]
    if not config.num_highway and rng.random() < 0.5:
        del options["char_cnn"]["n_highway"]
    (folder / "options.json").write_text(json.dumps(options))
    reference.is_of_bytes, reference.layers_of = True, reference.sentence
    return reference, elmo


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
    size = 2 * encoder["projection_dim"]
    empty = np.zeros((encoder["n_layers"] + 1, 0, size))

    def layers_of(words):
        return reference.sentence([word.decode() for word in words]) if words else empty

    reference.is_of_bytes, reference.layers_of = False, layers_of
    return reference, None


def _sentences(rng, words):
    count = [0, 1, 1, int(rng.integers(2, 9)), 40][rng.integers(5)]
    longest = [1, 6, 12, 60 if count < 9 else 12][rng.integers(4)]
    words = np.array(words, object)
    return [list(rng.choice(words, rng.integers(0, longest + 1))) for _ in range(count)]


def _tokens(inputs):
    """Lists of tokens as a RaggedTensor: in lists, most tokens must not hold whitespace."""
    return strings(inputs) if inputs and isinstance(inputs[0], list) else inputs


def _check_call(elmo, inputs, sentences, layers, max_tokens):
    outputs = {name: value.numpy() for name, value in elmo(_tokens(inputs)).items()}
    width = max([1, *map(len, sentences)]) if max_tokens is None else max_tokens
    expect(len(outputs["mask"]) == len(sentences), f"{len(sentences)} rows", outputs["mask"].shape)
    mixes = [_mix(mix, layers) for mix in elmo.mixes]
    names = ["elmo", *(f"elmo_{k + 1}" for k in range(1, len(mixes)))]
    # A layer norm makes small differences larger where values hardly differ.
    loose = {"rtol": 1e-4, "atol": 1e-4 if elmo.do_layer_norm else 1e-5}
    for row, words in enumerate(sentences):
        padding = width - len(words)
        expected = {
            "sequence_len": len(words),
            "tokens": np.array([*words, *[b""] * padding], object),
            "mask": np.arange(width) < len(words),
            "word_emb": layers[row][0][:, : elmo.config.projection_dim],
            "default": mixes[0][row].sum(axis=0) / max(1, len(words)),
        }
        expected |= {f"lstm_outputs{k}": layer for k, layer in enumerate(layers[row]) if k}
        expected |= {name: mix[row] for name, mix in zip(names, mixes, strict=True)}
        if set(expected) != set(outputs):
            raise Finding(f"expected: outputs {sorted(expected)}\nreceived: {sorted(outputs)}")
        for name, value in expected.items():
            received = outputs[name][row]
            if name in ("sequence_len", "tokens", "mask"):
                expect(np.array_equal(received, value), f"{name} of row {row}: {value}", received)
                continue
            if name != "default":
                value = np.pad(value, [[0, padding], [0, 0]])
            is_loose = name == "default" or name in names
            _expect_close(f"{name} of row {row}", received, value, loose if is_loose else _CLOSE)


def _mix(mix, layers):
    """The mix of all sentences' layers, in float64."""
    *scalars, gamma = (np.ravel(np.asarray(v, np.float64)) for v in mix.weights)
    scalars = np.concatenate(scalars)
    weights = np.exp(scalars - scalars.max()) / np.exp(scalars - scalars.max()).sum()
    if mix.do_layer_norm and layers:
        whole = np.concatenate(layers, axis=1)  # (layers, tokens, features)
        mean = whole.mean(axis=(1, 2), keepdims=True) if whole.size else 0
        variance = whole.var(axis=(1, 2), keepdims=True) if whole.size else 0
        layers = [(layer - mean) / np.sqrt(variance + 1e-12) for layer in layers]
    return [gamma * np.tensordot(weights, layer, 1) for layer in layers]


def _check_embed(rng, elmo, inputs, layers, has_norm):
    budget = [None, 1, 20][rng.integers(3)]
    order = rng.permutation(len(inputs))
    choices = ["all", "word_emb", -1, "average"] + ([] if has_norm else ["elmo", "default"])
    texts = _tokens([inputs[k] for k in order])
    results = elmo.embed(texts, layers=choices, token_budget=budget)
    expect(len(results) == len(inputs), f"{len(inputs)} results", len(results))
    mixed = _mix(elmo.mixes[0], layers)
    for k, result in zip(order, results, strict=True):
        expected = {
            "all": layers[k],
            "word_emb": layers[k][0][:, : elmo.config.projection_dim],
            -1: layers[k][-1],
            "average": layers[k].mean(axis=0),
            "elmo": mixed[k],
            "default": mixed[k].sum(axis=0) / max(1, mixed[k].shape[0]),
        }
        for name in choices:
            close = _CLOSE if name != "default" else {"rtol": 1e-4, "atol": 1e-5}
            _expect_close(f"embed {name} of row {k}", result[name], expected[name], close)


def _expect_close(what, received, expected, close):
    expect(received.shape == expected.shape, f"{what} of shape {expected.shape}", received.shape)
    expect(received.dtype == np.float32, f"{what} of float32", received.dtype)
    if not np.allclose(received, expected, **close):
        worst = np.nanmax(np.abs(received - expected))
        raise Finding(f"expected: {what} within {close}\nreceived: {worst} away, or NaN")


def _expect_same_weights(elmo, other):
    one, two = ([*e.character_encoder.weights, *e.bilm.weights] for e in (elmo, other))
    for variable, original in zip(one, two, strict=True):
        is_same = keras.ops.convert_to_numpy(variable).tobytes() == np.asarray(original).tobytes()
        expect(is_same, f"the same bits of {variable.path}", "others")
