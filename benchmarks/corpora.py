"""`python -m benchmarks.corpora`: corpora to files of vectors: speed and memory of each format.

It measures the command line as users call it, in processes of their own. Beam is measured where it
is installed. The file is written after each table; `--tables` measures some of them anew.
"""

import contextlib
import cProfile
import datetime
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
    lines = [line for line in options.text.read_text(encoding="utf-8").split("\n") if line]
    tables = plan(options, lines)
    chosen = report.chosen_tables(options, tables)
    results = {"machine": report.machine(), "versions": versions(), "tables": {}}
    if options.tables:
        results["tables"] = report.earlier_tables(options.output, "corpora", results)
    for name in chosen:
        print(f"{name} ...", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            rows = tables[name](pathlib.Path(folder))
        load = os.getloadavg()[1]
        for row in rows:
            row.update({"date": datetime.date.today().isoformat(), "load": load})
        results["tables"][name] = rows
        text = report.write(options.output, "corpora", results, head(results))
    print(text)


def versions():
    """The versions of what is measured: a list of strings."""
    names = ("tensorflow", "keras", "pyarrow", "apache-beam")
    return [
        f"{name} {importlib.metadata.version(name)}"
        for name in names
        if importlib.util.find_spec(name.replace("-", "_"))
    ]


def head(results):
    place = report.where(results["machine"], *results["versions"])
    return (
        f"Measured {place}. The load is the machine's average over the five minutes before the end "
        "of a table: beyond the number of cores, other programs ran."
    )


def plan(options, lines):
    """Every table by its name: a function of an empty folder to a list of rows."""
    small = options.small
    original = SMALL if small else keras_elmo.ElmoConfig()
    count = 40 if small else options.sentences
    sizes = [200, 400] if small else [size for size in (100_000, options.most_lines) if size]

    def of_original(folder):
        keras_elmo.Elmo(original).save_pretrained(folder / "model")
        count = 8 if small else 1024
        return formats(folder, str(folder / "model"), repeat(lines, count), small)

    return {
        "formats, tiny": lambda folder: formats(folder, "tiny", repeat(lines, count), small),
        "formats, the original's shape": of_original,
        "time of a token by sentence length": lambda folder: lengths(
            folder, original, lines, LENGTHS[:2] if small else LENGTHS
        ),
        "share of Python, tiny": lambda folder: python_share(lines, 40 if small else 1024),
        "memory, a small model": lambda folder: memory(folder, lines, sizes),
    }


def repeat(lines, count):
    return [lines[index % len(lines)] for index in range(count)]


class Measured:
    """A command that was run: its seconds, and the most memory of all its processes together."""

    def __init__(self, command):
        self.memory = 0
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(report.ROOT)}
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *map(str, command)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
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
    """A process and all that it started."""
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
    """Sentences a second and memory of each format; the start of each command is taken off.

    Of few lines it is not (`is_small`): the difference would be noise.
    """
    one, text = folder / "one.txt", folder / "text.txt"
    one.write_text(f"{lines[0]}\n", encoding="utf-8")
    text.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    embed = ["-m", "keras_elmo", "embed", "-m", model, "-q"]
    embed_corpus = ["-m", "keras_elmo", "embed-corpus", "-m", model, "-q"]
    pooled = ["--pooled", "--layers", "elmo"]
    beam = [_EXAMPLE, "--model", model]
    workers = ["--direct_running_mode", "multi_processing", "--direct_num_workers"]
    commands = {
        "HDF5, all layers": lambda source, out: [*embed, source, "-o", f"{out}.hdf5"],
        "Parquet, all layers": lambda source, out: [*embed_corpus, source, "-o", out],
        "Parquet, pooled": lambda source, out: [*embed_corpus, source, "-o", out, *pooled],
    }
    if importlib.util.find_spec("apache_beam"):
        one_process = ["--runner", "FnApiRunner"]
        commands["Beam, pooled, 1 process"] = lambda source, out: [
            *[*beam, source, f"{out}/part"],
            *one_process,
        ]
        commands["Beam, pooled, 2 processes"] = lambda source, out: [
            *[*beam, source, f"{out}/part"],
            *[*workers, "2"],
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

    The lengths are measured in turn, each in a process of its own, and the medians are taken: how
    fast a machine is can change within minutes.
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
            seconds.append(
                [
                    worker.ask("embed", text, layers="top")["seconds"]
                    for worker, text in zip(workers, texts, strict=True)
                ]
            )
        for length, text, worker, *times in zip(values, texts, workers, *seconds, strict=True):
            rows.append(
                {
                    "tokens a sentence": length,
                    "sentences": len(text),
                    "tokens/s": len(text) * length / statistics.median(times),
                    "peak of a matrix product (GFLOP/s)": statistics.median(peaks),
                    "share of the peak": measure.needed(text, config)
                    / statistics.median(times)
                    / 1e9
                    / statistics.median(peaks),
                    "peak memory (MB)": worker.memory / 1e6,
                }
            )
    for row in rows:
        row["time of a token, ratio to the first"] = rows[0]["tokens/s"] / row["tokens/s"]
    return rows


def python_share(lines, count):
    """The share of the time of `embed_stream` that is spent outside of TensorFlow's operations."""
    elmo = keras_elmo.Elmo.from_pretrained("tiny")
    words = [word for line in lines for word in line.split()]
    chance = random.Random(0)
    short = [" ".join(chance.choices(words, k=chance.randint(1, 5))) for _ in range(4 * count)]
    rows = []
    for name, sentences in {"as in the text": repeat(lines, count), "1 to 5 tokens": short}.items():
        for layers in ("default", "all"):
            list(elmo.embed_stream(sentences, layers))  # traces
            profile = cProfile.Profile()
            profile.enable()
            for _ in elmo.embed_stream(sentences, layers):
                pass
            profile.disable()
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
    words = [word for line in lines for word in line.split()]
    rows = []
    for size in sizes:
        text, out = folder / f"{size}.txt", folder / f"out-{size}"
        chance = random.Random(0)
        with open(text, "w", encoding="utf-8") as file:
            for _ in range(size):
                file.write(" ".join(chance.choices(words, k=chance.randint(1, 5))) + "\n")
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
    """Reads a folder to its end, for `memory`."""
    count = sum(len(batch["id"]) for batch in VectorDataset(folder, shuffle=True, batch_size=256))
    if count != read_manifest(folder)["rows"]:
        raise RuntimeError(f"{folder} must have as many rows as its manifest. Received: {count}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        read(sys.argv[2])
    else:
        main()
