"""`python -m benchmarks.tflite`: TFLite files, their size, time and cosine to float32.

`tiny`, the trained model in the package, and random models of two shapes, their weights drawn so
that the gates are neither all open or shut nor all linear, see `randomize`. Each file runs in
ai-edge-litert on one thread.
"""

import os
import statistics
import tempfile
import time
from importlib import metadata

import numpy as np

import keras_elmo
from benchmarks import measure, report
from keras_elmo.tflite import export as tflite

_FILTERS = [(1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024)]
TRAINED = "tiny"
RANDOM = {
    "small": keras_elmo.ElmoConfig(units=1024, projection_dim=128, filters=_FILTERS, num_highway=1),
    "original": keras_elmo.ElmoConfig(),
}
WAYS = [("text", 1), ("text", None), ("character_ids", 1), ("character_ids", None)]
LAYERS = ("word_emb", "lstm_outputs1", "lstm_outputs2", "elmo")
SENTENCES = [
    measure.ONE,
    "Un café naïve , 猫 が いる and 😀 emoji",
    "Bank",
    "An extraordinarily-long-word-of-more-than-forty-eight-bytes , then short ones .",
]


def randomize(elmo, seed=0, freedom=None):
    """Draws kernels of variance 1 / fan_in, characters of 1, biases 0.1 around their start.

    Normal numbers, so that the LSTMs' gates get inputs of a standard deviation near 1. With
    `freedom`, kernels follow Student's t of so many degrees, scaled to the same variance: few large
    weights, as training makes them, and worse for int8, whose steps grow with the largest.
    """
    rng = np.random.default_rng(seed)
    for variable in [*elmo.character_encoder.variables, *elmo.bilm.variables]:
        if "bias" in variable.name:
            start, scale = variable.numpy(), 0.1
        elif variable.name == "character_embedding":
            start, scale = 0.0, 1.0
        else:
            start, scale = 0.0, np.prod(variable.shape[:-1]) ** -0.5
        if freedom is None or "kernel" not in variable.name:
            values = rng.normal(size=variable.shape)
        else:
            values = rng.standard_t(freedom, size=variable.shape)
            values /= values.std()
        variable.assign(start + scale * values)


def make(shape):
    if shape == TRAINED:
        return keras_elmo.Elmo.from_pretrained(TRAINED)
    elmo = keras_elmo.Elmo(RANDOM[shape])
    randomize(elmo)
    return elmo


def config_of(shape):
    return RANDOM[shape] if shape in RANDOM else make(shape).config


def run(shapes, sentences, repeats, ways):
    """Every variant of each shape: the rows of two tables, by their names."""
    accuracy, calls = [], []
    for shape in shapes:
        elmo = make(shape)
        expected = [elmo([sentence]) for sentence in sentences]
        for quantize in tflite.QUANTIZATIONS:
            for inputs, batch in ways:
                row = {"shape": shape, "weights": quantize or "float32"}
                with tempfile.TemporaryDirectory() as folder:
                    path = os.path.join(folder, "model.tflite")
                    start = time.perf_counter()
                    tflite.export_tflite(elmo, path, inputs, quantize, batch)
                    seconds = time.perf_counter() - start
                    size = os.path.getsize(path) / 1e6
                    outputs, ms, cpu_ms = _measure(path, inputs, sentences, repeats)
                cosines = _least_cosines(outputs, expected)
                if (inputs, batch) == ("text", 1):
                    accuracy.append({**row, "MB": size, "one sentence (ms)": ms, **cosines})
                row |= {
                    "input": inputs,
                    "batch": "1" if batch else "any",
                    "MB": size,
                    "one sentence (ms)": ms,
                    "of the processor (ms)": cpu_ms,
                    "least cosine": min(cosines.values()),
                    "to convert (s)": seconds,
                }
                calls.append(row)
                print(row, flush=True)
    return {"text in, batch 1": accuracy, "every way to call": calls}


def heavy_tails(shape, sentences, freedoms):
    """Least cosines of int8 files by the tails of the weights' distribution."""
    rows = []
    for freedom in freedoms:
        elmo = keras_elmo.Elmo(config_of(shape))
        randomize(elmo, freedom=freedom)
        expected = [elmo([sentence]) for sentence in sentences]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.tflite")
            tflite.export_tflite(elmo, path, "text", "int8")
            outputs, *_ = _measure(path, "text", sentences, repeats=1)
        kernels = "normal" if freedom is None else f"Student's t, {freedom} degrees of freedom"
        rows.append({"shape": shape, "kernels": kernels, **_least_cosines(outputs, expected)})
    return rows


def _measure(path, inputs, sentences, repeats):
    """The outputs of each sentence; the median milliseconds of the first, and the processor's."""
    from ai_edge_litert.interpreter import Interpreter

    run_file = Interpreter(path, num_threads=1).get_signature_runner("serving_default")
    fed = [_fed(inputs, sentence) for sentence in sentences]
    outputs = [run_file(**{inputs: data}) for data in fed]
    wall, processor = [], []
    run_file(**{inputs: fed[0]})
    for _ in range(repeats):
        start = time.perf_counter(), time.process_time()
        run_file(**{inputs: fed[0]})
        wall.append(time.perf_counter() - start[0])
        processor.append(time.process_time() - start[1])
    return outputs, 1e3 * statistics.median(wall), 1e3 * statistics.median(processor)


def _fed(inputs, sentence):
    if inputs == "text":
        return np.frombuffer(sentence.encode(), np.uint8)[None]
    words = sentence.split()
    return np.array([[keras_elmo.characters.word_to_ids(word) for word in words]], np.int32)


def _least_cosines(outputs, expected):
    least = {}
    for name in LAYERS:
        pairs = [(a[name][0], b[name][0].numpy()) for a, b in zip(outputs, expected, strict=True)]
        least[f"cosine of {name}"] = min(measure.least_cosine(*pair) for pair in pairs)
    return least


def head(results):
    load = results["load average"]
    return (
        f"Measured {results['date']} on one thread {report.where(results)}. `tiny` is trained, the "
        "others have random weights: kernels normal of variance 1 / fan_in, character embeddings "
        "of variance 1, biases of standard deviation 0.1 around their start. Time: one sentence of "
        f"12 tokens, median of {results['repeats']}, and the processor's time of it (load average "
        f"of the machine {load['before']:.1f} before, {load['after']:.1f} after). Cosines: to "
        f"float32 `Elmo`, the least of all tokens of {results['sentences']} sentences."
    )


def main():
    options = report.parser("benchmarks.tflite", __doc__, "tflite", "only `tiny`").parse_args()
    shapes = [TRAINED] if options.small else [TRAINED, *RANDOM]
    repeats = 1 if options.small else measure.REPEATS
    load = os.getloadavg()[0]
    with_tails = TRAINED if options.small else "small"
    names = ("tensorflow", "keras", "ai-edge-litert")
    results = {
        **report.context({name: metadata.version(name) for name in names}),
        "sentences": len(SENTENCES),
        "repeats": repeats,
        "models": {name: config_of(name).to_options() for name in shapes},
        "tables": {
            **run(shapes, SENTENCES, repeats, WAYS[::3] if options.small else WAYS),
            "int8 with heavy tails": heavy_tails(with_tails, SENTENCES, [None, 3, 2]),
        },
        "load average": {"before": load, "after": os.getloadavg()[0]},
    }
    print(report.write(options.output, "tflite", results, head(results)))


if __name__ == "__main__":
    main()
