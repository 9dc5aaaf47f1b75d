"""What is measured: each function asks the workers and returns rows for the report."""

import json
import os
import random
import statistics
import subprocess
import sys
import time

REPEATS = 5


class Worker:
    """A system in its process. `ready` holds its start: seconds and bytes."""

    def __init__(self, system, model):
        self.system = system
        command = [sys.executable, "-m", "benchmarks.worker", system, model]
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        start = time.perf_counter()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self.ready = self._answer()
        self.ready["start to ready"] = time.perf_counter() - start

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.system} ended with status {self.process.wait()}")
        return json.loads(line)

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
    return statistics.median(worker.ask(do, *args, **kwargs)["seconds"] for _ in range(repeats))


def count(sentences):
    return sum(len(sentence.split()) for sentence in sentences)


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


def start(systems, model):
    """Start, load and memory: medians over fresh processes, the systems in turn."""
    runs = {system: [] for system in systems}
    for _ in range(REPEATS):
        for system in systems:
            with Worker(system, model) as worker:
                runs[system].append(worker.ready)
    return [
        {
            "system": system,
            "version": ready[0]["version"],
            "start to ready (s)": statistics.median(r["start to ready"] for r in ready),
            "of it, load (s)": statistics.median(r["load"] for r in ready),
            "peak memory (MB)": statistics.median(r["memory"] for r in ready) / 1e6,
        }
        for system, ready in runs.items()
    ]


def compare(workers, peak, sentences, config):
    """The systems in turn: all sentences, batches of 32 in file order, one of 12 tokens."""
    one = ["The cat sat on the mat and looked at the old dog ."]
    seconds = {worker.system: {"all": [], "32": [], "one": []} for worker in workers}
    for repeat in range(REPEATS + 1):
        for worker in workers:
            times = {
                "all": worker.ask("embed", sentences)["seconds"],
                "32": sum(
                    worker.ask("call", sentences[start : start + 32])["seconds"]
                    for start in range(0, len(sentences), 32)
                ),
                "one": statistics.median(worker.ask("call", one)["seconds"] for _ in range(5)),
            }
            if repeat:  # the first is not counted
                for name, value in times.items():
                    seconds[worker.system][name].append(value)
    tokens, work = count(sentences), needed(sentences, config)
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
            }
        )
    for row in rows:
        for name in list(row)[1:]:
            if name != "share of the peak":
                ratio = row[name] / rows[0][name]
                row[f"{name.split(' (')[0]}, ratio"] = ratio
    return rows


def budgets(worker, peak, sentences, config, values):
    """Throughput of `embed` by token budget."""
    rows = []
    for budget in values:
        seconds = median(worker, "embed", sentences, token_budget=budget, repeats=3)
        rows.append(_throughput({"token budget": budget}, sentences, seconds, peak, config))
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


def lengths(worker, peak, vocabulary, config, values, budget=4096):
    """Throughput of `embed` by sentence length, the same tokens and words in all."""
    rows = []
    words = _words(vocabulary, budget)
    for length in values:
        sentences = [
            " ".join(words[start : start + length]) for start in range(0, len(words), length)
        ]
        seconds = median(worker, "embed", sentences, token_budget=2 * budget, repeats=3)
        rows.append(_throughput({"tokens a sentence": length}, sentences, seconds, peak, config))
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


def cache(worker, sentences, config):
    """The cached vocabulary: all words of the text, against none."""
    words = sorted({word for sentence in sentences for word in sentence.split()})
    cases = {"all sentences": sentences, "first 32": sentences[:32], "one": sentences[:1]}
    before = {name: median(worker, "embed", some, repeats=3) for name, some in cases.items()}
    seconds = worker.ask("cache", words)["seconds"]
    after = {name: median(worker, "embed", some, repeats=3) for name, some in cases.items()}
    worker.ask("cache", [])
    return [
        {
            "text": name,
            "without (tokens/s)": count(some) / before[name],
            "cached (tokens/s)": count(some) / after[name],
            "gain": before[name] / after[name],
            "words": len(words),
            "to cache (s)": seconds,
            "memory (MB)": 4 * config.projection_dim * len(words) / 1e6,
        }
        for name, some in cases.items()
    ]


def stages(worker, sentences):
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
