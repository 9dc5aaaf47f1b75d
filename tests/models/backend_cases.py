"""What `test_other_backends.py` computes in its own process, and on another backend of Keras."""

import sys

import keras
import numpy as np

import keras_elmo

TEXTS = [
    "I don't know, said Dr. Smith of Europe's 3,000 banks.",
    ["a", "list", "of", "tokens", "caf\u00e9"],
    "",
    b"\xff not UTF-8 \xe2\x82\xac5.50",
    f"{'long' * 20} words\u00a0and (short) ones: 'tis http://a.b/c!",
]
LAYERS = ["elmo", "word_emb", "lstm_outputs1", "default", "average", "all", -1]


def outputs(model):
    """Everything that a model computes of `TEXTS`: NumPy arrays by their names."""
    texts = [text for text in TEXTS if model.tokenizer is not None or isinstance(text, list)]
    found = {}
    for row, result in enumerate(model.embed(texts, layers=LAYERS)):
        found |= {f"embed {row} {layer}": array for layer, array in result.items()}
    tokens = model.tokenize(texts)
    found["tokens"] = np.array([" ".join(row).encode("utf-8", "replace") for row in tokens])
    found["ids"] = ids = np.asarray(model.batch_to_ids(tokens))
    found |= {f"call {k}": v for k, v in model.from_character_ids(ids).items()}
    return {name: keras.ops.convert_to_numpy(value) for name, value in found.items()}


def check_a_head(model):
    """Trains a head, and the model below it, on character ids. The mask goes with the outputs."""
    ids = model.batch_to_ids([["a", "cat"], ["dogs"], ["a", "b", "c"]])
    inputs = keras.Input((None, ids.shape[-1]), dtype="int32")
    found = model(inputs)
    mean = keras.layers.GlobalAveragePooling1D()(found["elmo"])
    head = keras.Model(inputs, keras.layers.Dense(1)(mean))
    model.trainable_part = "all"
    head.compile(keras.optimizers.Adam(0.01), "mse")
    before = model.bilm.get_weights()
    loss = head.fit(ids, np.array([[1.0], [2.0], [3.0]]), epochs=5, verbose=0).history["loss"]
    assert loss[-1] < loss[0]
    assert not any(map(np.array_equal, before, model.bilm.get_weights()))
    several = keras.Model(inputs, [mean, found["default"], head.output])
    several.save("head.keras")
    expected = several.predict(ids, verbose=0)
    np.testing.assert_allclose(expected[0], expected[1], atol=1e-6)
    for x, y in zip(
        keras.models.load_model("head.keras").predict(ids, verbose=0), expected, strict=True
    ):
        np.testing.assert_allclose(x, y, atol=1e-6)


def check_errors(model):
    def raises(error, part, function, *args, **kwargs):
        try:
            function(*args, **kwargs)
        except error as caught:
            assert part in str(caught), caught
        else:
            raise AssertionError(f"no error: {part}")

    backend = f"Received: backend '{keras.backend.backend()}'"
    for call in (model, model.predict, model.fit):
        for texts in (["a b"], [["a", "b"]], np.array(["a b"])):
            raises(ValueError, backend, call, texts)
    raises(ValueError, backend, type(model), model.config, stateful=True)
    raises(ImportError, backend, getattr, keras_elmo, "ElmoEmbedding")
    raises(ImportError, backend, getattr, keras_elmo, "export_saved_model")
    ids = model.batch_to_ids([["a"]])
    raises(ValueError, "from 0 (padding) to 261", model.from_character_ids, ids + 300)
    raises(ValueError, "must have shape", model, ids[0])
    raises(TypeError, "must be integers", model, ids.astype("float32"))
    raises(ValueError, "list of tokens", model.batch_to_ids, ["a b"])


if __name__ == "__main__":
    for name in sys.argv[1:]:
        model = keras.models.load_model(f"{name}.keras")
        np.savez(f"{name}.npz", **outputs(model))
    model = keras_elmo.Elmo.from_pretrained("folder", tokenizer="treebank")
    np.savez("folder.npz", **outputs(model))
    model.save_pretrained("copy")
    model.save("copy.keras")
    check_errors(model)
    check_a_head(model)
