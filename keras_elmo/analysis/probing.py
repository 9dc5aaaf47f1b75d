"""Probing: what each layer of a model knows of tags and of word senses.

A probe is a simple classifier on frozen vectors. If it is right more often with one layer than with
another, that layer holds the information in a plainer form. Both probes return rows that
`pandas.DataFrame(rows)` takes. They need scikit-learn: `pip install "keras-elmo[probe]"`.
"""

import collections
import os
import pathlib
import warnings

import keras
import numpy as np

from keras_elmo.checks import check_library
from keras_elmo.files.labelled_files import read_senses, read_tagged
from keras_elmo.layers import ScalarMix
from keras_elmo.models.embed_stream import unit_vectors
from keras_elmo.process.signals import check_signals

# The learned mix: enough steps for its weights to settle. A small text is seen several times.
_MIX_STEPS = 500
_MIX_BATCH = 1024
_MIX_LEARNING_RATE = 1e-2


def probe_tags(elmo, train, test, label_field="upos", progress=False):
    """What each layer knows of the tags of words: the accuracy of a linear classifier.

    For each layer, a logistic regression learns the tag of a word from its vector. The row `"mix"`
    is of the same regression on a `ScalarMix` of all layers, which learned its weights below a
    linear classifier. The row `"most frequent tag"` is a baseline that knows no sentence: each word
    gets the tag that it has most often in `train`, and a word that is not there the most frequent
    tag of all.

    Args:
        elmo: an `Elmo`.
        train: path of a CoNLL-U file in UTF-8; or a pair of lists, the tokens of each sentence
            and their tags. Words with the tag `_` are not counted.
        test: the same, or a dict of several by their names.
        label_field: of CoNLL-U files: `"upos"`, `"xpos"` or `"deprel"`.
        progress: bool. Show progress bars on standard error.

    Returns:
        A list of dicts, one for each test set and each kind of vectors:

        - `"test"`: str. The path or the name of the test set.
        - `"vectors"`: `"most frequent tag"`, `"layer 0"`, ..., or `"mix"`.
        - `"accuracy"`: float, from 0 to 1; `"tokens"`: int, how many were tested.
        - `"mix weights"`: list of floats, for `"mix"` alone. The weight of each layer.

    Raises:
        ImportError: scikit-learn is not installed.
        ValueError: a file cannot be read, the tags are not one for each token, or `train` has
            fewer than two tags.

    Example:

    >>> rows = probe_tags(elmo, "train.conllu", "test.conllu")
    >>> [(row["vectors"], round(row["accuracy"], 3)) for row in rows]
    """
    check_library("sklearn", "scikit-learn", "probe")
    if not isinstance(test, dict):
        test = {os.fspath(test) if isinstance(test, str | os.PathLike) else "test": test}
    texts = {None: _tagged(train, label_field)}
    texts |= {name: _tagged(data, label_field) for name, data in test.items()}
    words = {name: _tagged_words(text) for name, text in texts.items()}
    labels = {name: np.array([tag for _, tag in pairs], str) for name, pairs in words.items()}
    if len(set(labels[None])) < 2:
        received = ", ".join(set(labels[None])) or "no tags"
        raise ValueError(f"The training text must have at least two tags. Received: {received}")
    scores = {"most frequent tag": _baseline_scores(words)}
    vectors = {name: _vectors(elmo, text, progress) for name, text in texts.items()}
    num_layers = len(vectors[None])
    kinds = {f"layer {k}": np.eye(num_layers)[k] for k in range(num_layers)}
    kinds["mix"] = _learned_mix(vectors[None], labels[None])
    for kind, weights in kinds.items():
        scores[kind] = _linear_scores(vectors, labels, weights)
    return [
        {
            "test": name,
            "vectors": kind,
            "accuracy": scores[kind][name],
            "tokens": len(labels[name]),
            **({"mix weights": kinds["mix"].tolist()} if kind == "mix" else {}),
        }
        for name in test
        for kind in scores
    ]


def _tagged(data, label_field):
    if isinstance(data, str | os.PathLike):
        return read_tagged(data, None, label_field, "conllu")
    sentences, tags = ([list(row) for row in rows] for rows in data)
    if [len(row) for row in sentences] != [len(row) for row in tags]:
        num_tokens, num_tags = (sum(map(len, rows)) for rows in (sentences, tags))
        raise ValueError(
            f"Each token must have one tag. Received: {num_tokens:,} tokens and {num_tags:,} tags"
        )
    return sentences, tags


def _tagged_words(text):
    """Pairs of a word and its tag, of all sentences, without the words whose tag is `_`."""
    rows = (zip(*row, strict=True) for row in zip(*text, strict=True))
    return [(word, tag) for row in rows for word, tag in row if tag != "_"]


def _vectors(elmo, text, progress):
    """All layers of the words whose tag is not `_`: float16 (halves the memory), (layers, N, D)."""
    sentences, tags = text
    masks = [np.array([tag != "_" for tag in row], bool) for row in tags]
    shape = elmo.config.num_layers + 1, sum(map(np.sum, masks)), elmo.config.output_dim
    vectors, end = np.empty(shape, np.float16), 0
    stream = elmo.embed_stream(sentences, layers="all", progress=progress)
    for layers, mask in zip(stream, masks, strict=True):
        start, end = end, end + int(mask.sum())
        vectors[:, start:end] = layers[:, mask]
    return vectors


def most_frequent_tags(pairs):
    """A function of a word to its most frequent tag in pairs of both; of others, that of all."""
    counts = collections.defaultdict(collections.Counter)
    for word, tag in pairs:
        counts[word][tag] += 1
    best = {word: count.most_common(1)[0][0] for word, count in counts.items()}
    usual = collections.Counter(tag for _, tag in pairs).most_common(1)[0][0]
    return lambda word: best.get(word, usual)


def _baseline_scores(words):
    tag_of = most_frequent_tags(words[None])
    return {
        name: sum(tag_of(word) == tag for word, tag in pairs) / len(pairs)
        for name, pairs in words.items()
    }


def _learned_mix(vectors, labels):
    """The weights of a `ScalarMix` that is trained below a linear classifier: (layers,)."""
    names, targets = np.unique(labels, return_inverse=True)
    num_layers, num_tokens, size = vectors.shape
    inputs = [keras.Input((size,)) for _ in range(num_layers)]
    mix = ScalarMix()
    x = keras.layers.BatchNormalization()(mix(inputs))
    initializer = keras.initializers.GlorotUniform(seed=0)
    outputs = keras.layers.Dense(len(names), kernel_initializer=initializer)(x)
    model = keras.Model(inputs, outputs)
    schedule = keras.optimizers.schedules.CosineDecay(_MIX_LEARNING_RATE, _MIX_STEPS)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(schedule), loss)
    rng = np.random.default_rng(0)

    def batches():
        for _ in range(_MIX_STEPS):
            rows = rng.integers(num_tokens, size=_MIX_BATCH)
            yield tuple(layer[rows].astype(np.float32) for layer in vectors), targets[rows]

    model.fit(batches(), epochs=1, steps_per_epoch=_MIX_STEPS, shuffle=False, verbose=0)
    return np.asarray(keras.ops.softmax(mix.scalars), np.float64)


def _linear_scores(vectors, labels, weights):
    """The accuracy of a logistic regression on the weighted sum of the layers, for each text."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    def mixed(layers):
        total = np.zeros(layers.shape[1:], np.float32)
        for layer, weight in zip(layers, weights, strict=True):
            if weight:
                total += np.float32(weight) * layer
        return total

    x = mixed(vectors[None])
    mean, deviation = x.mean(axis=0), np.maximum(x.std(axis=0), 1e-6)
    x -= mean
    x /= deviation
    # L-BFGS needs the data once, in float32, and some hundred passes over it. On UD English EWT,
    # accuracies are the same to 0.1 % with C=1, and it converges sooner with 0.1.
    classifier = LogisticRegression(C=0.1, tol=1e-4, max_iter=200)
    with warnings.catch_warnings():
        # More passes would gain less than a thousandth.
        warnings.simplefilter("ignore", ConvergenceWarning)
        classifier.fit(x, labels[None])
    check_signals()
    del x
    return {
        name: float(np.mean(classifier.predict((mixed(layers) - mean) / deviation) == labels[name]))
        for name, layers in vectors.items()
        if name is not None
    }


def probe_senses(elmo, folder, progress=False, encoding="utf-8", errors="strict"):
    """What each layer knows of the senses of words: the F1 of the nearest sense vector.

    A sense vector is the mean of the word's vectors over the training sentences with that sense.
    In a test sentence, the word gets the sense whose vector is nearest, by the cosine (of equally
    near ones, the more frequent). The row `"average"` is of the plain average of all layers. In the
    baseline `"most frequent sense"` every sentence gets that of the training part.

    Args:
        elmo: an `Elmo`.
        folder: a folder like CoarseWSD-20's, with a folder for each word; or that of one word.
        progress: bool. Show progress bars on standard error.
        encoding, errors: of the files, as in `open`.

    Returns:
        A list of dicts, one for each word and each kind of vectors. If there are several words,
        those of the word `"mean"` come last:

        - `"word"`: str; `"senses"`: int, or `None` for the mean.
        - `"vectors"`: `"most frequent sense"`, `"layer 0"`, ..., or `"average"`.
        - `"f1"`: float, from 0 to 1. The mean of the senses' F1 (macro F1).
        - `"sentences"`: int. How many were tested.

    Raises:
        ImportError: scikit-learn is not installed.
        ValueError: there is no such folder of a word, or a file cannot be read.
    """
    check_library("sklearn", "scikit-learn", "probe")
    words = sense_folders(folder)
    # All files are read before the first word is probed.
    data = [
        [read_senses(word, part, encoding, errors) for part in ("train", "test")] for word in words
    ]
    rows = []
    for word, (train, test) in zip(words, data, strict=True):
        rows += _probe_word(elmo, word.name, train, test, progress)
    if len(words) > 1:
        rows += _mean_rows(rows)
    return rows


def sense_folders(folder):
    """The folders of the words below a folder, which may be that of a word itself."""
    folder = pathlib.Path(folder)
    for folders in [folder], sorted(folder.iterdir()):
        if words := [word for word in folders if (word / "train.data.txt").exists()]:
            return words
    raise ValueError(
        f"{folder} must hold train.data.txt, train.gold.txt, test.data.txt and test.gold.txt, or "
        "folders of these. Received: a folder without"
    )


def _probe_word(elmo, word, train, test, progress):
    from sklearn.metrics import f1_score

    senses, labels = np.unique(train[2], return_inverse=True)
    number_of = {sense: number for number, sense in enumerate(senses)}
    truth = np.array([number_of.get(sense, -1) for sense in test[2]])
    vectors, tested = (_sense_vectors(elmo, *part[:2], progress) for part in (train, test))
    order = np.argsort(-np.bincount(labels), kind="stable")  # the most frequent sense first
    predictions = {"most frequent sense": np.full(len(truth), order[0])}
    for number, name in enumerate([*(f"layer {k}" for k in range(len(vectors) - 1)), "average"]):
        means = np.stack([vectors[number][labels == k].mean(axis=0) for k in range(len(senses))])
        cosines = unit_vectors(tested[number]) @ unit_vectors(means).T
        # In layer 0 all vectors of a word are equal up to rounding; rounding makes ties.
        predictions[name] = order[np.round(cosines, 5)[:, order].argmax(axis=1)]
    options = {"labels": range(len(senses)), "average": "macro", "zero_division": 0}
    return [
        {
            "word": word,
            "vectors": name,
            "f1": float(f1_score(truth, found, **options)),
            "senses": len(senses),
            "sentences": len(truth),
        }
        for name, found in predictions.items()
    ]


def _sense_vectors(elmo, sentences, indices, progress):
    """The layers of the words, and their average: (layers + 1, sentences, D)."""
    stream = elmo.embed_stream(sentences, layers="all", progress=progress)
    rows = [layers[:, index] for layers, index in zip(stream, indices, strict=True)]
    layers = np.stack(rows, axis=1)
    return np.concatenate([layers, layers.mean(axis=0, keepdims=True)])


def _mean_rows(rows):
    rows_of = collections.defaultdict(list)
    for row in rows:
        rows_of[row["vectors"]].append(row)
    return [
        {
            "word": "mean",
            "vectors": name,
            "f1": float(np.mean([row["f1"] for row in rows])),
            "senses": None,
            "sentences": sum(row["sentences"] for row in rows),
        }
        for name, rows in rows_of.items()
    ]
