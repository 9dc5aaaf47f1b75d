"""`python -m benchmarks.training`: speed and learning of the training of a biLM.

The text, the vocabulary and the options are those with which the original trainer (bilm-tf,
TensorFlow 1.15) was measured on two cores; its figures are in the tables. Each run is a process of
its own. `--tables` measures some of the tables anew and leaves the others as they are.
"""

import functools
import itertools
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

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
    """A trainer on the text, and the text held out."""
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
    options |= PRECISIONS[task["dtype"]]
    options = training.TrainingOptions(seed=task["seed"], shuffle=False, **options)
    model = keras_elmo.BiLanguageModel(config, words, dtype=options.dtype)
    model.initialize(options.seed)
    trainer = training.Trainer(
        model, training.Corpus(folder / "train.txt"), options, steps=task["steps"]
    )
    return trainer, training.Corpus(folder / "heldout.txt")


def learn(task):
    """Steps of training: their median seconds, perplexities, and the held-out one after them."""
    from keras_elmo import training

    trainer, heldout = make(task)
    times, found = [time.perf_counter()], []

    def note(metrics):
        times.append(time.perf_counter())
        found.append(metrics["perplexity"])

    trainer.run(note)
    seconds = [end - start for start, end in zip(times[:-1], times[1:], strict=True)]
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    row = {
        "words": len(trainer.model.vocabulary),
        "seed": task["seed"],
        "dtype": task["dtype"],
        "tokens/s": trainer.tokens_per_step / statistics.median(seconds[5:]),
        "a step (ms)": 1e3 * statistics.median(seconds[5:]),
        "first step (s)": seconds[0],
        "peak memory (MB)": peak / 1e6,
    }
    if len(found) >= 100:
        row["training perplexity, batches 91-100"] = statistics.geometric_mean(found[90:100])
    if len(found) >= 200:
        row["training perplexity, batches 191-200"] = statistics.geometric_mean(found[190:200])
        result = training.evaluate(trainer.model, heldout.sentences())
        row["held-out perplexity"] = result["perplexity"]
    return row


def parts(task):
    """Where the time of a step goes: rows of medians."""
    import tensorflow as tf

    from keras_elmo.training.optimizer import clip, sum_repeated_rows

    trainer, _ = make(task)
    model, options = trainer.model, trainer.options
    batches = list(itertools.islice(trainer.stream.training_batches(trainer.corpus), 12))
    state = model.bilm.zero_state(options.batch_size)
    encoder = [v.value for v in model.character_encoder.trainable_variables]
    bilm = [v.value for v in model.bilm.trainable_variables]
    softmax = [v.value for v in model.softmax.trainable_variables]
    size = model.config.projection_dim

    @tf.function(reduce_retracing=True)
    def encode(words):
        with tf.GradientTape() as tape:
            ids = model.token_encoder.scheme.ids(words)
            encoded = model.token_encoder.from_character_ids(ids, groups=4, training=True)
            loss = tf.reduce_sum(encoded)
        return tape.gradient(loss, encoder)

    @tf.function(reduce_retracing=True)
    def run_bilm(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            layers, _ = model.bilm.read_streams(x[0], x[1], state, training=True)
            loss = tf.reduce_sum(layers[-1])
        return tape.gradient(loss, [x, *bilm])

    @tf.function(reduce_retracing=True)
    def run_softmax(x, batch):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = 0.0
            for k in range(2):
                targets = tf.reshape(batch["targets"][k], [-1])
                draws = batch["negatives"][k], batch["num_draws"][k]
                loss += tf.reduce_sum(model.softmax.loss(x[k], targets, *draws))
        return tape.gradient(loss, [x, *softmax])

    @tf.function(reduce_retracing=True)
    def update(gradients):
        gradients, _ = clip([sum_repeated_rows(g) for g in gradients], options.clip_norm)
        trainer.training_step.optimizer.apply(gradients, tf.constant(0.0))

    shape = (2, options.batch_size, options.unroll_steps, size)
    inputs, flat = tf.random.normal(shape), tf.random.normal((2, shape[1] * shape[2], size))
    order = {id(v): k for k, v in enumerate([*encoder, *bilm, *softmax])}
    found = [
        *encode(batches[0]["words"]),
        *run_bilm(inputs)[1:],
        *run_softmax(flat, batches[0])[1:],
    ]
    gradients = [found[order[id(v.value)]] for v in model.trainable_variables]
    rate = tf.constant(0.0)
    states = [trainer.state]

    def step(batch):
        *_, states[0] = trainer.training_step(batch, states[0], rate)

    tasks = {
        "a step": step,
        "character encoder": lambda batch: encode(batch["words"]),
        "biLM": lambda _: run_bilm(inputs),
        "softmax": lambda batch: run_softmax(flat, batch),
        "clipping and Adagrad": lambda _: update(gradients),
    }
    rows, whole = [], None
    for name, run in tasks.items():
        seconds = [seconds_of(functools.partial(run, batch), 1)[0] for batch in batches]
        median = statistics.median(seconds[2:])  # the first trace the functions
        whole = whole or median
        rows.append({"part": name, "ms": 1e3 * median, "share of a step": median / whole})
    start = time.perf_counter()
    for _ in itertools.islice(trainer.stream.training_batches(trainer.corpus), 100):
        pass
    seconds = (time.perf_counter() - start) / 100
    name = "batches (a thread beside the steps)"
    rows.append({"part": name, "ms": 1e3 * seconds, "share of a step": seconds / whole})
    words = statistics.mean(len(batch["words"]) for batch in batches)
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
