"""`python -m benchmarks.training`: speed and learning of the training of a biLM.

The text, the vocabulary and the options are those with which the original trainer (bilm-tf,
TensorFlow 1.15) was measured on two cores; its figures are in the tables. Each run is a process of
its own. `--tables` measures some of the tables anew and leaves the others as they are.
"""

import functools
import itertools
import json
import math
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

import numpy as np

from benchmarks import report
from benchmarks.measure import seconds_of

FILTERS = [(1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024)]
ORIGINAL = {  # bilm-tf on two cores: mean of seeds 1, 2, 3 where there are three
    "tokens/s": 414,
    "training perplexity, batches 91-100": 431.4,
    "training perplexity, batches 191-200": 279.8,
    "held-out perplexity": 685.9,
}
STEPS = 200
FEW = 12  # of a small model
PRECISIONS = {
    "float32": {},
    "mixed_bfloat16": {"dtype": "mixed_bfloat16"},
    "matmul_dtype bfloat16": {"matmul_dtype": "bfloat16"},
}
# The packaged model `tiny`, as its card says that it was trained.
TINY = report.ROOT / "saved_models/tiny/options.json"
TINY_OPTIONS = {"batch_size": 128, "dropout": 0.0, "optimizer": "adam", "learning_rate": 0.003}
ONE_THREAD_EACH = {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "2"}


def make(task):
    """A compiled model, its text, the text held out, and arguments of `fit`."""
    import keras_elmo
    from keras_elmo import ElmoConfig, training

    options = {"num_negatives": 1024, **task.get("options", {})}
    if task["small"]:
        config = ElmoConfig(units=32, projection_dim=8, filters=FILTERS[:3])
        options = {"num_negatives": 64, "batch_size": 4, "unroll_steps": 5}
    elif task.get("is_tiny"):
        config = ElmoConfig.from_options(TINY)
    else:
        config = ElmoConfig(units=512, projection_dim=64, filters=FILTERS)
    folder = pathlib.Path(task["folder"])
    words = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")[:-1]
    words += [f"another-word-{k}" for k in range(task["words"] - len(words))]
    model = keras_elmo.BiLanguageModel(config, words, **PRECISIONS[task["dtype"]])
    model.initialize(task["seed"])
    optimizers = {"adagrad": training.LazyAdagrad, "adam": training.LazyAdam}
    optimizer = optimizers[options.pop("optimizer", "adagrad")]
    rate = options.pop("learning_rate", optimizer.LEARNING_RATE)
    compiled = {name: options.pop(name) for name in ("num_negatives", "dropout") if name in options}
    model.compile(optimizer(rate, global_clipnorm=10.0), **compiled)
    windows = {"batch_size": 32, "unroll_steps": 20, "seed": task["seed"], **options}
    texts = (training.Corpus(folder / name) for name in ("train.txt", "heldout.txt"))
    return model, *texts, windows


def learn(task):
    """Steps of training: their median seconds, perplexities, and the held-out one after them."""
    import keras

    model, corpus, heldout, windows = make(task)
    times, losses = [time.perf_counter()], []

    def note(batch, logs):
        times.append(time.perf_counter())
        losses.append((batch + 1) * logs["loss"])  # Keras has the mean of all steps

    callback = keras.callbacks.LambdaCallback(on_train_batch_end=note)
    steps = {"steps_per_epoch": task["steps"], "shuffle": False, "verbose": 0}
    model.fit(corpus, **windows, **steps, callbacks=[callback])
    seconds = [end - start for start, end in zip(times[:-1], times[1:], strict=True)]
    found = [math.exp(after - before) for before, after in itertools.pairwise([0.0, *losses])]
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    row = {
        "words": len(model.vocabulary),
        "seed": task["seed"],
        "dtype": task["dtype"],
        "tokens/s": windows["batch_size"]
        * windows["unroll_steps"]
        / statistics.median(seconds[5:]),
        "a step (ms)": 1e3 * statistics.median(seconds[5:]),
        "first step (s)": seconds[0],
        "peak memory (MB)": peak / 1e6,
    }
    if len(found) >= 100:
        row["training perplexity, batches 91-100"] = statistics.geometric_mean(found[90:100])
    if len(found) >= 200:
        row["training perplexity, batches 191-200"] = statistics.geometric_mean(found[190:200])
        row["held-out perplexity"] = model.evaluate(heldout, verbose=0)[1]
    return row


def parts(task):
    """Where the time of a step goes: rows of medians."""
    import tensorflow as tf

    from keras_elmo.training.stream import Stream

    model, corpus, _, windows = make(task)
    batch_size, unroll_steps = windows["batch_size"], windows["unroll_steps"]
    stream = Stream(
        model.vocabulary,
        model.token_encoder.scheme,
        batch_size,
        unroll_steps,
        model.num_negatives,
        windows["seed"],
    )
    batches = list(itertools.islice(stream.training_batches(corpus), 12))
    state = model.bilm.zero_state(batch_size)
    encoder = [v.value for v in model.character_encoder.trainable_variables]
    bilm = [v.value for v in model.bilm.trainable_variables]
    softmax = [v.value for v in model.softmax.trainable_variables]
    size = model.config.projection_dim
    tables = tf.TensorSpec([None, model.token_encoder.scheme.ids_per_token], tf.int32)

    @tf.function(input_signature=[tables])
    def encode(ids):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model.character_encoder(ids, groups=4, training=True))
        return tape.gradient(loss, encoder)

    @tf.function
    def run_bilm(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            layers, _ = model.bilm.read_streams(x[0], x[1], state, training=True)
            loss = tf.reduce_sum(layers[-1])
        return tape.gradient(loss, [x, *bilm])

    @tf.function
    def run_softmax(x, targets, negatives, num_draws):
        with tf.GradientTape() as tape:
            tape.watch(x)
            pairs = map(tf.unstack, (x, targets, negatives, num_draws))
            loss = tf.reduce_sum(model.softmax.sampled_losses(*pairs))
        return tape.gradient(loss, [x, *softmax])

    @tf.function
    def update(gradients):
        model.optimizer.apply(gradients, model.trainable_variables)

    def samples(batch):
        targets = batch["targets"].swapaxes(0, 1).reshape(2, -1)
        return map(tf.constant, (targets, batch["negatives"].T, batch["num_draws"][0]))

    shape = (2, batch_size, unroll_steps, size)
    inputs, flat = tf.random.normal(shape), tf.random.normal((2, shape[1] * shape[2], size))
    order = {id(v): k for k, v in enumerate([*encoder, *bilm, *softmax])}
    found = [
        *encode(batches[0]["characters"]),
        *run_bilm(inputs)[1:],
        *run_softmax(flat, *samples(batches[0]))[1:],
    ]
    gradients = [found[order[id(v.value)]] for v in model.trainable_variables]
    model.optimizer.build(model.trainable_variables)
    model.start_lanes(True, batch_size, unroll_steps)
    tasks = {
        "a step": model.train_on_batch,
        "character encoder": lambda batch: encode(batch["characters"]),
        "biLM": lambda _: run_bilm(inputs),
        "softmax": lambda batch: run_softmax(flat, *samples(batch)),
        "clipping and Adagrad": lambda _: update(gradients),
    }
    rows, whole = [], None
    for name, run in tasks.items():
        seconds = [seconds_of(functools.partial(run, batch), 1)[0] for batch in batches]
        median = statistics.median(seconds[2:])  # the first trace the functions
        whole = whole or median
        rows.append({"part": name, "ms": 1e3 * median, "share of a step": median / whole})
    start = time.perf_counter()
    for _ in itertools.islice(stream.training_batches(corpus), 100):
        pass
    seconds = (time.perf_counter() - start) / 100
    name = "batches (a thread beside the steps)"
    rows.append({"part": name, "ms": 1e3 * seconds, "share of a step": seconds / whole})
    words = statistics.mean(len(np.unique(batch["inputs"])) for batch in batches)
    return [{**row, "distinct words of a batch": words} for row in rows]


TASKS = {"learn": learn, "parts": parts}


def apart(name, environment=None, **task):
    """A task's result, from a process of its own with more variables in its environment."""
    command = [sys.executable, "-m", "benchmarks.training", "--task", json.dumps([name, task])]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **(environment or {})}
    options = {"stdout": subprocess.PIPE, "text": True, "cwd": report.ROOT, "env": environment}
    result = subprocess.run(command, **options)
    if result.returncode:
        sys.exit(f"{name} {task} ended with status {result.returncode}")
    return json.loads(result.stdout.splitlines()[-1])


def learning(common, is_small):
    steps = FEW if is_small else STEPS
    rows = [apart("learn", **common, seed=seed, steps=steps) for seed in (1, 2, 3)]
    if not is_small:
        names = [name for name, value in rows[0].items() if isinstance(value, float)]
        mean = {name: statistics.mean(row[name] for row in rows) for name in names}
        original = {**dict.fromkeys(rows[0], ""), "seed": "bilm-tf", **ORIGINAL}
        rows += [{**rows[0], "seed": "mean", **mean}, original]
    return rows


def vocabularies(common, is_small):
    sizes = [100, 400] if is_small else [30_000, 800_000]
    steps = FEW if is_small else 60
    rows = [apart("learn", **{**common, "words": n}, seed=1, steps=steps) for n in sizes]
    return [{**row, "a step, ratio": row["a step (ms)"] / rows[0]["a step (ms)"]} for row in rows]


def precisions(common, is_small):
    steps = FEW if is_small else STEPS
    return [apart("learn", **{**common, "dtype": name}, seed=1, steps=steps) for name in PRECISIONS]


def tiny(common, is_small):
    rows = []
    for dtype in ("float32", "matmul_dtype bfloat16"):
        for environment in ({}, ONE_THREAD_EACH):
            task = {**common, "dtype": dtype, "is_tiny": True, "options": TINY_OPTIONS}
            row = apart("learn", environment, **task, seed=1, steps=FEW if is_small else 80)
            threads = " ".join(f"{name}={value}" for name, value in environment.items())
            del row["seed"]
            rows.append({"environment": threads, **row})
            rows[-1]["tokens/s, ratio"] = row["tokens/s"] / rows[0]["tokens/s"]
    return rows


TABLES = {
    "learning": learning,
    "where the time goes": lambda common, _: apart("parts", **common, seed=1, steps=1),
    "size of the vocabulary": vocabularies,
    "precision": precisions,
    "the shape of tiny": tiny,
}


def head(results):
    return (
        f"Measured {report.where(results)}. 2,048 character filters, 2 highway layers, 2 LSTM "
        "layers of 512 units and projection 64, dropout 0.1, batches of 32 x 20, 1,024 negative "
        "samples, Adagrad 0.2, clip norm 10; lower-cased WikiText-2 valid in the order of the file "
        "(`--no-shuffle`), as the original read it. The shape of tiny: as its card has it, 128 "
        "lanes, Adam, no dropout. Each token counts once, for both directions; times are medians "
        "of steps."
    )


def main():
    parser = report.parser("benchmarks.training", __doc__, "training", "a small model")
    parser.add_argument(
        "--text",
        type=pathlib.Path,
        default=report.SHARED / "bench/training",
        help="folder with train.txt, heldout.txt and vocab.txt (default: %(default)s)",
    )
    report.add_tables(parser)
    parser.add_argument("--task", help="for the processes of its own")
    options = parser.parse_args()
    if options.task:
        name, task = json.loads(options.task)
        print(json.dumps(TASKS[name](task)))
        return
    import tensorflow as tf

    versions = [f"TensorFlow {tf.__version__}"]
    results = {"machine": report.machine(), "versions": versions, "tables": {}}
    common = {"folder": str(options.text), "small": options.small, "dtype": "float32", "words": 0}

    def table(measured):
        rows = measured(common, options.small)
        return {"date": report.today(), "rows": rows}

    tables = {name: functools.partial(table, measured) for name, measured in TABLES.items()}
    report.measure_tables(options, "training", results, tables, head)


if __name__ == "__main__":
    main()
