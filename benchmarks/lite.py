"""`python -m benchmarks.lite`: how keras_elmo_lite starts, and how near its vectors are.

A random model of the original's size, its weights drawn as in `benchmarks.tflite`. The start is
that of a program which imports the package, opens the int8 file and embeds one sentence; `--python`
names the Python of an environment with NumPy and LiteRT alone for it. `python -m benchmarks`
measures its speed.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import metadata

import numpy as np

import keras_elmo
from benchmarks import measure, report
from benchmarks.__main__ import SMALL
from benchmarks.tflite import randomize

START = "from keras_elmo_lite import Elmo; import sys; Elmo(sys.argv[1]).embed([sys.argv[2]])"
WEIGHTS = ("int8", "float32")


def start(python, files):
    """Seconds from the start of a process until the first vectors are there; medians."""
    seconds = {weights: [] for weights in files}
    for repeat in range(measure.REPEATS + 1):
        for weights, file in files.items():
            command = [python, "-c", START, file, measure.ONE]
            begin = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            if repeat:  # the first reads the files from the disk
                seconds[weights].append(time.perf_counter() - begin)
    return [
        {
            "weights": weights,
            "MB": os.path.getsize(files[weights]) / 1e6,
            "start to the first vectors (s)": statistics.median(values),
        }
        for weights, values in seconds.items()
    ]


def distances(model, files, sentences):
    """How near each file's vectors are to those of keras_elmo, over all tokens."""
    from keras_elmo_lite import Elmo

    expected = keras_elmo.Elmo.from_pretrained(model).embed(sentences, layers="all")
    rows = []
    for weights, file in files.items():
        found = Elmo(file).embed(sentences, layers="all")
        row = {"weights": weights}
        for layer in range(len(found[0])):
            both = [np.concatenate([x[layer] for x in vectors]) for vectors in (found, expected)]
            row[f"least cosine, layer {layer}"] = measure.least_cosine(*both)
        pairs = zip(found, expected, strict=True)
        row["largest difference"] = float(max(np.abs(a - b).max() for a, b in pairs))
        rows.append(row)
    return rows


def head(results):
    text = results["text"]
    return (
        f"Measured {results['date']} {report.where(results)}; "
        f"{text['sentences']} sentences, {text['tokens']:,} tokens; medians of "
        f"{results['repeats']}."
    )


def main():
    parser = report.parser("benchmarks.lite", __doc__, "lite", "a small model and text")
    parser.add_argument("--python", default=sys.executable, help="for the start")
    parser.add_argument("--repeats", type=int, default=measure.REPEATS, help="(%(default)s)")
    options = parser.parse_args()
    measure.REPEATS = 1 if options.small else options.repeats
    sentences = [measure.ONE] * 12
    if not options.small:
        sentences = report.read_lines(report.SHARED / "bench/sentences-512.txt")
    config = SMALL if options.small else keras_elmo.ElmoConfig()
    with tempfile.TemporaryDirectory() as folder:
        elmo = keras_elmo.Elmo(config)
        randomize(elmo)
        model = os.path.join(folder, "model")
        elmo.save_pretrained(model)
        files = {weights: os.path.join(folder, f"{weights}.tflite") for weights in WEIGHTS}
        for weights, file in files.items():
            quantize = None if weights == "float32" else weights
            keras_elmo.export_tflite(elmo, file, "words", quantize)
        tables = {
            "start": start(options.python, files),
            "distance to keras_elmo": distances(model, files, sentences),
        }
    names = ("tensorflow", "keras", "ai-edge-litert")
    results = {
        **report.context({name: metadata.version(name) for name in names}),
        "text": {"sentences": len(sentences), "tokens": measure.count(sentences)},
        "repeats": measure.REPEATS,
        "tables": tables,
    }
    print(report.write(options.output, "lite", results, head(results)))


if __name__ == "__main__":
    main()
