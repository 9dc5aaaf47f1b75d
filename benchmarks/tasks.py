"""`python -m benchmarks.tasks MODEL`: `TextClassifier` and `Tagger` on public data.

- Sentiment of sentences (SST-2, 6,920 sentences): accuracy on the test sentences.
- Sentiment of phrases (SST-2's 77,615 phrases): accuracy on the 872 dev sentences, which published
  figures are of. A tenth of the training sentences chooses the epoch.
- Named entities of social media (WNUT17): F1 of entities.
- Parts of speech (UD English EWT): accuracy.

Each row is trained with three seeds: the mean of the scores on the test data, and their standard
deviation; the seconds of one training; and the texts a second of `predict`. "Frozen": the head
reads all layers and the word vectors that it learns, and nothing of ELMo trains. "All trained" goes
on from there with all of ELMo. "ELMo alone" has no learned word vectors, and "word vectors alone"
no ELMo. In "layer 0", ... the head reads one layer in the place of all, in "mix" their learned mix.
Where the peers are there, "MiniLM" is a logistic regression on its mean vectors. "GloVe" and
`--text` (vectors made of this text by counting) put one vector for each word in the place of ELMo.
The results are written after each row. `--tasks` measures some of the tables anew, `--rows` some of
the rows, and `--resume` only the rows that the file lacks; the others stay. Rows may be of several
machines, since the processor stands in each. The scores do not depend on it.
"""

import dataclasses
import functools
import gc
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
from benchmarks import peers, report
from benchmarks.static_vectors import StaticVectors
from keras_elmo import Tagger, TextClassifier
from keras_elmo.cli import classify, tag
from keras_elmo.labelled_files import read_conllu, read_tagged, read_texts
from keras_elmo.models.kernel_rounding import KernelRounding
from keras_elmo.tasks.examples import dense
from keras_elmo.text.inputs import tokens_and_width
from keras_elmo.text_files import read_lines

EPOCHS = 20
DATA = report.ROOT / "examples/data"
NOTHING = {"": 0}, np.zeros((1, 2))  # of any word


class WordVectors(keras.layers.Layer):
    """One vector for each word, in the place of an `Elmo`; nothing trains.

    Args:
        row_of: dict from words to rows; a word that is not there has the row of its lower-case
            form, or the last.
        vectors: float, (rows, dim).
        tokenizer, max_tokens: see `Elmo`.
    """

    keep_sentence_boundaries, trainable_part = False, "none"

    def __init__(self, row_of, vectors, tokenizer, max_tokens=None):
        super().__init__(trainable=False)
        self.config = types.SimpleNamespace(output_dim=vectors.shape[1])
        self.tokenizer, self.max_tokens = tokenizer, max_tokens
        self.kernel_rounding = KernelRounding(None)  # of no kernel
        self.token_encoder = types.SimpleNamespace(scheme=types.SimpleNamespace(ids=self.ids))
        table = tf.lookup.KeyValueTensorInitializer(
            tf.constant(list(row_of)), tf.constant(list(row_of.values()), tf.int64)
        )
        self._none = len(vectors) - 1
        self._table = tf.lookup.StaticHashTable(table, self._none)
        self._vectors = tf.constant(vectors, tf.float32)

    def __call__(self, texts):  # not Keras's, which takes no ragged strings
        tokens, _ = tokens_and_width(texts, self.tokenizer, self.max_tokens)
        ids = dense(tokens.with_flat_values(self.ids(tokens.flat_values)), 0)
        return {**self.from_character_ids(ids), "tokens": dense(tokens, "")}

    def from_character_ids(self, ids):
        rows = ids[..., 0] - 1  # (batch, tokens)
        return {"elmo": tf.gather(self._vectors, tf.maximum(rows, 0)), "mask": rows >= 0}

    def embed_stream(self, sentences, layers, progress):
        for sentence in sentences:
            rows = self.ids(tf.constant(sentence, tf.string))[:, 0] - 1
            yield {"elmo": tf.gather(self._vectors, rows).numpy()}

    def ids(self, words):
        """The rows of words, counted from 1, in the place of character ids: int32, (N, 1)."""
        rows, of_lower = (self._table.lookup(w) for w in (words, tf.strings.lower(words)))
        return tf.cast(tf.where(rows == self._none, of_lower, rows) + 1, tf.int32)[:, None]


def without_elmo(make, model, table, labels, **kwargs):
    """A model with word vectors in the place of its `Elmo`, which trains its head alone.

    Args:
        make: `TextClassifier` or `Tagger`, perhaps with arguments.
        model: see `TextClassifier`. Its tokens are those of this model.
        table: the first two arguments of `WordVectors`; `NOTHING`: the head has its own alone.
        labels: see `TextClassifier`.
        **kwargs: see `Elmo`.
    """
    known = keras_elmo.Elmo.from_pretrained(model, **kwargs)
    row_of, vectors = table
    vectors = np.pad(vectors, [(0, 0), (0, vectors.shape[1] % 2)])  # both directions are alike
    half = vectors.shape[1] // 2
    config = dataclasses.replace(known.config, projection_dim=half, units=half)
    result = make(keras_elmo.Elmo(config), labels, layers="elmo")
    del result.elmo
    result.elmo = WordVectors(row_of, vectors, known.tokenizer, known.max_tokens)
    return result


def regression_score(vectors, data):
    """The accuracy (%) of a logistic regression on vectors; the dev texts choose its strength.

    Args:
        vectors, data: dicts of `"train"`, `"dev"` and `"test"`: (N, D); texts and labels.
    """
    models = [
        LogisticRegression(C=c, max_iter=1000).fit(vectors["train"], data["train"][1])
        for c in (0.1, 1, 10, 100)
    ]
    best = max(models, key=lambda model: model.score(vectors["dev"], data["dev"][1]))
    return 100 * best.score(vectors["test"], data["test"][1])


def minilm_row(data):
    """A logistic regression on MiniLM's mean vectors."""
    start = time.perf_counter()
    found = {part: peers.minilm(data[part][0]) for part in ("train", "dev", "test")}
    score = regression_score({part: vectors for part, (vectors, _) in found.items()}, data)
    seconds = time.perf_counter() - start
    return {"scores": [score], "seconds": [seconds], "speeds": [found["test"][1]]}


def train(make, data, epochs, seed, parts):
    """Trains a model part after part of its ELMo, and measures it after each.

    Args:
        make: function without arguments that makes a `TextClassifier` or a `Tagger`.
        data: dict of texts and labels, `"train"`, `"dev"` and `"test"`.
        parts: list of values of `trainable_part`; `None`: as the model is made.

    Returns:
        For each part a triple: the score (%), the seconds of training and the texts a second; and
        the shares of the layers in the mix.
    """
    gc.collect()  # the model of the seed before, with the vectors that its `fit` kept
    keras.utils.set_random_seed(seed)
    model, results, seconds = make(), [], 0.0
    for part in parts:
        if part is not None:
            model.trainable_part = part
        start = time.perf_counter()
        model.fit(
            *data["train"],
            validation_data=data["dev"],
            epochs=epochs,
            callbacks=[model.early_stopping()],
            verbose=0,
        )
        seconds += time.perf_counter() - start
        score = 100 * model.evaluate(*data["test"], verbose=0, return_dict=True)[model.main_metric]
        texts = data["test"][0]
        model.predict(texts[:64], verbose=0)  # traced
        start = time.perf_counter()
        model.predict(texts, verbose=0)
        results.append((score, seconds, len(texts) / (time.perf_counter() - start)))
    shares = None
    if model.elmo_layers == "elmo" and model.elmo.trainable:
        shares = keras.ops.softmax(model.elmo.mixes[0].scalars)
        shares = [round(float(share), 2) for share in shares]
    return results, shares


def only_layer(model, layer, **kwargs):
    """An `Elmo` whose mix is one layer, frozen."""
    elmo = keras_elmo.Elmo.from_pretrained(model, trainable=False, **kwargs)
    scalars = np.full(elmo.config.num_layers + 1, -1e4, np.float32)
    scalars[layer] = 0
    elmo.mixes[0].scalars.assign(scalars)
    return elmo


class Task(typing.NamedTuple):
    """A table of results.

    Attributes:
        title: string.
        score: string. What is measured.
        read: function of nothing that returns the data, and of `True` that of the examples.
        make: `TextClassifier` or `Tagger`, perhaps with arguments.
        baseline: the function of the command line: training data and others to a name and scores.
        tokenizer: what splits the texts.
    """

    title: str
    score: str
    read: typing.Callable
    make: typing.Callable
    baseline: typing.Callable
    tokenizer: str | None


def read_files(pattern, small, read, is_small):
    if is_small:
        pattern = DATA / small
    parts = ("train", "dev", "test")
    return {part: read(str(pattern).format(part)) for part in parts}


def read_small_or(read, is_small):
    return read_files("", "reviews.{}.tsv", read_texts, True) if is_small else read()


def labels_first(path):
    """A gzipped file of a label, a tab and a text on each line, as `read_texts` gives it."""
    rows = [line.partition("\t") for line in read_lines(path)]
    return [text for _, _, text in rows], [label for label, _, _ in rows]


def split(data):
    """The texts without the first tenth of them, and this tenth, to choose the epoch."""
    count = round(0.1 * len(data[0]))
    return [column[count:] for column in data], [column[:count] for column in data]


def phrases(folder):
    # Phrases of one sentence follow each other, and are parts of each other. A model that has read
    # some of them knows the rest.
    train, dev = split(labels_first(folder / "sst2/trees-train.tsv.gz"))
    return {"train": train, "dev": dev, "test": labels_first(folder / "sst2/trees-dev.tsv.gz")}


def tasks(folder):
    """The tasks by their names; their data is in a folder."""
    partial = functools.partial
    crf, softmax = Tagger, partial(Tagger, crf=False)
    return {
        "sentiment": Task(
            "Sentiment (SST-2)",
            "accuracy (%)",
            partial(read_files, folder / "sst2/{}.tsv", "reviews.{}.tsv", read_texts),
            TextClassifier,
            classify.baseline,
            "whitespace",
        ),
        "phrases": Task(
            "Sentiment (SST-2's phrases; tested on its dev sentences)",
            "accuracy (%)",
            partial(read_small_or, partial(phrases, folder)),
            TextClassifier,
            classify.baseline,
            "whitespace",
        ),
        "entities": Task(
            "Named entities (WNUT17)",
            "F1 (%)",
            partial(read_files, folder / "wnut17/{}.conll", "entities.{}.txt", read_tagged),
            crf,
            tag.baseline,
            None,
        ),
        "speech": Task(
            "Parts of speech (UD English EWT)",
            "accuracy (%)",
            lambda is_small: (
                read_files("", "entities.{}.txt", read_tagged, True)
                if is_small
                else read_files(folder / "ud-english-ewt/{}.conllu", "", read_conllu, False)
            ),
            softmax,
            tag.baseline,
            None,
        ),
    }


def measure(task, options, add, is_wanted):
    """Measures the rows of a task, and hands each on when it is done."""
    data, model = task.read(options.small), options.model
    epochs, seeds = 2 if options.small else EPOCHS, range(options.seeds)
    tokens = {"tokenizer": task.tokenizer}
    labels = sorted({x for _, column in data.values() for x in _flat(column)})

    def measure_row(names, make, parts):
        count = max((k for k, name in enumerate(names, 1) if is_wanted(name)), default=0)
        if not count:
            return
        names = names[:count]
        runs = [train(make, data, epochs, seed, parts[:count]) for seed in seeds]
        for k, name in enumerate(names):
            scores, seconds, speeds = zip(*(results[k] for results, _ in runs), strict=True)
            row = {"scores": scores, "seconds": seconds, "speeds": speeds}
            if runs[-1][1] is not None:
                row["shares"] = runs[-1][1]
            add({name: row})

    name, scores = task.baseline(data["train"], data["test"])
    if is_wanted(name):
        add({name: {"scores": [100 * scores.get("f1", scores["accuracy"])]}})
    name = "MiniLM, logistic regression"
    if peers.has_minilm() and task.make is TextClassifier and is_wanted(name):
        add({name: minilm_row(data)})
    static = [("word vectors alone", lambda: NOTHING)]
    if peers.GLOVE.exists():
        static.append((peers.GLOVE_NAME, peers.glove))
    if options.text:
        vectors = StaticVectors(options.text)
        static.append((vectors.name, lambda: vectors.table))
    for name, find in static:
        measure_row(
            [name],
            lambda find=find: without_elmo(task.make, model, find(), labels, **tokens),
            [None],
        )
    elmo = keras_elmo.Elmo.from_pretrained(model)
    for layer in range(elmo.config.num_layers + 1):
        measure_row(
            [f"layer {layer}"],
            lambda layer=layer: task.make(
                only_layer(model, layer, **tokens), labels, layers="elmo"
            ),
            [None],
        )
    measure_row(["ELMo alone"], lambda: task.make(model, labels, word_dim=0, **tokens), [None])
    measure_row(["mix"], lambda: task.make(model, labels, layers="elmo", **tokens), [None])
    measure_row(
        ["frozen", "all trained"], lambda: task.make(model, labels, **tokens), [None, "all"]
    )


def _flat(column):
    return column if isinstance(column[0], str) else [label for row in column for label in row]


def place(name):
    """Where a row stands in its table."""
    begins = "a bag", "each", "MiniLM", "word", "GloVe", "static", "layer", "ELMo", "mix", "frozen"
    return [k for k, begin in enumerate(begins) if name.startswith(begin)] or [len(begins)], name


def rows(results, score, processor):
    """The table of a task's results, measured on a processor."""
    return [
        {
            "vectors": name,
            score: float(statistics.mean(row["scores"])),
            "standard deviation": (
                f"{statistics.stdev(row['scores']):.1f}" if len(row["scores"]) > 1 else ""
            ),
            "seconds of training": _mean(row.get("seconds")),
            "texts a second": _mean(row.get("speeds")),
            "shares of the layers": row.get("shares", ""),
            "processor": processor,
        }
        for name, row in results.items()
    ]


def _mean(values):
    return float(statistics.mean(values)) if values else ""


def main():
    parser = report.parser("benchmarks.tasks", __doc__, "tasks", "the examples' own data, 2 epochs")
    parser.add_argument("model", help="tiny (in the package), a published name, a folder or a zip")
    parser.add_argument("--tasks", nargs="+", choices=tasks(DATA), help="only these")
    report.add_rows(parser)
    parser.add_argument("--text", type=pathlib.Path, help="tokenised; makes static vectors")
    parser.add_argument("--seeds", type=int, default=3, help="trainings of each row (3)")
    parser.add_argument(
        "--data",
        type=pathlib.Path,
        default=report.SHARED / "data",
        help="folder with sst2, wnut17 and ud-english-ewt (default: %(default)s)",
    )
    options = parser.parse_args()
    results = report.results_of_model(
        options.model, [f"TensorFlow {tf.__version__}", f"Keras {keras.__version__}"]
    )
    tables = report.Tables(
        options.output,
        "tasks",
        results,
        lambda row: row["vectors"],
        options.rows,
        options.resume,
        keep=bool(options.tasks),
        order=place,
    )
    for name, task in tasks(options.data).items():
        if options.tasks and name not in options.tasks:
            continue
        print(task.title, flush=True)
        is_wanted = functools.partial(tables.is_wanted, task.title)

        def add(found, task=task, is_wanted=is_wanted):
            for row in rows(found, task.score, results["machine"]["processor"]):
                if is_wanted(row["vectors"]):
                    tables.add(task.title, row)

        measure(task, options, add, is_wanted)
    print(tables.text())


if __name__ == "__main__":
    main()
