"""The layers on Keras's JAX backend give the numbers of the TensorFlow one."""

import keras
import numpy as np
from layers.cases import run_in_jax

import keras_elmo

MODEL = """
ids = keras.Input((None, 12), dtype="int32")
# All weights are set below. JAX would compile a function for each random initial value.
zeros = {"kernel_initializer": "zeros"}
words = {"num_words": 261, "word_dim": 2}  # the last id of a token is the word's
tokens = CharCNNEmbedding([(1, 3), (2, 4)], 5, 2, 6, **words, **zeros)(ids)
layers, state = BiLM(8, 6, 2, 0.5, 0.4, return_state=True, **zeros)(tokens)
mixed = ScalarMix(True, [0.1, 0.2, 0.3])(layers)
model = keras.Model(ids, [*layers, mixed, MaskedMean()(mixed), *state])
"""
IN_JAX = f"""
import sys
sys.modules["tensorflow"] = None
import numpy as np, keras
from keras_elmo.layers import BiLM, CharCNNEmbedding, MaskedMean, ScalarMix
assert keras.backend.backend() == "jax"
{MODEL}
data = np.load(sys.argv[1])
ids = data["ids"]
model.set_weights([data["weight%d" % i] for i in range(len(model.weights))])
for i, output in enumerate(model(ids)):
    np.testing.assert_allclose(output, data["output%d" % i], atol=1e-5)
trained = keras.Model(model.inputs, model.outputs[4])  # the mean
trained.compile("sgd", "mse")  # compiled by XLA
loss = trained.fit(ids, data["output4"] + 1, epochs=3, verbose=0).history["loss"]
assert loss[-1] < loss[0]
assert sys.modules["tensorflow"] is None
"""


def test_jax_gives_the_same_numbers_and_trains(tmp_path):
    scope = {**vars(keras_elmo), "keras": keras}
    exec(MODEL, scope)
    model = scope["model"]
    for variable in model.weights:
        variable.assign(np.random.normal(scale=0.4, size=variable.shape))
    ids = np.random.default_rng(0).integers(1, 262, (3, 5, 12)).astype(np.int32)
    ids[0, 2:] = 0
    ids[1] = 0
    data = {f"weight{i}": weight for i, weight in enumerate(model.get_weights())}
    data |= {f"output{i}": np.asarray(output) for i, output in enumerate(model(ids))}
    assert len(model.outputs) == 13
    run_in_jax(IN_JAX, tmp_path, ids=ids, **data)
