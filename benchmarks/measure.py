"""What is measured: each function asks the workers and returns rows for the report."""

import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

DTYPES = (
    {"dtype": "float32"},
    {"matmul_dtype": "bfloat16"},
    {"dtype": "bfloat16"},
    {"dtype": "mixed_bfloat16"},
    {"dtype": "mixed_float16"},
)
REPEATS = 5
ONE = "The cat sat on the mat and looked at the old dog ."  # 12 tokens


class Worker:
    """A system in its process. `ready` holds its start: seconds and bytes.

    Args:
        system: string, see `benchmarks.worker.SYSTEMS`.
        model: path of a folder, or of a TFLite file.
        python: path of the Python that runs it.
    """

    def __init__(self, system, model, python=sys.executable):
        self.system = system
        command = [python, "-m", "benchmarks.worker", system, model]
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self.ready = self._answer()

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.system} ended with status {self.process.wait()}")
        answer = json.loads(line)
        self.memory = answer["memory"]  # peak so far
        return answer

    def ask(self, do, *args, **kwargs):
        """Runs a method of the system: seconds, value and peak memory."""
        task = {"do": do, "args": args, "kwargs": kwargs}
        print(json.dumps(task), file=self.process.stdin, flush=True)
        return self._answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def median(worker, do, *args, repeats=REPEATS, **kwargs):
    """Median seconds, after one call that is not counted."""
    worker.ask(do, *args, **kwargs)
    return _median_of(repeats, worker, do, *args, **kwargs)


def _median_of(repeats, worker, do, *args, **kwargs):
    return statistics.median(worker.ask(do, *args, **kwargs)["seconds"] for _ in range(repeats))


def count(sentences):
    return sum(len(sentence.split()) for sentence in sentences)


def least_cosine(one, other):
    """The least cosine of two vectors of a token: a float. Both are floats, (tokens, D)."""
    a, b = one.astype("float64"), other.astype("float64")
    norms = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    return float(np.min(np.sum(a * b, axis=-1) / norms))


def needed(sentences, config):
    """Operations that the sentences need: real tokens, and each distinct word once.

    A word counts in full, with all its characters, as in the published yardstick.
    """
    parameters = config.num_parameters()
    windows = sum(
        2 * width * config.character_dim * filters * (config.max_characters - width + 1)
        for width, filters in config.filters
    )
    word = windows + 2 * (parameters["highway"] + parameters["projection"])
    words = {word for sentence in sentences for word in sentence.split()}
    return 2 * parameters["lstm"] * count(sentences) + word * len(words)


def start(systems):
    """Start, load and memory: medians over fresh processes, the systems in turn.

    Args:
        systems: list of tuples, the arguments of `Worker`.
    """
    runs = {system: [] for system, *_ in systems}
    for _ in range(REPEATS):
        for system in systems:
            begin = time.perf_counter()
            with Worker(*system) as worker:
                worker.ask("embed", [ONE])
                seconds = time.perf_counter() - begin
                runs[system[0]].append({**worker.ready, "first": seconds})
    return [
        {
            "system": system,
            "version": ready[0]["version"],
            "start to the first vectors (s)": statistics.median(r["first"] for r in ready),
            "of it, load (s)": statistics.median(r["load"] for r in ready),
            "peak memory (MB)": statistics.median(r["memory"] for r in ready) / 1e6,
        }
        for system, ready in runs.items()
    ]


def compare(workers, peak, sentences, config):
    """The systems in turn: all sentences, batches of 32 in file order, one of 12 tokens.

    The ratios are to the first system.
    """
    seconds = {worker.system: {"all": [], "32": [], "one": []} for worker in workers}
    for repeat in range(REPEATS + 1):
        for worker in workers:
            times = _tasks(worker, sentences)
            if repeat:  # the first is not counted
                for name, value in times.items():
                    seconds[worker.system][name].append(value)
    tokens, work = count(sentences), needed(sentences, config)
    memory = {worker.system: worker.memory for worker in workers}
    rows = []
    for system, times in seconds.items():
        medians = {name: statistics.median(values) for name, values in times.items()}
        rows.append(
            {
                "system": system,
                "all sentences (tokens/s)": tokens / medians["all"],
                "share of the peak": work / medians["all"] / 1e9 / peak,
                "batches of 32, file order (tokens/s)": tokens / medians["32"],
                "one sentence (ms)": 1e3 * medians["one"],
                "peak memory (MB)": memory[system] / 1e6,
            }
        )
    for row in rows:
        for name in list(row)[1:]:
            if name != "share of the peak":
                ratio = row[name] / rows[0][name]
                row[f"{name.split(' (')[0]}, ratio"] = ratio
    return rows


def shapes(models, peak, sentences, configs):
    """Models of other shapes beside the first, in turn; see `compare`.

    Args:
        models: dict of the models' folders by what the rows call them.
        configs: dict of their configs.
    """
    with contextlib.ExitStack() as stack:
        workers = {
            name: stack.enter_context(Worker("keras_elmo", folder))
            for name, folder in models.items()
        }
        times = {name: [] for name in workers}
        for _ in range(REPEATS + 1):
            for name, worker in workers.items():
                times[name].append(_tasks(worker, sentences))
    rows, tokens = [], count(sentences)
    for name, (_, *counted) in times.items():  # the first is not counted
        medians = {task: statistics.median(t[task] for t in counted) for task in counted[0]}
        rows.append(
            {
                "model": name,
                "operations (GFLOP)": needed(sentences, configs[name]) / 1e9,
                "all sentences (tokens/s)": tokens / medians["all"],
                "batches of 32, file order (tokens/s)": tokens / medians["32"],
                "one sentence (ms)": 1e3 * medians["one"],
            }
        )
    first = times[next(iter(times))][1:]
    for row in rows:
        for task in ("all", "32", "one"):
            # The machine's speed changes from minute to minute: each time is compared with the one
            # of the first model that was measured just before it.
            pairs = zip(first, times[row["model"]][1:], strict=True)
            row[f"{task}: seconds, ratio"] = statistics.median(b[task] / a[task] for a, b in pairs)
    return rows


def _tasks(worker, sentences):
    """Seconds of the three tasks of a comparison."""
    groups = [sentences[start : start + 32] for start in range(0, len(sentences), 32)]
    return {
        "all": worker.ask("embed", sentences)["seconds"],
        "32": sum(worker.ask("call", group)["seconds"] for group in groups),
        "one": _median_of(5, worker, "call", [ONE]),
    }


def precisions(model, sentences, dtypes=DTYPES):
    """Speed and accuracy by dtype of weights and arithmetic: cosine and error to float32."""
    rows = []
    for arguments in dtypes:
        with Worker("keras_elmo", model) as worker:
            value = worker.ask("cast", arguments, sentences[:128])["value"]
            times = [_tasks(worker, sentences[:128]) for _ in range(4)][1:]
        medians = {name: statistics.median(t[name] for t in times) for name in times[0]}
        tokens = count(sentences[:128])
        rows.append(
            {
                "argument": ", ".join(f"{name}={dtype}" for name, dtype in arguments.items()),
                "128 sentences (tokens/s)": tokens / medians["all"],
                "batches of 32, file order (tokens/s)": tokens / medians["32"],
                "one sentence (ms)": 1e3 * medians["one"],
                **{f"least cosine, layer {k}": x for k, x in enumerate(value["cosine"])},
                "largest error / standard deviation": value["error"],
            }
        )
    return rows


def exported(worker, peak, sentences):
    """The exported graph beside the model in Python."""
    cases = {"one of 12 tokens": [ONE], "8": sentences[:8], "32": sentences[:32]}
    seconds = worker.ask("exported", list(cases.values()), 3 * REPEATS)["value"]
    return [
        {
            "sentences": name,
            "model (ms)": 1e3 * model,
            "exported (ms)": 1e3 * served,
            "exported / model": served / model,
        }
        for name, (model, served) in zip(cases, seconds, strict=True)
    ]


def stream(model, sentences, values):
    """Peak memory of `keras-elmo embed` by the number of sentences."""
    rows = []
    for size in values:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "text")
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(f"{sentences[n % len(sentences)]}\n" for n in range(size))
            command = ["-m", "keras_elmo", "embed", path, "--model", model, "--layers", "top"]
            command += ["--quiet", "--no-sentence-index", "-o", os.path.join(folder, "out.hdf5")]
            start = time.perf_counter()
            process = subprocess.Popen([sys.executable, *command])
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - start
        if status:
            raise RuntimeError(f"keras-elmo embed ended with status {status}")
        memory = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        row = {"sentences": size, "peak memory (MB)": memory / 1e6, "seconds": seconds}
        rows.append(row)
    return rows


def budgets(worker, peak, sentences, config, values):
    """Throughput of `embed` by token budget, the peak memory growing from row to row."""
    rows = []
    for budget in values:
        seconds = median(worker, "embed", sentences, token_budget=budget, repeats=3)
        row = _throughput({"token budget": budget}, sentences, seconds, peak, config)
        rows.append({**row, "peak memory (MB)": worker.memory / 1e6})
    return rows


def batches(worker, peak, sentences, config, sizes):
    """Throughput of a call by batch size, sentences in file order."""
    rows = []
    for size in sizes:
        some = sentences[: max(size, min(len(sentences), 64))]
        groups = [some[start : start + size] for start in range(0, len(some), size)]
        for group in groups[:2]:
            worker.ask("call", group)
        seconds = sum(worker.ask("call", group)["seconds"] for group in groups)
        rows.append(_throughput({"batch": size}, some, seconds, peak, config))
    return rows


def lengths(worker, peak, vocabulary, config, values, budget, repeats=3):
    """Throughput of `embed` by sentence length, one batch of the same tokens in each row."""
    rows = []
    for length in values:
        count = max(1, budget // (length + 2))
        words = _words(vocabulary, count * length)
        starts = range(0, len(words), length)
        sentences = [" ".join(words[start : start + length]) for start in starts]
        worker.ask("embed", sentences[:2], token_budget=budget)
        seconds = _median_of(repeats, worker, "embed", sentences, token_budget=budget)
        row = {"token budget": budget, "tokens a sentence": length, "sentences": count}
        row = _throughput(row, sentences, seconds, peak, config)
        rows.append({**row, "peak memory (MB)": worker.memory / 1e6})
    return rows


def distinct(worker, peak, config, values, tokens=2048):
    """Throughput of `embed` by the share of words that occur once."""
    rows = []
    for share in values:
        kinds = max(1, round(share * tokens))
        words = [f"word{number % kinds}" for number in range(tokens)]
        sentences = [" ".join(words[start : start + 16]) for start in range(0, tokens, 16)]
        seconds = median(worker, "embed", sentences, repeats=3)
        rows.append(_throughput({"distinct words": share}, sentences, seconds, peak, config))
    return rows


def stages(worker, peak, sentences):
    """Seconds of each stage of one batch."""
    seconds = worker.ask("stages", sentences)["value"]
    return [{"stage": name, "ms": 1e3 * value} for name, value in seconds.items()]


def _words(vocabulary, tokens):
    return random.Random(0).choices(vocabulary, k=tokens)


def _throughput(row, sentences, seconds, peak, config):
    return {
        **row,
        "tokens/s": count(sentences) / seconds,
        "share of the peak": needed(sentences, config) / seconds / 1e9 / peak,
    }
