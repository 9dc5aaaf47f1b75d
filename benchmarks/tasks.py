"""`python -m benchmarks.tasks MODEL`: `TextClassifier` and `Tagger` on public data.

- Sentiment of sentences (SST-2, 6,920 sentences): accuracy on the test sentences.
- Sentiment of phrases (SST-2's 77,615 phrases): accuracy on the 872 dev sentences, which published
  figures are of. A tenth of the training sentences chooses the epoch.
- Named entities of social media (WNUT17): F1 of entities.
- Parts of speech (UD English EWT): accuracy.

Each row is trained with three seeds: the mean of the scores on the test data, and their standard
deviation; the seconds of one training; and the texts a second of `predict`. "Frozen": the head
reads all layers and the word vectors that it learns, and nothing of ELMo trains. "All trained" goes
on from there with all of ELMo. "ELMo alone" has no learned word vectors, and in "word vectors
alone" an ELMo of one unit gives zeros. In "layer 0", ... the head reads one layer instead of all,
and in "mix" their learned mix. "MiniLM" is a logistic regression on its mean vectors, and "GloVe"
puts one vector for each word instead of ELMo. Both are measured where their files are there (MiniLM
also needs onnxruntime and tokenizers).

`--conll NAME=TRAIN,DEV,TEST` measures named entities of other data instead: with all training
sentences, and with the first tenth of them. The row of ELMo, frozen, has the name of its MODEL, so
that models stand below each other: measure the second one with `--resume`.

The results are written after each row. `--tasks` measures some of the tables anew, `--rows` some of
the rows, and `--resume` only the rows that the file lacks; the others stay. Rows may be of several
machines, since the processor stands in each. The scores do not depend on it.
"""

import argparse
import dataclasses
import functools
import gc
import importlib.util
import pathlib
import statistics
import time
import types
import typing

import keras
import numpy as np
import tensorflow as tf
from sklearn.linear_model import LogisticRegression

import keras_elmo
from benchmarks import report
from keras_elmo import Tagger, TextClassifier
from keras_elmo.files.labelled_files import read_tagged, read_texts
from keras_elmo.files.text_files import read_lines
from keras_elmo.models.kernel_rounding import KernelRounding
from keras_elmo_cli import classify, tag

EPOCHS = 20  # at most
EPOCHS_OF_CONLL = 40  # also of few sentences
DATA = report.ROOT / "examples/data"
PARTS = ("train", "dev", "test")
ONE_UNIT = keras_elmo.ElmoConfig(units=1, projection_dim=1, num_layers=1, filters=[(1, 1)])
MINILM = report.SHARED / "peers/minilm"
GLOVE_CONFIG = dataclasses.replace(ONE_UNIT, units=25, projection_dim=25)  # 50 numbers
GLOVE = report.SHARED / "peers/glove/glove-6b-50d-60000.npz"


class Task(typing.NamedTuple):
    """A table of results."""

    title: str
    score: str  # what is measured
    read: typing.Callable  # returns a dict of `PARTS` to texts and labels
    read_examples: typing.Callable  # the same of the examples of this repository, which are few
    make: typing.Callable  # `TextClassifier` or `Tagger`, perhaps with arguments
    baseline: typing.Callable  # of the command line: training data, others to a name and scores
    tokenizer: str | None
    epochs: int = EPOCHS


def tasks(folder):
    """The tasks by their names; their data is in a folder."""
    partial = functools.partial
    reviews = partial(read_parts, DATA / "reviews.{}.tsv", read_texts)
    entities = partial(read_parts, DATA / "entities.{}.txt", read_tagged)
    sentences = partial(read_parts, folder / "sst2/{}.tsv", read_texts)
    wnut17 = partial(read_parts, folder / "wnut17/{}.conll", read_tagged)
    ewt = partial(read_parts, folder / "ud-english-ewt/{}.conllu", read_tagged)
    texts = reviews, TextClassifier, classify.baseline, "whitespace"
    crf = entities, Tagger, tag.baseline, None
    softmax = entities, partial(Tagger, crf=False), tag.baseline, None
    return {
        "sentiment": Task("Sentiment (SST-2)", "accuracy (%)", sentences, *texts),
        "phrases": Task(
            "Sentiment (SST-2's phrases; tested on its dev sentences)",
            "accuracy (%)",
            partial(read_phrases, folder),
            *texts,
        ),
        "entities": Task("Named entities (WNUT17)", "F1 (%)", wnut17, *crf),
        "speech": Task("Parts of speech (UD English EWT)", "accuracy (%)", ewt, *softmax),
    }


def tasks_of_conll(argument):
    name, _, paths = argument.partition("=")
    paths = paths.split(",")
    if not name or len(paths) != len(PARTS) or "" in paths:
        raise argparse.ArgumentTypeError(f"must be NAME=TRAIN,DEV,TEST. Received: {argument}")
    paths = dict(zip(PARTS, paths, strict=True))

    def read(share):
        data = {part: read_tagged(path) for part, path in paths.items()}
        sentences, tags = data["train"]
        count = round(share * len(sentences))
        return {**data, "train": (sentences[:count], tags[:count])}

    shares = {name: 1, f"{name}, the first tenth of the training sentences": 0.1}
    found = {}
    for title, share in shares.items():
        readers = [functools.partial(read, share)] * 2
        of = Tagger, tag.baseline, None, EPOCHS_OF_CONLL
        found[title] = Task(title, "F1 (%)", *readers, *of)
    return found


def read_parts(pattern, read):
    return {part: read(str(pattern).format(part)) for part in PARTS}


def read_phrases(folder):
    texts, labels = read_labels_first(folder / "sst2/trees-train.tsv.gz")
    # Phrases of one sentence follow each other, and are parts of each other. A model that has read
    # some of them knows the rest.
    count = round(0.1 * len(texts))
    return {
        "train": (texts[count:], labels[count:]),
        "dev": (texts[:count], labels[:count]),
        "test": read_labels_first(folder / "sst2/trees-dev.tsv.gz"),
    }


def read_labels_first(path):
    """A file of a label, a tab and a text on each line, as `read_texts` gives it."""
    rows = [line.partition("\t") for line in read_lines(path)]
    return [text for _, _, text in rows], [label for label, _, _ in rows]


def train(make, data, epochs, seed, parts):
    """Trains a model part after part of its ELMo (`None`: as it is made), and measures after each.

    Returns a triple for each part, the score (%), the seconds of training and the texts a second;
    and the shares of the layers in the mix.
    """
    gc.collect()  # the model of the seed before, with the vectors that its `fit` kept
    keras.utils.set_random_seed(seed)
    model, results, seconds = make(), [], 0.0
    for part in parts:
        if part is not None:
            model.trainable_part = part
        start = time.perf_counter()
        options = {"epochs": epochs, "callbacks": [model.early_stopping()], "verbose": 0}
        model.fit(*data["train"], validation_data=data["dev"], **options)
        seconds += time.perf_counter() - start
        score = 100 * model.evaluate(*data["test"], verbose=0, return_dict=True)[model.main_metric]
        texts = data["test"][0]
        model.predict(texts[:64], verbose=0)  # traced
        start = time.perf_counter()
        model.predict(texts, verbose=0)
        results.append((score, seconds, len(texts) / (time.perf_counter() - start)))
    shares = ""
    if model.elmo_layers == "elmo" and model.elmo.trainable:
        shares = keras.ops.softmax(model.elmo.mixes[0].scalars)
        shares = [round(float(share), 2) for share in shares]
    return results, shares


def only_layer(elmo, layer):
    """An `Elmo` whose mix becomes one layer."""
    scalars = np.full(elmo.config.num_layers + 1, -1e4, np.float32)
    scalars[layer] = 0
    elmo.mixes[0].scalars.assign(scalars)
    return elmo


def no_layer(elmo):
    """An `Elmo` whose mix becomes zeros."""
    elmo.mixes[0].gamma.assign(0.0)
    return elmo


class WordVectors(keras.layers.Layer):
    """GloVe with what a task needs of an `Elmo`: a vector for each word, or the mean of all."""

    keep_sentence_boundaries, max_tokens, trainable_part = False, None, "none"

    def __init__(self, tokenizer):
        super().__init__(trainable=False)
        self.tokenizer = tokenizer
        self.config = GLOVE_CONFIG
        self.kernel_rounding = KernelRounding(None)  # of no kernel
        self.token_encoder = types.SimpleNamespace(scheme=types.SimpleNamespace(ids=self.ids))
        data = np.load(GLOVE, allow_pickle=False)
        vectors = data["vectors"].astype(np.float32)
        self._vectors = tf.constant(np.vstack([vectors, vectors.mean(axis=0)]))
        rows = tf.range(len(vectors), dtype=tf.int64)
        table = tf.lookup.KeyValueTensorInitializer(tf.constant(data["words"].tolist()), rows)
        self._none = len(vectors)
        self._table = tf.lookup.StaticHashTable(table, self._none)

    def __call__(self, tokens):  # not Keras's, which takes no ragged strings
        ids = tokens.with_flat_values(self.ids(tokens.flat_values)).to_tensor()
        return {**self.from_character_ids(ids), "tokens": tokens.to_tensor("")}

    def from_character_ids(self, ids):
        rows = ids[..., 0] - 1  # (batch, tokens)
        return {"elmo": tf.gather(self._vectors, tf.maximum(rows, 0)), "mask": rows >= 0}

    def embed_stream(self, sentences, layers, progress):
        for sentence in sentences:
            rows = self.ids(tf.constant(sentence, tf.string))[:, 0] - 1
            yield {"elmo": tf.gather(self._vectors, rows).numpy()}

    def ids(self, words):
        """The rows of words, counted from 1, instead of character ids: int32, (N, 1)."""
        rows, of_lower = (self._table.lookup(w) for w in (words, tf.strings.lower(words)))
        return tf.cast(tf.where(rows == self._none, of_lower, rows) + 1, tf.int32)[:, None]


def on_glove(make, labels, tokenizer):
    """A task with `WordVectors` instead of its `Elmo`."""
    elmo = keras_elmo.Elmo(GLOVE_CONFIG, tokenizer=tokenizer, trainable=False)
    model = make(elmo, labels, layers="elmo")
    del model.elmo
    model.elmo = WordVectors(elmo.tokenizer)
    return model


def has_minilm():
    needed = ("onnxruntime", "tokenizers")
    return MINILM.exists() and all(map(importlib.util.find_spec, needed))


def minilm_vectors(texts):
    """Mean vectors of MiniLM, (N, 384), and the texts a second."""
    import onnxruntime
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(str(MINILM / "tokenizer.json"))
    tokenizer.enable_truncation(256)
    session = onnxruntime.InferenceSession(str(MINILM / "model.onnx"))
    names = {tensor.name for tensor in session.get_inputs()}
    order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
    result, start = np.zeros((len(texts), 384), np.float32), time.perf_counter()
    for k in range(0, len(order), 32):
        rows = order[k : k + 32]
        encoded = tokenizer.encode_batch([texts[row] for row in rows])
        width = max(len(e.ids) for e in encoded)
        ids, mask = np.zeros((2, len(rows), width), np.int64)
        for row, e in enumerate(encoded):
            count = len(e.ids)
            ids[row, :count], mask[row, :count] = e.ids, e.attention_mask
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": 0 * ids}
        hidden = session.run(None, {n: x for n, x in feed.items() if n in names})[0]
        result[rows] = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    return result, len(texts) / (time.perf_counter() - start)


def minilm_scores(data):
    """What `train` gives, of a logistic regression whose strength the dev texts choose."""
    start = time.perf_counter()
    found = {part: minilm_vectors(texts) for part, (texts, _) in data.items()}
    pairs = {part: (vectors, data[part][1]) for part, (vectors, _) in found.items()}
    models = [LogisticRegression(C=c, max_iter=1000) for c in (0.1, 1, 10, 100)]
    best = max(models, key=lambda model: model.fit(*pairs["train"]).score(*pairs["dev"]))
    score = 100 * best.score(*pairs["test"])
    return score, time.perf_counter() - start, found["test"][1]


def measure(task, options, add, is_wanted):
    """Measures the rows of a task whose names are wanted, and hands each on when it is done.

    `add` takes the arguments of `row_of` before the last two.
    """
    data = task.read_examples() if options.small else task.read()
    epochs, seeds = 2 if options.small else task.epochs, range(options.seeds)
    labels = sorted({label for _, column in data.values() for label in _flat(column)})
    tokenizer = task.tokenizer
    load = functools.partial(keras_elmo.Elmo.from_pretrained, options.model, tokenizer=tokenizer)
    one_unit = functools.partial(keras_elmo.Elmo, ONE_UNIT, tokenizer=tokenizer, trainable=False)

    name, scores = task.baseline(data["train"], data["test"])
    if is_wanted(name):
        add(name, [(100 * scores.get("f1", scores["accuracy"]), None, None)], "")
    name = "MiniLM, logistic regression"
    if has_minilm() and task.make is TextClassifier and is_wanted(name):
        add(name, [minilm_scores(data)], "")

    def measure_rows(names, make, parts=(None,)):
        if not any(map(is_wanted, names)):
            return
        runs = [train(make, data, epochs, seed, parts) for seed in seeds]
        for k, name in enumerate(names):
            if is_wanted(name):
                add(name, [results[k] for results, _ in runs], runs[-1][1])

    def of(make_elmo, **kwargs):
        return lambda: task.make(make_elmo(), labels, **kwargs)

    measure_rows(["word vectors alone"], of(lambda: no_layer(one_unit()), layers="elmo"))
    if GLOVE.exists():
        measure_rows(["GloVe (50 numbers)"], lambda: on_glove(task.make, labels, tokenizer))
    if options.conll:
        measure_rows([f"ELMo: {pathlib.Path(options.model).name}"], of(load))
        return
    for layer in range(load().config.num_layers + 1):
        one = functools.partial(only_layer, layer=layer)
        measure_rows(
            [f"layer {layer}"], of(lambda one=one: one(load(trainable=False)), layers="elmo")
        )
    measure_rows(["ELMo alone"], of(load, word_dim=0))
    measure_rows(["mix"], of(load, layers="elmo"))
    if is_wanted("all trained"):
        measure_rows(["frozen", "all trained"], of(load), parts=(None, "all"))
    else:
        measure_rows(["frozen"], of(load))


def _flat(column):
    return column if isinstance(column[0], str) else [label for row in column for label in row]


def place(name):
    """Where a row stands in its table. "static" is of a former commit."""
    begins = "a bag", "each", "MiniLM", "word", "GloVe", "static", "layer", "ELMo", "mix", "frozen"
    return [k for k, begin in enumerate(begins) if name.startswith(begin)] or [len(begins)], name


def row_of(name, runs, shares, score, processor):
    """The row of a table: `runs` has a triple for each seed, as `train` returns them."""
    scores, seconds, speeds = zip(*runs, strict=True)
    return {
        "vectors": name,
        score: float(statistics.mean(scores)),
        "standard deviation": f"{statistics.stdev(scores):.1f}" if len(scores) > 1 else "",
        "seconds of training": _mean(seconds),
        "texts a second": _mean(speeds),
        "shares of the layers": shares,
        "processor": processor,
    }


def _mean(values):
    return "" if None in values else float(statistics.mean(values))


def main():
    parser = report.parser("benchmarks.tasks", __doc__, "tasks", "the examples' own data, 2 epochs")
    parser.add_argument("model", help="tiny (in the package), a published name, a folder or a zip")
    parser.add_argument("--tasks", nargs="+", choices=tasks(DATA), help="only these")
    parser.add_argument("--rows", nargs="+", metavar="NAME", help="measure only these rows anew")
    parser.add_argument(
        "--resume", action="store_true", help="measure only the rows that the file lacks"
    )
    parser.add_argument("--seeds", type=int, default=3, help="trainings of each row (3)")
    parser.add_argument(
        "--data",
        type=pathlib.Path,
        default=report.SHARED / "data",
        help="folder with sst2, wnut17 and ud-english-ewt (default: %(default)s)",
    )
    parser.add_argument(
        "--conll",
        type=tasks_of_conll,
        metavar="NAME=TRAIN,DEV,TEST",
        help="measure named entities of these files instead, into conll.json and conll.md",
    )
    options = parser.parse_args()
    versions = [f"TensorFlow {tf.__version__}", f"Keras {keras.__version__}"]
    results = report.results_of_model(options.model, versions)
    if options.conll:
        results["model"] = "Named entities"  # of several models
    tables = report.Tables(
        options.output,
        "conll" if options.conll else "tasks",
        results,
        name_of=lambda row: row["vectors"],
        order=place,
        rows=options.rows,
        resume=options.resume,
        keep=options.tasks or options.conll,
    )
    for name, task in (options.conll or tasks(options.data)).items():
        if options.tasks and name not in options.tasks:
            continue
        print(task.title, flush=True)

        def add(name, runs, shares, task=task):
            row = row_of(name, runs, shares, task.score, results["machine"]["processor"])
            tables.add(task.title, row)

        measure(task, options, add, functools.partial(tables.is_wanted, task.title))
    print(tables.text())


if __name__ == "__main__":
    main()
