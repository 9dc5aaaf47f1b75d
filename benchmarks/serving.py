"""`python -m benchmarks.serving`: a load test of an exported model, over the network on loopback.

A random model of the published small shape is exported and served by examples/serving/server.py, a
process of its own (not TensorFlow Serving). Eight clients, threads of this process, ask for
sentences of 1 to 200 tokens, 1 to 8 a request, by all signatures; every answer is compared with the
model's numbers in Python. One request in twenty is malformed, and must be answered with an error.
Then the server is killed (SIGKILL) in the middle of a run and started again.

It ends with status 1 unless every answer was right.
"""

import collections
import contextlib
import datetime
import os
import signal
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import grpc
import keras
import numpy as np
import tensorflow as tf

import keras_elmo
from benchmarks import report
from benchmarks.load import (
    CLIENTS,
    MAX_TOKENS,
    SIGNATURES,
    TOLERANCE,
    Pool,
    Run,
    Server,
    make_requests,
    serving,
)
from benchmarks.measure import ONE

TINY = keras_elmo.ElmoConfig(
    units=32, projection_dim=8, character_dim=4, filters=[(1, 8), (2, 8), (3, 16)], num_highway=1
)
SMALL = keras_elmo.ElmoConfig(units=1024, projection_dim=128, num_highway=1)


class Memory:
    """The server's memory at moments."""

    def __init__(self, server):
        self.server, self.rows = server, []

    def note(self, moment, field="VmRSS"):
        value = self.server.memory(field)
        self.rows.append({"moment": moment, "MB": "?" if value is None else value / 1e6})


def warm_up(server, pool):
    """Every signature, with small and the largest requests."""
    longest = [1] * 8
    for signature in SIGNATURES:
        Run(server, pool, "gRPC", [(signature, [0])]).wait()
        Run(server, pool, "gRPC", [(signature, longest)] * CLIENTS).wait()
    Run(server, pool, "REST", [("default", longest)] * CLIENTS).wait()


def in_quarters(server, pool, protocol, requests, memory, note):
    """A run, and the memory after each quarter of it."""
    run = Run(server, pool, protocol, requests)
    for quarter in (1, 2, 3, 4):
        run.wait_for(quarter * run.number // 4)
        memory.note(f"{note}, {25 * quarter} % of the requests")
    return run.wait()


def without_network(elmo, pool, requests):
    """The same requests in Python, one after another: the row of a `Run`."""
    run = Run(None, pool, "none", [], clients=0)
    for _, rows in requests:
        if rows is not None:
            texts = [pool.texts[row] for row in rows]
            start = time.perf_counter()
            received = {name: value.numpy() for name, value in elmo(texts).items()}
            run.count(start, time.perf_counter(), rows, serving.cut(received))
    return run.wait().row("in Python, without a network, one after another")


def alone(server, elmo, repeats):
    """One sentence of 12 tokens, one client: the model in Python, and over the network."""
    asking = {
        "in Python, without a network": contextlib.nullcontext(elmo),
        "gRPC, 1 client": server.client("gRPC"),
        "REST, 1 client": server.client("REST"),
    }
    rows = []
    for name, context in asking.items():
        with context as asked:
            seconds = []
            for turn in range(repeats + 3):
                start = time.perf_counter()
                if asked is elmo:
                    elmo([ONE])["elmo"].numpy()
                else:
                    asked.embed([ONE], "elmo")
                if turn >= 3:  # the first are not counted
                    seconds.append(time.perf_counter() - start)
        p50, p99 = (1e3 * float(np.percentile(seconds, q)) for q in (50, 99))
        rows.append({"": name, "requests": repeats, "p50 (ms)": p50, "p99 (ms)": p99})
    return rows


def restart(server, pool, requests):
    """Kills the server when a third of the requests are answered, and starts it again."""
    run = Run(server, pool, "gRPC", requests)
    run.wait_for(run.number // 3)
    server.end(signal.SIGKILL)
    killed = time.perf_counter()
    before = sum(answer[5] < killed and answer[4] <= TOLERANCE for answer in run.answers)
    server.start()
    ready = time.perf_counter()
    run.wait()
    first = min((answer[5] for answer in run.answers if answer[5] > killed), default=float("nan"))
    return run, [
        {"": "requests, malformed ones among them", "value": run.number},
        {"": "right answers before the kill", "value": before},
        {"": "right answers after it", "value": len(run.answers) - before - run.wrong()},
        {"": "malformed requests refused", "value": len(run.refused) - run.unrefused()},
        {"": "wrong answers", "value": run.wrong()},
        {"": "requests without an answer", "value": len(run.failures)},
        {"": "requests that were sent more than once", "value": run.retried},
        {"": "seconds from the kill to a server that is ready", "value": ready - killed},
        {"": "seconds from the kill to the next answer", "value": first - killed},
    ]


def run_all(model, number, is_small):
    """All tables, and a list of what went wrong."""
    elmo = keras_elmo.Elmo.from_pretrained(model)
    runs, tables = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        _say("export")
        keras_elmo.export_saved_model(elmo, os.path.join(folder, "elmo/1"), max_tokens=MAX_TOKENS)
        pool = Pool(elmo, 24 if is_small else 200)
        plain, fewer = make_requests(pool, number, 1), make_requests(pool, max(20, number // 4), 2)
        with Server(os.path.join(folder, "elmo")) as server:
            memory = _warm(server, pool)
            _say("load")
            runs["gRPC"] = in_quarters(server, pool, "gRPC", plain, memory, "gRPC")
            runs["REST"] = in_quarters(server, pool, "REST", fewer, memory, "REST")
            memory.note("peak", "VmHWM")
            tables["load"] = [run.row(f"{name}, {CLIENTS} clients") for name, run in runs.items()]
            tables["load"].append(without_network(elmo, pool, fewer))
            tables["malformed requests"] = refusals(runs)
            tables["memory of the server"] = memory.rows
            rows = alone(server, elmo, 5 if is_small else 50)
            tables["one sentence of 12 tokens"] = rows
            _say("kill and restart")
            requests = make_requests(pool, max(20, number // 2), 3)
            runs["kill"], tables["kill -9 and restart"] = restart(server, pool, requests)
        if not is_small:
            _say("without oneDNN")
            with Server(server.model, {"TF_ENABLE_ONEDNN_OPTS": "0"}) as server:
                memory = _warm(server, pool)
                name = "gRPC without oneDNN"
                runs[name] = in_quarters(server, pool, "gRPC", plain, memory, "gRPC")
            tables[f"{name} (TF_ENABLE_ONEDNN_OPTS=0)"] = [runs[name].row(name)]
            tables[f"memory of the server, {name}"] = memory.rows
    faults = [
        f"{name}: {run.wrong()} wrong, {run.unrefused()} not refused, without an answer: "
        f"{run.failures}"
        for name, run in runs.items()
        if run.wrong() or run.unrefused() or run.failures
    ]
    return tables, faults


def refusals(runs):
    """How malformed requests were answered."""
    counts = collections.Counter(
        (protocol, *refusal) for protocol, run in runs.items() for refusal in run.refused
    )
    return [
        {"protocol": protocol, "malformed": name, "requests": count, "answer": str(code)}
        for (protocol, name, code), count in sorted(counts.items(), key=str)
    ]


def _warm(server, pool):
    memory = Memory(server)
    memory.note("ready, no request yet")
    _say("warm-up")
    warm_up(server, pool)
    memory.note("after the warm-up")
    return memory


def _say(what):
    print(f"{what} ...", file=sys.stderr, flush=True)


def head(results):
    where = report.where(results["machine"], *results["versions"])
    return (
        f"Measured {results['date']} {where}. {results['model']}. Clients and server share the "
        "machine; the server is examples/serving/server.py, not TensorFlow Serving, which was not "
        f"run. {results['requests']:,} requests by gRPC (a quarter of it by REST, half of it in "
        f"the run with the kill), of 1 to 8 sentences of 1 to {MAX_TOKENS} tokens, all signatures "
        "at random, one in twenty malformed. Seconds are the client's, from a list of strings to "
        f"NumPy arrays; an answer is wrong if a number is more than {TOLERANCE} from the model's "
        "in Python."
    )


def main():
    parser = report.parser("benchmarks.serving", __doc__, "serving", "a tiny model")
    parser.add_argument("--requests", type=int, default=400, help="(default: %(default)s)")
    options = parser.parse_args()
    number = max(40, options.requests)
    config = TINY if options.small else SMALL
    with tempfile.TemporaryDirectory() as folder:
        # As large as random weights may be: with a scale of 2 the LSTMs are chaotic, and a float32
        # rounding error grows with each of 200 tokens.
        keras.utils.set_random_seed(0)
        initializer = keras.initializers.VarianceScaling(1.0)
        keras_elmo.Elmo(config, kernel_initializer=initializer).save_pretrained(folder)
        tables, faults = run_all(folder, number, options.small)
    results = {
        "date": datetime.date.today().isoformat(),
        "machine": report.machine(),
        "versions": [f"TensorFlow {tf.__version__}", f"grpcio {grpc.__version__}"],
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
