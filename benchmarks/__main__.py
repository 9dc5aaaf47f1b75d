"""`python -m benchmarks`: measures, prints tables, writes them as JSON and Markdown.

It makes its own full-size random model. Peers (simple_elmo, AllenNLP) are measured in the same run,
in turn, where they are installed in the same environment.
"""

import argparse
import datetime
import importlib.util
import json
import os
import pathlib
import platform
import sys
import tempfile

import keras_elmo
from benchmarks import measure, report

ROOT = pathlib.Path(__file__).resolve().parent.parent
SMALL = keras_elmo.ElmoConfig(
    units=32, projection_dim=8, character_dim=4, filters=[(1, 8), (2, 8), (3, 16)], num_highway=1
)


def arguments():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    shared = pathlib.Path(os.environ.get("KERAS_ELMO_SHARED", ROOT.parent / "shared"))
    parser.add_argument(
        "--text",
        type=pathlib.Path,
        default=shared / "bench/sentences-512.txt",
        help="tokenised sentences, one a line (default: %(default)s)",
    )
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        default=ROOT / "benchmarks/results",
        help="folder for inference.json and inference.md (default: %(default)s)",
    )
    parser.add_argument("--model", help="a model's folder, in the place of the random one")
    parser.add_argument("--small", action="store_true", help="a small model and text, to try it")
    return parser.parse_args()


def main():
    options = arguments()
    sentences = [line for line in options.text.read_text(encoding="utf-8").split("\n") if line]
    if options.small:
        sentences = sentences[:24]
        measure.REPEATS = 1
    with tempfile.TemporaryDirectory() as folder:
        config = SMALL if options.small else keras_elmo.ElmoConfig()
        model = options.model or os.path.join(folder, "model")
        if options.model:
            config = keras_elmo.ElmoConfig.from_options(os.path.join(model, "options.json"))
        else:
            keras_elmo.Elmo(config).save_pretrained(model)
        results = run(options.small, model, config, sentences)
    options.output.mkdir(parents=True, exist_ok=True)
    text = report.markdown(results)
    (options.output / "inference.json").write_text(json.dumps(results, indent=1) + "\n")
    (options.output / "inference.md").write_text(text)
    print(text)


def run(is_small, model, config, sentences):
    """Every table, as a dict of lists of rows."""
    peers = [name for name in ("simple_elmo", "allennlp") if importlib.util.find_spec(name)]
    systems = ["keras_elmo", *peers]
    vocabulary = sorted({word for sentence in sentences for word in sentence.split()})
    tables = {}

    def table(name, function, *args):
        print(f"{name} ...", file=sys.stderr, flush=True)
        tables[name] = function(*args)

    with measure.Worker("keras_elmo", model) as worker:
        peak = worker.ask("peak")["value"]
    table("start", measure.start, systems, model)
    workers = [measure.Worker(system, model) for system in systems]
    own = workers[0]
    try:
        table("systems", measure.compare, workers, peak, sentences, config)
        values = [256, 1024] if is_small else [512, 1024, 2048, 4096, 8192]
        table("token budget", measure.budgets, own, peak, sentences[:256], config, values)
        sizes = [1, 8] if is_small else [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
        table("batch", measure.batches, own, peak, sentences, config, sizes)
        values = [10, 100] if is_small else [10, 30, 100, 300, 1000]
        table("length", measure.lengths, own, peak, vocabulary, config, values, 4096)
        values = [0.1, 1.0] if is_small else [0.01, 0.1, 0.3, 1.0]
        table("distinct words", measure.distinct, own, peak, config, values)
        table("stages of a batch of 32", measure.stages, own, sentences[:32])
        table("exported", measure.exported, own, sentences)
        table("cached vocabulary", measure.cache, own, sentences, config)
        if not is_small:
            values = [10, 100, 1000]
            table(
                "length, more rows", measure.lengths, own, peak, vocabulary, config, values, [65536]
            )
    finally:
        for worker in workers:
            worker.close()
    table("precision", measure.precisions, model, sentences)
    with tempfile.TemporaryDirectory() as folder:
        keras_elmo.Elmo(SMALL).save_pretrained(folder)
        values = [100, 200] if is_small else [1000, 10_000, 100_000]
        table("stream, a small model", measure.stream, folder, sentences, values)
    with measure.Worker("keras_elmo", model) as worker:
        peak_after = worker.ask("peak")["value"]
    return {
        "date": datetime.date.today().isoformat(),
        "machine": {
            "processor": report.processor(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "system": platform.system(),
        },
        "text": {"sentences": len(sentences), "tokens": measure.count(sentences)},
        "model": config.to_options(),
        "peak of a matrix product (GFLOP/s)": {"before": peak, "after": peak_after},
        "tables": tables,
    }


if __name__ == "__main__":
    main()
