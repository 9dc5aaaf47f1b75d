"""`python -m benchmarks.gpu`: the layers on a GPU, by Keras's JAX backend.

It needs JAX, and not TensorFlow. A random model of the original's shape reads character ids, as
`keras_elmo.characters` makes them, in batches padded to their longest sentence. (Without a GPU,
JAX's first device is the processor.)

- numbers: the least cosine of a token's vectors beside the processor's, which are in float32, and
  the largest error, as a share of a layer's standard deviation.
- speed: tokens a second, padding not counted. The vectors stay on the GPU.
- training: `fit` of a classifier on the mean vector, all weights of ELMo trained.

GPUs can round the factors of float32 products to TensorFloat-32, whose mantissa has 10 bits in the
place of 23. "float32" is without this rounding.
"""

import gc
import os
import statistics

os.environ["KERAS_BACKEND"] = "jax"

import jax
import keras
import numpy as np

from benchmarks import measure, report
from keras_elmo import ElmoConfig
from keras_elmo.characters import boundary_ids, word_to_ids
from keras_elmo.layers import BiLM, CharCNNEmbedding, MaskedMean, ScalarMix
from keras_elmo.layers.matmul import using_matmul_dtype

SMALL = ElmoConfig(units=32, projection_dim=8, filters=[(1, 8), (2, 8)], num_highway=1)
# How the layers compute: dtype of the layers, precision of products, `matmul_dtype`.
ARITHMETIC = {
    "float32": ("float32", "highest", None),
    "TensorFloat-32": ("float32", "tensorfloat32", None),
    'matmul_dtype="bfloat16"': ("float32", "highest", "bfloat16"),
    'dtype="mixed_bfloat16"': ("mixed_bfloat16", "highest", None),
    'dtype="bfloat16"': ("bfloat16", "highest", None),
}
NUMBERS, SPEED, TRAINING = "Numbers", "Speed (tokens/s)", "Training (tokens/s)"
COMPARED = 32  # sentences


def build(config, dtype):
    """A Keras model from character ids to the layers of the biLM, and then to their mean."""
    ids = keras.Input((None, config.max_characters), dtype="int32")
    sizes = config.filters, config.character_dim, config.num_highway, config.projection_dim
    tokens = CharCNNEmbedding(*sizes, dtype=dtype)(ids)
    sizes = config.units, config.projection_dim, config.num_layers
    layers = BiLM(*sizes, config.cell_clip, config.projection_clip, dtype=dtype)(tokens)
    labels = keras.layers.Dense(2)(MaskedMean()(ScalarMix()(layers)))
    return keras.Model(ids, layers), keras.Model(ids, labels)


def padded(sentences, config):
    """The character ids of sentences: int32, (sentences, tokens, characters)."""
    size = config.max_characters
    begin, end = boundary_ids(size)
    rows = [
        [begin, *(word_to_ids(word, size) for word in words.split()), end] for words in sentences
    ]
    ids = np.zeros((len(rows), max(map(len, rows)), config.max_characters), np.int32)
    for place, row in zip(ids, rows, strict=True):
        place[: len(row)] = row
    return ids


def agreement(layers, expected, ids):
    """How near each layer is to the expected one, a dict."""
    row, errors = {}, []
    for number, (a, b) in enumerate(zip(layers, expected, strict=True)):
        a, b = (np.asarray(x, np.float64)[ids.any(-1)] for x in (a, b))
        row[f"least cosine, layer {number}"] = measure.least_cosine(a, b)
        errors.append(np.abs(a - b).max() / b.std())
    return row | {"largest error / standard deviation": float(max(errors))}


def tokens_a_second(task, ids, repeats):
    """The median of some calls, after one that is not counted."""
    return int(ids.any(-1).sum()) / statistics.median(measure.seconds_of(task, repeats + 1)[1:])


def compiled(model):
    """A function from character ids to the layers of the biLM."""
    variables = model.trainable_variables, model.non_trainable_variables
    values = [[variable.value for variable in some] for some in variables]
    run = jax.jit(lambda values, ids: model.stateless_call(*values, ids)[0])
    return lambda ids: jax.block_until_ready(run(values, ids))


def rows_of(name, config, weights, expected, batches, repeats):
    """The rows of one arithmetic, a dict of the tables."""
    dtype, precision, matmul_dtype = ARITHMETIC[name]
    row = {"arithmetic": name}
    with jax.default_matmul_precision(precision), using_matmul_dtype(matmul_dtype):
        model, classifier = build(config, dtype)
        classifier.set_weights(weights)
        embed = compiled(model)
        rows = {
            NUMBERS: row | agreement(embed(batches[COMPARED]), expected, batches[COMPARED]),
            SPEED: row
            | {
                f"batch of {size}": tokens_a_second(lambda: embed(ids), ids, repeats)  # noqa: B023
                for size, ids in batches.items()
            },
        }
        ids = np.concatenate([batches[COMPARED]] * 8)
        labels = np.arange(len(ids)) % 2
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        classifier.compile(keras.optimizers.Adam(1e-5), loss)
        rate = tokens_a_second(lambda: classifier.fit(ids, labels, COMPARED, verbose=0), ids, 4)
        if not np.isfinite(classifier.history.history["loss"]).all():
            raise FloatingPointError(f"The loss is {classifier.history.history['loss']}: {name}")
        return rows | {TRAINING: row | {"batches of 32": rate}}


def main():
    parser = report.parser("benchmarks.gpu", __doc__, "gpu", "a small model and text")
    report.add_text(parser)
    options = parser.parse_args()
    config = SMALL if options.small else ElmoConfig()
    sentences = options.text.read_text(encoding="utf-8").splitlines()
    sizes = [1, COMPARED] if options.small else [1, COMPARED, 512]
    batches = {size: padded(sentences[:size], config) for size in sizes}
    with jax.default_device(jax.devices("cpu")[0]):
        model, classifier = build(config, "float32")
        expected = [np.asarray(layer) for layer in compiled(model)(batches[COMPARED])]
        weights = classifier.get_weights()
    device = jax.devices()[0].device_kind
    results = {
        **report.context([f"JAX {jax.__version__}", f"Keras {keras.__version__}"]),
        "device": device,
        "text": {size: int(ids.any(-1).sum()) for size, ids in batches.items()},
        "tables": {NUMBERS: [], SPEED: [], TRAINING: []},
    }
    tokens = ", ".join(f"{count:,} ({size})" for size, count in results["text"].items())
    place = f"{results['date']} {report.where(results)}"
    head = f"{device}. Tokens (of sentences): {tokens}. Measured {place}."
    for name in ARITHMETIC:
        print(name, flush=True)
        rows = rows_of(name, config, weights, expected, batches, 2 if options.small else 10)
        for title, row in rows.items():
            results["tables"][title].append(row)
        text = report.write(options.output, "gpu", results, head)
        gc.collect()
    print(text)


if __name__ == "__main__":
    main()
