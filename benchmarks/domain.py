"""`python -m benchmarks.domain NAME=MODEL ...`: what helps where few texts of a domain have labels.

Film reviews: models learn from 50, 200, 1,000 or 5,000 reviews with labels, and are tested on 5,000
others. Small training sets are drawn five times: the mean accuracy, and the standard deviation.

- "words": logistic regression on words and pairs of words, weighted by TF-IDF.
- "vectors of X": the same on the mean vectors of X: of all layers of each MODEL, side by side, of
  GloVe, and of MiniLM.
- "words and vectors of X": both, side by side; the vectors have a weight of 0.1, 0.3 or 1.
- "classifier on X": a `TextClassifier` that reads X, which is frozen; its head trains. GloVe is in
  the place of an `Elmo`, and "classifier without ELMo" reads the word vectors alone that its head
  learns. It reads the first 400 tokens of a review, and no dev data choose the epochs.
- "classifier on X, all trained": the first of these classifiers goes on with all of X. There is
  one draw alone, since this is slow.
- "classifier on X, whole reviews": it reads whole reviews, and a tenth of the 5,000 chooses the
  epoch.
- "tiny, float32", "tiny, bfloat16", ...: what `keras-elmo train` takes for a biLM of each
  shape, measured in a few steps on the text of `benchmarks.training`: Adam, batches of 32 x 20
  tokens, 1,024 negative samples. The hours for 100 million tokens are computed from its speed.

A logistic regression takes the regularisation and the weight that are best in a cross-validation
of the training reviews. The texts a second are those of new texts: of the vectors (with words
alone, of their weights), or of a classifier's `predict`. MODEL is what `Elmo.from_pretrained`
takes. The results are written after each row. `--rows` measures some of the rows anew, and
`--resume` only those that the file lacks; the others stay.

`python -m benchmarks.domain --write-text FOLDER` writes the reviews without labels as
`keras-elmo train` reads them: train.txt, and one sentence of 500 in heldout.txt.
"""

import argparse
import functools
import gc
import hashlib
import itertools
import lzma
import pathlib
import statistics
import time

import keras
import numpy as np
import scipy.sparse
import tensorflow as tf
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from benchmarks import peers, report, training
from benchmarks.tasks import EPOCHS, NOTHING, WordVectors, labels_first, split, without_elmo
from keras_elmo import Elmo, TextClassifier
from keras_elmo.cli.classify import WORD_PATTERN
from keras_elmo.files.atomic import replacing_files
from keras_elmo.files.labelled_files import read_texts
from keras_elmo.text.tokenizers import TreebankTokenizer

TITLE = "Accuracy (%) on 5,000 film reviews, by the number of reviews with labels to learn from"
CLASSIFIERS = "The same with a `TextClassifier`"
COSTS = "What the training of a biLM takes"
TRAINING_TEXT = report.SHARED / "bench/training"
COUNTS, DRAWS = (50, 200, 1000, 5000), 5
# Epochs of a classifier's head, by the number of reviews; then with all of ELMo.
EPOCHS_OF_HEAD, EPOCHS_OF_ALL = {50: 40, 200: 25, 1000: 12, 5000: 6}, 2
MAX_TOKENS = 400  # of a review that a classifier reads
WEIGHTS = (0.1, 0.3, 1)  # of vectors beside words
STRENGTHS = (1, 10, 100, 1000)  # of a logistic regression: the inverse of its regularisation
_AT_ONCE = 1000  # reviews whose vectors are in memory
_HELD_OUT, _SENTENCES_AT_ONCE = 500, 10_000


class Words:
    """Words and pairs of words, weighted by TF-IDF: a block of features."""

    def fit(self, texts, _):
        self._vectorizer = TfidfVectorizer(
            ngram_range=(1, 2), sublinear_tf=True, token_pattern=WORD_PATTERN
        )
        return self._vectorizer.fit_transform(texts)

    def transform(self, texts, _):
        return self._vectorizer.transform(texts)


class Vectors:
    """Vectors of mean 0 and variance 1, of the length that a row of TF-IDF has."""

    def fit(self, _, vectors):
        self._scaler = StandardScaler().fit(vectors)
        return self.transform(_, vectors)

    def transform(self, _, vectors):
        return self._scaler.transform(vectors) / vectors.shape[1] ** 0.5


def mean_vectors(elmo, texts):
    """The means of all layers over the tokens of each text, side by side, (N, D)."""
    names = ["word_emb", *range(1, elmo.config.num_layers + 1)]
    return np.array(
        [
            np.concatenate([layers[name].mean(axis=0) for name in names])
            for layers in elmo.embed_stream(texts, names)
        ]
    )


def linear_scores(blocks, data, vectors, draws):
    """Accuracies on the test reviews, one for each draw.

    Args:
        blocks: list of classes: `Words`, `Vectors`.
        data, vectors: dicts of `"train"` and `"test"`: texts and labels; arrays, (N, D).
        draws: list of arrays of rows of the training reviews.
    """
    texts, labels = data["train"]
    for rows in draws:
        parts = [make() for make in blocks]
        chosen = [texts[row] for row in rows], vectors["train"][rows]
        train = [part.fit(*chosen) for part in parts]
        test = [part.transform(data["test"][0], vectors["test"]) for part in parts]
        searches = {}
        for weight in WEIGHTS if len(blocks) > 1 else (1,):
            # Words are many times as many as texts, so that the dual problem is the smaller one.
            solver = {"solver": "liblinear", "dual": True} if Words in blocks else {}
            regression = LogisticRegression(max_iter=2000, random_state=0, **solver)
            search = GridSearchCV(regression, {"C": STRENGTHS}, cv=5, n_jobs=-1)
            searches[weight] = search.fit(beside(train, weight), [labels[row] for row in rows])
        weight, best = max(searches.items(), key=lambda item: item[1].best_score_)
        yield 100 * best.score(beside(test, weight), data["test"][1])


def beside(parts, weight):
    """Features side by side; the last ones times a weight."""
    if len(parts) == 1:
        return parts[0]
    return scipy.sparse.hstack([*parts[:-1], weight * parts[-1]]).tocsr()


def picked(data, rows):
    """These texts and labels."""
    return [[column[row] for row in rows] for column in data]


def fit(model, data, epochs, **kwargs):
    """Trains a classifier on texts and labels. Returns the seconds."""
    gc.collect()  # the vectors that the `fit` before kept
    start = time.perf_counter()
    model.fit(*data, epochs=epochs, verbose=0, **kwargs)
    return time.perf_counter() - start


def classifier_scores(models, data):
    """The accuracies of `TextClassifier`s on the test reviews."""
    found = [model.evaluate(*data["test"], verbose=0, return_dict=True) for model in models]
    return 100 * np.array([each["accuracy"] for each in found])


def draw(count, labels, number):
    """Rows of the training reviews, `number` times; once where these are all."""
    if count >= len(labels):
        return [np.arange(len(labels))]
    return [np.random.default_rng(seed).permutation(len(labels))[:count] for seed in range(number)]


def cell(scores):
    if len(scores) < 2:
        return "".join(f"{score:.1f}" for score in scores)
    return f"{statistics.mean(scores):.1f} ± {statistics.stdev(scores):.1f}"


def speed_of(function, texts):
    """Its result for texts, and the texts a second."""
    start = time.perf_counter()
    result = function(texts)
    return result, len(texts) / (time.perf_counter() - start)


def linear_rows(data, counts, sources, add, is_wanted):
    """Measures the rows of logistic regressions.

    Args:
        sources: dict from names to functions of texts that return their vectors, (N, D).
    """
    number = {part: len(texts) for part, (texts, _) in data.items()}
    none = {part: np.zeros((count, 0)) for part, count in number.items()}

    def measure(name, blocks, vectors, speed):
        row, texts = {}, data["test"][0][:_AT_ONCE]
        for count in counts:
            draws = draw(count, data["train"][1], DRAWS)
            row[count] = list(linear_scores(blocks, data, vectors, draws))
        if speed:
            add(name, row, speed)
        else:
            words = Words()
            words.fit(data["train"][0], None)
            add(name, row, speed_of(lambda texts: words.transform(texts, None), texts)[1])

    if is_wanted("words"):
        measure("words", [Words], none, None)
    for source, embed in sources.items():
        names = {
            f"vectors of {source}": [Vectors],
            f"words and vectors of {source}": [Words, Vectors],
        }
        if not any(map(is_wanted, names)):
            continue
        vectors = {"train": embed(data["train"][0])}
        vectors["test"], speed = speed_of(embed, data["test"][0])
        for name, blocks in names.items():
            if is_wanted(name):
                measure(name, blocks, vectors, speed)


def classifier_rows(data, counts, makers, add, is_wanted):
    """Measures the rows of `TextClassifier`.

    Args:
        makers: dict from names to functions that make a classifier, which take `max_tokens`.
    """

    def predict_speed(model):
        texts = data["test"][0][:_AT_ONCE]
        model.predict(texts[:64], verbose=0)  # traced
        return speed_of(functools.partial(model.predict, verbose=0), texts)[1]

    for frozen, make in makers.items():
        trained = f"{frozen}, all trained"
        names = [name for name in (frozen, trained) if is_wanted(name)]
        if not names:
            continue
        fitted, times, draws = [], [], {}
        for count in counts:
            draws[count] = draw(count, data["train"][1], DRAWS if frozen in names else 1)
            for seed, rows in enumerate(draws[count]):
                keras.utils.set_random_seed(seed)
                fitted.append(make(max_tokens=MAX_TOKENS))
                epochs = EPOCHS_OF_HEAD.get(count, 2)
                times.append(fit(fitted[-1], picked(data["train"], rows), epochs))
        last, speed = fitted[-1], predict_speed(fitted[-1])
        if frozen in names:
            scores = iter(classifier_scores(fitted, data))
            row = {n: list(itertools.islice(scores, len(each))) for n, each in draws.items()}
            add(frozen, row, speed, times[-1])
        # Nothing trains in the vectors that are in the place of an `Elmo`.
        if isinstance(last.elmo, WordVectors) or trained not in names:
            continue
        row = {}
        for count, rows in draws.items():
            keras.utils.set_random_seed(0)
            fitted[0].trainable_part = "all"
            seconds = fit(fitted[0], picked(data["train"], rows[0]), EPOCHS_OF_ALL)
            row[count] = classifier_scores(fitted[:1], data)
            del fitted[: len(rows)]
        add(trained, row, speed, times[-1] + seconds)
    rows = np.random.default_rng(0).permutation(len(data["train"][1]))
    train, dev = split(picked(data["train"], rows))
    for name, make in makers.items():
        name = f"{name}, whole reviews"
        if is_wanted(name):
            keras.utils.set_random_seed(0)
            model = make(max_tokens=None)
            kwargs = {"validation_data": dev, "callbacks": [model.early_stopping()]}
            seconds = fit(model, train, EPOCHS, **kwargs)
            row = dict.fromkeys(counts, ()) | {counts[-1]: classifier_scores([model], data)}
            add(name, row, predict_speed(model), seconds)


def cost_name(row):
    """The name of a row of costs, such as "tiny, bfloat16"."""
    return f"{row['shape'].partition(':')[0]}, {row['products']}"


def cost_rows(small, add, is_wanted):
    """Measures the training of each shape, with products in float32 and in bfloat16."""
    task = {"folder": str(TRAINING_TEXT), "small": small, "words": 0}
    task |= {"options": {"optimizer": "adam"}, "seed": 1, "steps": training.FEW if small else 30}
    for shape in ("tiny", "small", "medium", "original"):
        config = training.config_of(shape)
        for dtype in ("float32", "matmul_dtype bfloat16"):
            row = {
                "shape": f"{shape}: {config.units:,} units, projection {config.projection_dim}",
                "products": dtype.rpartition(" ")[2],
            }
            if not is_wanted(cost_name(row)):
                continue
            found = training.apart("learn", **task, shape=shape, dtype=dtype)
            row |= {
                "tokens/s": found["tokens/s"],
                "hours for 100 million tokens": 1e8 / 3600 / found["tokens/s"],
                "peak memory (MB)": found["peak memory (MB)"],
            }
            add(row)


def write_text(folder, source):
    """Writes the sentences of an xz file, tokenised: train.txt and heldout.txt."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = TreebankTokenizer()
    with (
        lzma.open(source, "rt", encoding="utf-8") as lines,
        replacing_files(folder / "train.txt", folder / "heldout.txt") as paths,
        open(paths[0], "wb") as train,
        open(paths[1], "wb") as heldout,
    ):
        lines = filter(None, map(str.strip, lines))
        while part := list(itertools.islice(lines, _SENTENCES_AT_ONCE)):
            for line, tokens in zip(part, tokenizer.tokenize(part).to_list(), strict=True):
                number = int.from_bytes(hashlib.sha256(line.encode()).digest()[:8], "big")
                file = train if number % _HELD_OUT else heldout
                file.write(b" ".join(tokens) + b"\n")


def named_model(text):
    """A model of the command line: its name, and what `Elmo.from_pretrained` takes."""
    name, equals, model = text.partition("=")
    if not (name and equals and model):
        raise argparse.ArgumentTypeError(f"a model must be NAME=MODEL. Received: {text}")
    return name, model


def main():
    parser = report.parser("benchmarks.domain", __doc__, "domain", "the examples' own reviews")
    parser.add_argument(
        "models", nargs="*", metavar="NAME=MODEL", type=named_model, help="ELMo models to compare"
    )
    parser.add_argument(
        "--write-text",
        type=pathlib.Path,
        metavar="FOLDER",
        help="write the text to train on, and end",
    )
    report.add_rows(parser)
    options = parser.parse_args()
    if options.write_text:
        return write_text(options.write_text, report.SHARED / "data/reviews/unlabelled.txt.xz")
    if not options.models:
        parser.error("at least one NAME=MODEL is needed, or --write-text")
    models = dict(options.models)
    folder = report.ROOT / "examples/data"
    if options.small:
        data = {part: read_texts(folder / f"reviews.{part}.tsv") for part in ("train", "test")}
    else:
        folder = report.SHARED / "data/reviews"
        data = {part: labels_first(folder / f"{part}.tsv.gz") for part in ("train", "test")}
    counts = [20, 40] if options.small else COUNTS
    results = report.results_of_model(
        "film reviews", [f"TensorFlow {tf.__version__}", f"Keras {keras.__version__}"]
    )
    tables = report.Tables(
        options.output,
        "domain",
        results,
        lambda row: row.get("what") or cost_name(row),
        options.rows,
        options.resume,
    )
    wanted = {}
    for title in (TITLE, CLASSIFIERS, COSTS):  # in this order
        results["tables"].setdefault(title, [])
        wanted[title] = functools.partial(tables.is_wanted, title)

    def add_to(title, row):
        tables.add(title, row | {"processor": results["machine"]["processor"]})

    def add(name, scores, speed, seconds=None):
        row = {"what": name, **{f"{count:,}": cell(each) for count, each in scores.items()}}
        row["texts a second"] = float(speed)
        if seconds is None:
            add_to(TITLE, row)
        else:
            add_to(CLASSIFIERS, row | {f"seconds of training ({counts[-1]:,})": seconds})

    @functools.cache
    def elmo_of(model):
        return Elmo.from_pretrained(model, tokenizer="treebank")

    any_model, labels = next(iter(models.values())), sorted(set(data["train"][1]))
    makers = {
        f"classifier on {name}": functools.partial(
            TextClassifier, model, labels, tokenizer="treebank"
        )
        for name, model in models.items()
    }
    static = functools.partial(without_elmo, TextClassifier, any_model, tokenizer="treebank")
    makers["classifier without ELMo"] = functools.partial(static, NOTHING, labels)
    sources = {
        name: lambda texts, model=model: mean_vectors(elmo_of(model), texts)
        for name, model in models.items()
    }
    if peers.GLOVE.exists():
        tokenize = elmo_of(any_model).tokenize
        sources[peers.GLOVE_NAME] = lambda texts: peers.static_means(
            *peers.glove(), tokenize(texts)
        )
        makers[f"classifier on {peers.GLOVE_NAME}"] = functools.partial(
            static, peers.glove(), labels
        )
    if peers.has_minilm():
        sources["MiniLM"] = lambda texts: peers.minilm(texts)[0]
    if TRAINING_TEXT.exists():
        cost_rows(options.small, functools.partial(add_to, COSTS), wanted[COSTS])
    linear_rows(data, counts, sources, add, wanted[TITLE])
    classifier_rows(data, counts, makers, add, wanted[CLASSIFIERS])
    print(tables.text())


if __name__ == "__main__":
    main()
