"""Random models in every form that Keras has: trained, cloned, saved, loaded in a new process."""

import traceback

import keras
import numpy as np
from golden.test_reference import random_config, random_model
from models import keras_forms
from models.test_keras_forms import faults

from fuzz.case import Finding, expect
from keras_elmo import CRFLoss, Elmo

_CLOSE = 1e-3  # bfloat16 rounds otherwise; another model is far away


def run(seed, folder):
    rng = np.random.default_rng(seed)
    keras.utils.set_random_seed(seed % 2**31)
    name = list(keras_forms.FORMS)[rng.integers(len(keras_forms.FORMS))]
    settings = {
        "trainable_part": ["mix", "bilm", "all"][rng.integers(3)],
        "do_layer_norm": bool(rng.random() < 0.2),
        "dtype": ["float32", "float32", "mixed_bfloat16"][rng.integers(3)],
    }
    tokenizers = ["whitespace", "treebank"][rng.integers(2)], None
    what = f"{name} with {settings}, {tokenizers[0]}"
    random_model(random_config(rng), rng, folder / "model")
    make, inputs = keras_forms.FORMS[name]
    try:
        elmos = [
            Elmo.from_pretrained(folder / "model", tokenizer=t, **settings) for t in tokenizers
        ]
        model, inputs = make(*elmos), inputs()
        if name != "several arguments":  # which `fit` does not pass on
            _fit(rng, name, model, inputs)
        outputs = keras_forms.call(model, inputs)
        copy = type(model).from_config(model.get_config())
        keras_forms.call(copy, inputs)  # makes the weights
        copy.set_weights(model.get_weights())
        copied = keras_forms.call(copy, inputs)
    except Exception:
        raise Finding(f"expected: {what} works\nreceived: {traceback.format_exc()}") from None
    expect(all(np.isfinite(output).all() for output in outputs), f"numbers from {what}", outputs)
    for one, other in zip(copied, outputs, strict=True):
        expect(np.allclose(one, other, rtol=_CLOSE, atol=_CLOSE), f"{what} equals its copy", one)
    (folder / "forms").mkdir()
    made = (model, inputs, outputs)
    found = faults([name], [name], lambda _: made, folder / "forms", tolerance=_CLOSE)
    expect(not found[name], f"{what} gives the same outputs in a new process", found[name])


def _fit(rng, name, model, inputs):
    outputs = model(inputs)
    if name.startswith(("tagger", "numeric")):
        labels, loss = rng.integers(0, 2, outputs.shape[:2]), CRFLoss()
    else:
        labels = keras.tree.map_structure(lambda output: rng.normal(size=output.shape), outputs)
        loss = "mse"
    model.compile("adam", loss)
    model.fit(inputs, labels, batch_size=2, verbose=0)
