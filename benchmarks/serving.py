"""`python -m benchmarks.serving`: a load test of an exported model, by gRPC on loopback.

A random model of the published small shape is exported and served by examples/serving/server.py, a
process of its own (not TensorFlow Serving). Eight clients, threads of this process, ask for
sentences of 1 to 200 tokens, 1 to 8 a request, by all signatures. Every answer is compared with the
model's numbers in Python.

It ends with status 1 unless every answer was right.
"""

import contextlib
import json
import os
import pathlib
import queue
import random
import subprocess
import sys
import tempfile
import threading
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import grpc
import keras
import numpy as np
import tensorflow as tf

import keras_elmo
from benchmarks import report
from benchmarks.__main__ import SMALL as TINY
from benchmarks.measure import ONE, seconds_of

FOLDER = report.ROOT / "examples/serving"
sys.path.insert(0, str(FOLDER))
import client as serving  # noqa: E402  # examples/serving/client.py

sys.path.remove(str(FOLDER))

SMALL = keras_elmo.ElmoConfig(units=1024, projection_dim=128, num_highway=1)
CLIENTS = 8
MAX_TOKENS = 200
TOLERANCE = 1e-5
TIMEOUT = 120  # seconds that one answer may take
SIGNATURES = [
    "serving_default", "default", "elmo", "word_emb", "lstm_outputs1", "lstm_outputs2", "tokens"
]  # fmt: skip


class Server:
    """server.py as a process."""

    def __init__(self, model, **environment):
        command = [sys.executable, str(FOLDER / "server.py"), str(model), "--port", "0"]
        environment = {**os.environ, **environment}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)

    def __enter__(self):
        line = self.process.stdout.readline()
        if not line:  # its own error stands above this one
            raise RuntimeError(f"server.py ended with status {self.process.wait()}")
        self.port = json.loads(line)["port"]
        return self

    def __exit__(self, *_):
        self.process.terminate()
        with self.process:
            self.process.wait(TIMEOUT)

    def client(self):
        return serving.GrpcClient(f"127.0.0.1:{self.port}", timeout=TIMEOUT)

    def memory(self, moment):
        """A row of the resident memory in MB; "?" where there is no /proc."""
        with contextlib.suppress(OSError):
            status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
            kilobytes = int(status.partition("VmRSS:")[2].split()[0])
            return {"moment": moment, "MB": 1024 * kilobytes / 1e6}
        return {"moment": moment, "MB": "?"}


class Pool:
    """Sentences, and what the model in Python gives for them."""

    def __init__(self, elmo, size):
        rng = random.Random(0)
        letters = "etaoinshrdlucmfwypvbgkqjxz" + "\u00e9\u00fc\u00f1\u6f22\u5b57"
        vocabulary = ["".join(rng.choices(letters, k=rng.randint(1, 12))) for _ in range(5000)]
        weights = [1 / rank for rank in range(1, 5001)]  # as words are in texts
        lengths = [1, MAX_TOKENS, 0, *(rng.randint(1, MAX_TOKENS) for _ in range(size - 3))]
        self.tokens = [rng.choices(vocabulary, weights, k=length) for length in lengths]
        self.texts = [" ".join(tokens) for tokens in self.tokens]
        self.expected = []
        for start in range(0, size, 8):
            outputs = elmo(self.texts[start : start + 8])
            self.expected += serving.cut({name: value.numpy() for name, value in outputs.items()})

    def requests(self, number, seed):
        """Random requests: pairs of a signature and rows of the pool."""
        rng = random.Random(seed)
        return [
            (rng.choice(SIGNATURES), rng.choices(range(len(self.texts)), k=rng.randint(1, 8)))
            for _ in range(number)
        ]

    def error(self, rows, received):
        """The largest error of an answer; infinite where it has not even the right form."""
        largest = 0.0
        if len(rows) != len(received):
            return float("inf")
        for row, outputs in zip(rows, received, strict=True):
            for name, value in outputs.items():
                right, is_float = self.expected[row][name], value.dtype.kind == "f"
                if value.shape != right.shape or not (is_float or np.array_equal(value, right)):
                    return float("inf")
                if is_float:
                    errors = np.nan_to_num(np.abs(value - right), nan=np.inf)
                    largest = max(largest, float(errors.max(initial=0.0)))
        return largest


class Run:
    """Clients that work through the requests of a pool, or the model in Python."""

    def __init__(self, pool, requests):
        self.pool, self.number = pool, len(requests)
        self.todo = queue.SimpleQueue()
        for request in requests:
            self.todo.put(request)
        self.answers = []  # (seconds, sentences, tokens, bytes, error)
        self.failures = []
        self.started = time.perf_counter()

    def start(self, server, clients=CLIENTS):
        self.threads = [
            # Daemons do not keep a process that gave up.
            threading.Thread(target=self._work, args=(server.client(),), daemon=True)
            for _ in range(clients)
        ]
        for thread in self.threads:
            thread.start()
        return self

    def wait_for(self, number):
        while len(self.answers) + len(self.failures) < number:
            time.sleep(0.005)

    def wait(self):
        for thread in self.threads:
            thread.join()
        self.seconds = time.perf_counter() - self.started
        return self

    def in_python(self, elmo):
        while not self.todo.empty():
            _, rows = self.todo.get()
            start = time.perf_counter()
            outputs = elmo([self.pool.texts[row] for row in rows])
            received = {name: value.numpy() for name, value in outputs.items()}
            self._count(time.perf_counter() - start, rows, serving.cut(received))
        self.seconds = time.perf_counter() - self.started
        return self

    def _work(self, client):
        with client, contextlib.suppress(queue.Empty):
            while True:
                signature, rows = self.todo.get_nowait()
                source = self.pool.tokens if signature == "tokens" else self.pool.texts
                start = time.perf_counter()
                try:
                    received = client.embed([source[row] for row in rows], signature)
                    self._count(time.perf_counter() - start, rows, received)
                except Exception as error:  # counted and reported: no answer at all
                    self.failures.append(repr(error))

    def _count(self, seconds, rows, received):
        tokens = sum(len(self.pool.tokens[row]) for row in rows)
        size = sum(value.nbytes for row in received for value in row.values())
        error = self.pool.error(rows, received)
        self.answers.append((seconds, len(rows), tokens, size, error))

    def wrong(self):
        return sum(error > TOLERANCE for *_, error in self.answers)

    def row(self, name):
        seconds, sentences, tokens, size, errors = zip(*self.answers, strict=True)
        return {
            "": name,
            "answers": len(self.answers),
            "wrong": self.wrong(),
            "largest error": max(errors),
            "requests/s": len(self.answers) / self.seconds,
            "sentences/s": sum(sentences) / self.seconds,
            "tokens/s": sum(tokens) / self.seconds,
            "p50 (ms)": 1e3 * float(np.percentile(seconds, 50)),
            "p99 (ms)": 1e3 * float(np.percentile(seconds, 99)),
            "MB a request": sum(size) / len(size) / 1e6,
        }


def load(server, pool, requests):
    """A run after a warm-up of every signature, and the rows of the memory."""
    memory = [server.memory("ready, no request yet")]
    longest = [1] * 8
    for signature in SIGNATURES:
        Run(pool, [(signature, [0])]).start(server, 1).wait()
        Run(pool, [(signature, longest)] * CLIENTS).start(server).wait()
    memory.append(server.memory("after the warm-up"))
    run = Run(pool, requests).start(server)
    for quarter in (1, 2, 3, 4):
        run.wait_for(quarter * run.number // 4)
        memory.append(server.memory(f"gRPC, {25 * quarter} % of the requests"))
    return run.wait(), memory


def alone(server, elmo, repeats):
    with server.client() as client:
        asking = {
            "in Python, without a network": lambda: elmo([ONE])["elmo"].numpy(),
            "gRPC, 1 client": lambda: client.embed([ONE], "elmo"),
        }
        rows = []
        for name, ask in asking.items():
            seconds = seconds_of(ask, repeats + 3)[3:]  # the first are not counted
            p50, p99 = (1e3 * float(np.percentile(seconds, q)) for q in (50, 99))
            rows.append({"": name, "requests": repeats, "p50 (ms)": p50, "p99 (ms)": p99})
    return rows


def run_all(elmo, number, is_small):
    """All tables, and a list of what went wrong."""
    runs, tables = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        keras_elmo.export_saved_model(elmo, os.path.join(folder, "1"), max_tokens=MAX_TOKENS)
        pool = Pool(elmo, 24 if is_small else 200)
        requests = pool.requests(number, 1)
        with Server(folder) as server:
            runs["gRPC"], tables["memory of the server"] = load(server, pool, requests)
            tables["one sentence of 12 tokens"] = alone(server, elmo, 5 if is_small else 50)
        plain = Run(pool, pool.requests(max(20, number // 4), 2)).in_python(elmo)
        rows = [
            runs["gRPC"].row(f"gRPC, {CLIENTS} clients"),
            plain.row("in Python, without a network, one after another"),
        ]
        tables = {"load": rows, **tables}
        if not is_small:
            name = "gRPC without oneDNN"
            with Server(folder, TF_ENABLE_ONEDNN_OPTS="0") as server:
                runs[name], memory = load(server, pool, requests)
            tables[f"{name} (TF_ENABLE_ONEDNN_OPTS=0)"] = [runs[name].row(name)]
            tables[f"memory of the server, {name}"] = memory
    faults = [
        f"{name}: {run.wrong()} wrong, without an answer: {run.failures}"
        for name, run in runs.items()
        if run.wrong() or run.failures
    ]
    return tables, faults


def head(results):
    return (
        f"Measured {results['date']} {report.where(results)}. {results['model']}. Clients and "
        "server share the machine; the server is examples/serving/server.py, not TensorFlow "
        f"Serving, which was not run. {results['requests']:,} requests by gRPC (a quarter of it in "
        f"Python), of 1 to 8 sentences of 1 to {MAX_TOKENS} tokens, all signatures at random. "
        "Seconds are the client's, from a list of strings to NumPy arrays; an answer is wrong if a "
        f"number is more than {TOLERANCE} from the model's in Python."
    )


def main():
    parser = report.parser("benchmarks.serving", __doc__, "serving", "a tiny model")
    parser.add_argument("--requests", type=int, default=400, help="(default: %(default)s)")
    options = parser.parse_args()
    number = max(40, options.requests)
    config = TINY if options.small else SMALL
    # As large as random weights may be: with a scale of 2 the LSTMs are chaotic, and a float32
    # rounding error grows with each of 200 tokens.
    keras.utils.set_random_seed(0)
    elmo = keras_elmo.Elmo(config, kernel_initializer=keras.initializers.VarianceScaling(1.0))
    tables, faults = run_all(elmo, number, options.small)
    results = {
        **report.context([f"TensorFlow {tf.__version__}", f"grpcio {grpc.__version__}"]),
        "model": f"A random model of {config.units} units and projection {config.projection_dim}",
        "requests": number,
        "tables": tables,
        "faults": faults,
    }
    print(report.write(options.output, "serving", results, head(results)))
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
