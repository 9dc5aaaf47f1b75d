"""What the load test is made of: the server's process, requests, and clients that send them."""

import json
import os
import pathlib
import queue
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

import grpc
import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "examples/serving"
CLIENTS = 8
MAX_TOKENS = 200
TOLERANCE = 1e-5
PATIENCE = 120  # seconds without any answer, after which a run is given up
SIGNATURES = [
    "serving_default", "default", "elmo", "word_emb", "lstm_outputs1", "lstm_outputs2", "tokens"
]  # fmt: skip

sys.path.insert(0, str(FOLDER))
import client as serving  # noqa: E402  # examples/serving/client.py

sys.path.remove(str(FOLDER))


class Server:
    """server.py as a process; it can be killed and started again on the same ports."""

    def __init__(self, model, environment=None):
        self.model, self.port, self.rest_port = model, 0, 0
        self.environment = {**os.environ, **(environment or {})}
        self.start()

    def start(self):
        try:
            self._start()
        except RuntimeError:  # a client's own connection may have got the port meanwhile
            time.sleep(2)
            self._start()

    def _start(self):
        command = [sys.executable, str(FOLDER / "server.py"), str(self.model)]
        command += ["--port", str(self.port), "--rest-port", str(self.rest_port)]
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env=self.environment,
        )
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.check()
        ready = json.loads(line)
        self.port, self.rest_port = ready["port"], ready["rest_port"]

    def check(self):
        """Raises a `RuntimeError` if it ended by itself."""
        if self.process.poll() is not None:
            self.errors.seek(0)
            last = self.errors.read().decode(errors="replace")[-2000:]
            raise RuntimeError(f"server.py ended with status {self.process.returncode}: {last}")

    def end(self, number):
        self.process.send_signal(number)
        with self.process:
            return self.process.wait(120)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end(signal.SIGTERM)

    def client(self, protocol):
        if protocol == "gRPC":
            return serving.GrpcClient(f"127.0.0.1:{self.port}", timeout=PATIENCE, retries=200)
        address = f"http://127.0.0.1:{self.rest_port}"
        return serving.RestClient(address, timeout=PATIENCE, retries=200)

    def memory(self, field="VmRSS"):
        """Bytes of resident memory; `VmHWM` for their peak. `None` where there is no /proc."""
        try:
            status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return None
        return 1024 * int(status.partition(f"{field}:")[2].split()[0])


class Pool:
    """Sentences, and what the model in Python gives for them."""

    def __init__(self, elmo, size):
        chance = random.Random(0)
        letters = "etaoinshrdlucmfwypvbgkqjxz" + "\u00e9\u00fc\u00f1\u6f22\u5b57"
        vocabulary = [
            "".join(chance.choices(letters, k=chance.randint(1, 12))) for _ in range(5000)
        ]
        weights = [1 / rank for rank in range(1, 5001)]  # as words are in texts
        lengths = [1, MAX_TOKENS, 0, *(chance.randint(1, MAX_TOKENS) for _ in range(size - 3))]
        self.tokens = [chance.choices(vocabulary, weights, k=length) for length in lengths]
        self.texts = [" ".join(tokens) for tokens in self.tokens]
        self.expected = []
        for start in range(0, size, 8):
            outputs = elmo(self.texts[start : start + 8])
            self.expected += serving.cut({name: value.numpy() for name, value in outputs.items()})

    def error(self, rows, received):
        """The largest error of an answer; infinite where it has not even the right form."""
        worst = 0.0
        if len(rows) != len(received):
            return float("inf")
        for row, outputs in zip(rows, received, strict=True):
            for name, value in outputs.items():
                right = self.expected[row][name]
                if value.size == right.size == 0:  # in JSON nothing has no second axis
                    continue
                if value.shape != right.shape:
                    return float("inf")
                if value.dtype.kind != "f":
                    if not np.array_equal(value, right):
                        return float("inf")
                else:
                    error = float(np.abs(value - right).max())
                    worst = max(worst, error if error == error else float("inf"))
        return worst


def _text(*values):
    return {"text": np.array(values, object)}


def _raw_grpc(client):
    call = client.channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
    try:
        call(b"\xff" * 64, timeout=60)
    except grpc.RpcError as error:
        raise serving.ServingError(error.code().name, error.details()) from None


def _raw_rest(client):
    url = f"{client.address}/v1/models/elmo:predict"
    try:
        urllib.request.urlopen(url, b"{not JSON", timeout=60)
    except urllib.error.HTTPError as error:
        raise serving.ServingError(f"HTTP {error.code}", error.reason) from None


MALFORMED = {
    "wrong input name": lambda client: client.predict({"words": _text(b"a")["text"]}, "elmo"),
    "wrong dtype": lambda client: client.predict({"text": np.array([1, 2])}, "elmo"),
    "wrong rank": lambda client: client.predict({"text": np.array([[b"a"]], object)}, "elmo"),
    "too many tokens": lambda client: client.predict(_text(b"a " * (MAX_TOKENS + 1)), "elmo"),
    "unknown signature": lambda client: client.predict(_text(b"a"), "nothing"),
    "bytes that are not a request": lambda client: (
        _raw_grpc(client) if isinstance(client, serving.GrpcClient) else _raw_rest(client)
    ),
}


def make_requests(pool, number, seed):
    """`(signature, rows of the pool)`, or in one of twenty `(name of what is malformed, None)`."""
    chance, kinds = random.Random(seed), list(MALFORMED)
    requests = []
    for index in range(number):
        if index % 20 == 10:
            requests.append((kinds[index // 20 % len(kinds)], None))
        else:
            rows = chance.choices(range(len(pool.texts)), k=chance.randint(1, 8))
            requests.append((chance.choice(SIGNATURES), rows))
    return requests


class Run:
    """Clients that work through requests; what came of them."""

    def __init__(self, server, pool, protocol, requests, clients=CLIENTS):
        self.server, self.pool, self.protocol = server, pool, protocol
        self.todo = queue.SimpleQueue()
        for request in requests:
            self.todo.put(request)
        self.number = len(requests)
        self.answers = []  # (seconds, sentences, tokens, bytes, error, when)
        self.refused = []  # (what was malformed, code of the error; None if there was none)
        self.failures, self.retries, self.retried = [], 0, 0
        self.lock = threading.Lock()
        # Daemons, so that a run that was given up does not keep the process.
        self.threads = [threading.Thread(target=self._work, daemon=True) for _ in range(clients)]
        self.started = time.perf_counter()
        for thread in self.threads:
            thread.start()

    def done(self):
        return len(self.answers) + len(self.refused) + len(self.failures)

    def wait_for(self, number):
        """Waits until so many requests are done; gives up where no more come."""
        done, since = -1, time.monotonic()
        while done < number:
            if self.server:
                self.server.check()
            if self.done() > done:
                done, since = self.done(), time.monotonic()
            elif time.monotonic() > since + 2 * PATIENCE:
                raise RuntimeError(
                    f"{self.protocol}: no answer for {2 * PATIENCE} s; {done} of {self.number} "
                    f"requests are done, failures: {self.failures}"
                )
            time.sleep(0.005)

    def wait(self):
        self.wait_for(self.number)
        for thread in self.threads:
            thread.join()
        self.seconds = time.perf_counter() - self.started
        return self

    def _work(self):
        with self.server.client(self.protocol) as client:
            while True:
                try:
                    request = self.todo.get_nowait()
                except queue.Empty:
                    break
                before = client.num_retries
                try:
                    self._ask(client, *request)
                except Exception as error:  # counted and reported: no answer at all
                    self.failures.append(repr(error))
                with self.lock:
                    self.retried += client.num_retries > before
            with self.lock:
                self.retries += client.num_retries

    def _ask(self, client, name, rows):
        if rows is None:
            try:
                MALFORMED[name](client)
            except serving.ServingError as error:
                self.refused.append((name, error.code))
            else:
                self.refused.append((name, None))
            return
        source = self.pool.tokens if name == "tokens" else self.pool.texts
        start = time.perf_counter()
        received = client.embed([source[row] for row in rows], name)
        self.count(start, time.perf_counter(), rows, received)

    def count(self, start, end, rows, received):
        """Compares an answer, and keeps how long it took."""
        tokens = sum(len(self.pool.tokens[row]) for row in rows)
        size = sum(value.nbytes for row in received for value in row.values())
        error = self.pool.error(rows, received)
        self.answers.append((end - start, len(rows), tokens, size, error, end))

    def row(self, what):
        seconds, sentences, tokens, size, errors, _ = zip(*self.answers, strict=True)
        return {
            "": what,
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

    def wrong(self):
        return sum(answer[4] > TOLERANCE for answer in self.answers)

    def unrefused(self):
        """Malformed requests that were answered, or by a server that failed."""
        bad = (None, "UNAVAILABLE", "DEADLINE_EXCEEDED")
        return sum(code in bad for _, code in self.refused)
