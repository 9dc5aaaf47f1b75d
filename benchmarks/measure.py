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
    """One of `benchmarks.worker.SYSTEMS` in its process. `ready` holds its start: seconds, bytes.

    The model is the path of a folder, or of a TFLite file.
    """

    def __init__(self, system, model, python=sys.executable):
        self.system = system
        command = [python, "-m", "benchmarks.worker", system, model]
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, text=True, env=environment, **pipes)
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

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


def seconds_of(task, repeats):
    """The seconds of each of some calls of a function without arguments."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        seconds.append(time.perf_counter() - start)
    return seconds


def median(worker, do, *args, repeats=REPEATS, **kwargs):
    """Median seconds, after one call that is not counted."""
    worker.ask(do, *args, **kwargs)
    return _median_of(repeats, worker, do, *args, **kwargs)


def _median_of(repeats, worker, do, *args, **kwargs):
    return statistics.median(worker.ask(do, *args, **kwargs)["seconds"] for _ in range(repeats))


def count(sentences):
    return sum(len(sentence.split()) for sentence in sentences)


def least_cosine(one, other):
    """The least cosine of two vectors of a token. Both are floats, (tokens, D)."""
    a, b = one.astype("float64"), other.astype("float64")
    norms = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    return float(np.min(np.sum(a * b, axis=-1) / norms))


def needed(sentences, config):
    """Operations that the sentences need: real tokens, and each distinct word once and in full."""
    parameters = config.num_parameters()
    windows = sum(
        2 * width * config.character_dim * filters * (config.max_characters - width + 1)
        for width, filters in config.filters
    )
    word = windows + 2 * (parameters["highway"] + parameters["projection"])
    words = {word for sentence in sentences for word in sentence.split()}
    return 2 * parameters["lstm"] * count(sentences) + word * len(words)


def start(systems):
    """Start, load and memory of systems, the arguments of `Worker`: medians of fresh processes."""
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
    """The systems in turn: all sentences, batches of 32 in file order, one of 12 tokens."""
    workers = {worker.system: worker for worker in workers}
    times = _in_turn(workers, sentences)
    tokens, work = count(sentences), needed(sentences, config)
    rows = []
    for system, worker in workers.items():
        medians = _medians(times[system])
        rows.append(
            {
                "system": system,
                "all sentences (tokens/s)": tokens / medians["all"],
                "share of the peak": work / medians["all"] / 1e9 / peak,
                "batches of 32, file order (tokens/s)": tokens / medians["32"],
                "one sentence (ms)": 1e3 * medians["one"],
                "peak memory (MB)": worker.memory / 1e6,
            }
        )
    for row in rows:
        for name in list(row)[1:]:
            if name != "share of the peak":
                row[f"{name.split(' (')[0]}, ratio"] = row[name] / rows[0][name]
    return rows


def shapes(models, peak, sentences, configs):
    """Folders of models of other shapes beside the first, in turn; see `compare`."""
    with contextlib.ExitStack() as stack:
        workers = {
            name: stack.enter_context(Worker("keras_elmo", folder))
            for name, folder in models.items()
        }
        times = _in_turn(workers, sentences)
    rows, tokens = [], count(sentences)
    for name, counted in times.items():
        medians = _medians(counted)
        rows.append(
            {
                "model": name,
                "operations (GFLOP)": needed(sentences, configs[name]) / 1e9,
                "all sentences (tokens/s)": tokens / medians["all"],
                "batches of 32, file order (tokens/s)": tokens / medians["32"],
                "one sentence (ms)": 1e3 * medians["one"],
            }
        )
    first = times[next(iter(times))]
    for row in rows:
        for task in ("all", "32", "one"):
            # The machine's speed changes from minute to minute: each time is compared with the one
            # of the first model that was measured just before it.
            pairs = zip(first, times[row["model"]], strict=True)
            row[f"{task}: seconds, ratio"] = statistics.median(b[task] / a[task] for a, b in pairs)
    return rows


def _in_turn(workers, sentences):
    """For each worker a list of what `_tasks` gives, measured in turn."""
    times = {name: [] for name in workers}
    for _ in range(REPEATS + 1):
        for name, worker in workers.items():
            times[name].append(_tasks(worker, sentences))
    return {name: counted for name, (_, *counted) in times.items()}  # the first is not counted


def _medians(times):
    return {task: statistics.median(each[task] for each in times) for task in times[0]}


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
            medians = _medians([_tasks(worker, sentences[:128]) for _ in range(4)][1:])
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
        rows.append({"sentences": size, "peak memory (MB)": memory / 1e6, "seconds": seconds})
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
        words = random.Random(0).choices(vocabulary, k=count * length)
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
    seconds = worker.ask("stages", sentences)["value"]
    return [{"stage": name, "ms": 1e3 * value} for name, value in seconds.items()]


def _throughput(row, sentences, seconds, peak, config):
    return {
        **row,
        "tokens/s": count(sentences) / seconds,
        "share of the peak": needed(sentences, config) / seconds / 1e9 / peak,
    }
