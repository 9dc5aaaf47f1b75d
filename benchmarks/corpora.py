"""`python -m benchmarks.corpora`: corpora to files of vectors: speed and memory of each format.

It measures the command line as users call it, in processes of their own. Beam is measured where it
is installed. The file is written after each table; `--tables` measures some of them anew.
"""

import contextlib
import cProfile
import functools
import importlib.metadata
import importlib.util
import os
import pathlib
import pstats
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import keras_elmo
from benchmarks import measure, report
from benchmarks.__main__ import SMALL
from keras_elmo.corpora import VectorDataset, read_manifest

LENGTHS = (10, 30, 100, 300, 1000)
_SAMPLE_INTERVAL = 1  # seconds between two looks at the memory of the processes
_MIN_SHARE = 0.3  # of a command's time that must be beyond its start
_EXAMPLE = report.ROOT / "examples/beam_embed.py"


def arguments():
    parser = report.parser("benchmarks.corpora", __doc__, "corpora", "small models and few lines")
    report.add_text(parser)
    parser.add_argument("--sentences", type=int, default=8192, help="of the formats, with tiny")
    parser.add_argument("--most-lines", type=int, default=1_000_000, help="of the memory")
    report.add_tables(parser)
    return parser.parse_args()


def main():
    options = arguments()
    lines = report.read_lines(options.text)
    versions = [
        f"{name} {importlib.metadata.version(name)}"
        for name in ("tensorflow", "keras", "pyarrow", "apache-beam")
        if importlib.util.find_spec(name.replace("-", "_"))
    ]
    results = {"machine": report.machine(), "versions": versions, "tables": {}}

    def rows_of(measured):
        with tempfile.TemporaryDirectory() as folder:
            rows = measured(pathlib.Path(folder))
        now = {"date": report.today(), "load": os.getloadavg()[1]}
        return [{**row, **now} for row in rows]

    tables = {
        name: functools.partial(rows_of, measured)
        for name, measured in plan(options, lines).items()
    }
    report.measure_tables(options, "corpora", results, tables, head)


def head(results):
    return (
        f"Measured {report.where(results)}. The load is the machine's average over the five "
        "minutes before the end of a table: beyond the number of cores, other programs ran."
    )


def plan(options, lines):
    """Every table by its name: a function of an empty folder to a list of rows."""
    small = options.small
    original = SMALL if small else keras_elmo.ElmoConfig()
    count = 40 if small else options.sentences
    sizes = [200, 400] if small else [size for size in (100_000, options.most_lines) if size]
    values = LENGTHS[:2] if small else LENGTHS

    def of_original(folder):
        keras_elmo.Elmo(original).save_pretrained(folder / "model")
        count = 8 if small else 1024
        return formats(folder, str(folder / "model"), repeat(lines, count), small)

    return {
        "formats, tiny": lambda folder: formats(folder, "tiny", repeat(lines, count), small),
        "formats, the original's shape": of_original,
        "time of a token by sentence length": lambda f: lengths(f, original, lines, values),
        "share of Python, tiny": lambda folder: python_share(lines, 40 if small else 1024),
        "memory, a small model": lambda folder: memory(folder, lines, sizes),
    }


def repeat(lines, count):
    return [lines[index % len(lines)] for index in range(count)]


def short_sentences(lines, count):
    """Random sentences of 1 to 5 tokens of the text."""
    words = [word for line in lines for word in line.split()]
    chance = random.Random(0)
    for _ in range(count):
        yield " ".join(chance.choices(words, k=chance.randint(1, 5)))


class Measured:
    """A command that was run: its seconds, and the most memory of all its processes together."""

    def __init__(self, command):
        self.memory = 0
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(report.ROOT)}
        outputs = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
        start = time.perf_counter()
        command = [sys.executable, *map(str, command)]
        process = subprocess.Popen(command, env=environment, **outputs)
        watching = threading.Thread(target=self._watch, args=(process,), daemon=True)
        watching.start()
        err = process.communicate()[1]
        self.seconds = time.perf_counter() - start
        watching.join()
        if process.returncode:
            raise RuntimeError(f"{command} ended with status {process.returncode}: {err[-2000:]}")

    def _watch(self, process):
        while process.poll() is None:
            self.memory = max(self.memory, sum(map(_memory_of, _family(process.pid))))
            time.sleep(_SAMPLE_INTERVAL)


def _family(pid):
    family = [pid]
    for parent in family:
        with contextlib.suppress(OSError):
            for task in pathlib.Path(f"/proc/{parent}/task").iterdir():
                family += map(int, (task / "children").read_text().split())
    return family


def _memory_of(pid):
    """Bytes of a process that it shares with no other, and its part of those that it shares."""
    with contextlib.suppress(OSError, IndexError):
        text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
        return 1024 * int(text.partition("\nPss:")[2].split()[0])
    return 0


def formats(folder, model, lines, is_small):
    """Sentences a second and memory of each format, without the start except of few lines."""
    one, text = folder / "one.txt", folder / "text.txt"
    one.write_text(f"{lines[0]}\n", encoding="utf-8")
    text.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    embed = ["-m", "keras_elmo", "embed", "-m", model, "-q"]
    embed_corpus = ["-m", "keras_elmo", "embed-corpus", "-m", model, "-q"]
    pooled = ["--pooled", "--layers", "elmo"]
    commands = {
        "HDF5, all layers": lambda source, out: [*embed, source, "-o", f"{out}.hdf5"],
        "Parquet, all layers": lambda source, out: [*embed_corpus, source, "-o", out],
        "Parquet, pooled": lambda source, out: [*embed_corpus, source, "-o", out, *pooled],
    }
    if importlib.util.find_spec("apache_beam"):
        runners = {
            "1 process": ["--runner", "FnApiRunner"],
            "2 processes": "--direct_running_mode multi_processing --direct_num_workers 2".split(),
        }
        for name, workers in runners.items():
            commands[f"Beam, pooled, {name}"] = lambda source, out, workers=workers: [
                *(_EXAMPLE, "--model", model, source, f"{out}/part", *workers)
            ]
    rows = []
    for index, (name, command) in enumerate(commands.items()):
        start = Measured(command(one, folder / f"one-{index}"))
        out = folder / f"all-{index}"
        whole = Measured(command(text, out))
        seconds = whole.seconds - (0 if is_small else start.seconds)
        if seconds < _MIN_SHARE * whole.seconds:
            raise RuntimeError(
                f"{name}: {whole.seconds:.0f} s, of which a start takes {start.seconds:.0f} s, say "
                "nothing of the speed; give more --sentences, or wait until the machine is idle"
            )
        size = sum(path.stat().st_size for path in folder.rglob("*") if f"all-{index}" in str(path))
        rows.append(
            {
                "format": name,
                "sentences": len(lines),
                "tokens": measure.count(lines),
                "sentences/s": len(lines) / seconds,
                "MB/s": size / 1e6 / seconds,
                "MB": size / 1e6,
                "start (s)": start.seconds,
                "all (s)": whole.seconds,
                "peak memory (MB)": whole.memory / 1e6,
            }
        )
    return rows


def lengths(folder, config, lines, values):
    """Tokens a second of `embed` by sentence length, with the default batches.

    They are measured in turn, since how fast a machine is can change within minutes.
    """
    keras_elmo.Elmo(config).save_pretrained(folder / "model")
    vocabulary = sorted({word for line in lines for word in line.split()})
    rows, seconds, peaks = [], [], []
    with contextlib.ExitStack() as stack:
        texts, workers = [], []
        for length in values:
            count = max(24, 6144 // length)
            words = random.Random(0).choices(vocabulary, k=count * length)
            texts.append([" ".join(words[k : k + length]) for k in range(0, len(words), length)])
            workers.append(stack.enter_context(measure.Worker("keras_elmo", str(folder / "model"))))
            workers[-1].ask("embed", texts[-1][:2], layers="top")
        for _ in range(3):
            peaks.append(workers[0].ask("peak")["value"])
            pairs = zip(workers, texts, strict=True)
            seconds.append([w.ask("embed", text, layers="top")["seconds"] for w, text in pairs])
        peak = statistics.median(peaks)
        for length, text, worker, *times in zip(values, texts, workers, *seconds, strict=True):
            median = statistics.median(times)
            rows.append(
                {
                    "tokens a sentence": length,
                    "sentences": len(text),
                    "tokens/s": len(text) * length / median,
                    "peak of a matrix product (GFLOP/s)": peak,
                    "share of the peak": measure.needed(text, config) / median / 1e9 / peak,
                    "peak memory (MB)": worker.memory / 1e6,
                }
            )
    for row in rows:
        row["time of a token, ratio to the first"] = rows[0]["tokens/s"] / row["tokens/s"]
    return rows


def python_share(lines, count):
    """The share of the time of `embed_stream` that is spent outside of TensorFlow's operations."""
    elmo = keras_elmo.Elmo.from_pretrained("tiny")
    short = list(short_sentences(lines, 4 * count))
    rows = []
    for name, sentences in {"as in the text": repeat(lines, count), "1 to 5 tokens": short}.items():
        for layers in ("default", "all"):
            list(elmo.embed_stream(sentences, layers))  # traces
            with cProfile.Profile() as profile:
                for _ in elmo.embed_stream(sentences, layers):
                    pass
            stats = pstats.Stats(profile)
            inside = sum(
                times[2]  # seconds in the function itself
                for (_, _, function), times in stats.stats.items()
                if "TFE_Py" in function or "_pywrap_tf" in function
            )
            rows.append(
                {
                    "sentences": name,
                    "layers": layers,
                    "number": len(sentences),
                    "seconds": stats.total_tt,
                    "share outside of TensorFlow": 1 - inside / stats.total_tt,
                }
            )
    return rows


def memory(folder, lines, sizes):
    """Peak memory by the number of short sentences: writing pooled vectors, and reading them."""
    keras_elmo.Elmo(SMALL).save_pretrained(folder / "model")
    rows = []
    for size in sizes:
        text, out = folder / f"{size}.txt", folder / f"out-{size}"
        with open(text, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in short_sentences(lines, size))
        command = ["-m", "keras_elmo", "embed-corpus", text, "-o", out, "-m", folder / "model"]
        written = Measured([*command, "-q", "--pooled"])
        read = Measured(["-m", "benchmarks.corpora", "--read", out])
        rows.append(
            {
                "lines": size,
                "rows in the manifest": read_manifest(out)["rows"],
                "shards": len(read_manifest(out)["shards"]),
                "seconds": written.seconds,
                "sentences/s": size / written.seconds,
                "peak memory, writing (MB)": written.memory / 1e6,
                "peak memory, dataset (MB)": read.memory / 1e6,
            }
        )
    return rows


def read(folder):
    count = sum(len(batch["id"]) for batch in VectorDataset(folder, shuffle=True, batch_size=256))
    if count != read_manifest(folder)["rows"]:
        raise RuntimeError(f"{folder} must have as many rows as its manifest. Received: {count}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        read(sys.argv[2])
    else:
        main()
