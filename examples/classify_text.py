"""A classifier of texts, by each layer of ELMo and by their mix, beside plain baselines.

python examples/classify_text.py [--model MODEL] [--output CLASSIFIER.keras] [TRAIN DEV TEST]

The files have a text, a tab and a label on each line; the labels may be any words. Without files, a
few reviews in examples/data are read. The last rows are a `keras.Sequential` on raw strings: with
ELMo frozen but for its mix, and with --fine-tune also one whose training goes on with all of ELMo.
The program needs scikit-learn: pip install "keras_elmo[examples]".
"""

import argparse
import collections
import pathlib
import time

import keras
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

import keras_elmo
import vectors


def read(path):
    """The texts of a file, and their labels."""
    rows = []
    for number, line in enumerate(pathlib.Path(path).read_text(encoding="utf-8").split("\n"), 1):
        text, tab, label = line.rpartition("\t")
        if line and not (text.strip() and tab and label.strip()):
            raise ValueError(
                f"Each line must hold a text, a tab and a label. Received: line {number} of "
                f"{path}: {line!r}"
            )
        if line:
            rows.append((text, label.strip()))
    if not rows:
        raise ValueError(
            f"{path} must hold lines of a text, a tab and a label. Received: blank lines only"
        )
    return [text for text, _ in rows], [label for _, label in rows]


def head(num_labels):
    """The layers of a classifier above ELMo. The LSTMs and the dropout read no padding."""
    return [
        keras.layers.LayerNormalization(),
        keras.layers.Dropout(0.3),
        keras.layers.Bidirectional(keras.layers.LSTM(64)),
        keras.layers.Dense(num_labels, activation="softmax"),
    ]


def majority(train_labels, test_labels):
    """Accuracy (%) of the most frequent label."""
    label, _ = collections.Counter(train_labels).most_common(1)[0]
    return 100 * float(np.mean(np.array(test_labels) == label))


def bag_of_words(train, dev, test):
    """Accuracy (%) of a logistic regression on words and pairs of words."""
    features = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\S+")
    x = features.fit_transform(train[0])
    models = [LogisticRegression(C=c, max_iter=1000).fit(x, train[1]) for c in (1, 10, 100)]
    best = max(models, key=lambda model: model.score(features.transform(dev[0]), dev[1]))
    return 100 * best.score(features.transform(test[0]), test[1])


# How the rows on raw strings train: the parts of ELMo that train one after another (see `Elmo`),
# and the learning rates. A large rate would make ELMo forget what it knows.
TRAININGS = {
    "on raw strings, mix trained": {"mix": 2e-3},
    "on raw strings, then all trained": {"mix": 2e-3, "all": 5e-4},
}


def train_on_strings(elmo, train, dev, num_labels, rates, epochs, seed):
    """The same head in a `keras.Sequential` on raw strings.

    Args:
        train, dev: texts, and the numbers of their labels.
        rates: a value of `TRAININGS`.
    """
    keras.utils.set_random_seed(seed)
    embedding = keras_elmo.ElmoEmbedding(elmo)
    classifier = keras.Sequential(
        [keras.Input(shape=(), dtype="string"), embedding, *head(num_labels)]
    )
    for part, rate in rates.items():
        embedding.trainable_part = part
        classifier.compile(keras.optimizers.Adam(rate), "sparse_categorical_crossentropy")
        classifier.fit(
            keras_elmo.strings(train[0]),
            np.array(train[1]),
            validation_data=(keras_elmo.strings(dev[0]), np.array(dev[1])),
            epochs=epochs,
            callbacks=vectors.callbacks(),
            verbose=0,
        )
    return classifier


def compare(
    make_elmo,
    files,
    trainings=tuple(TRAININGS)[:1],
    epochs=20,
    seeds=(0,),
    report=vectors.report_rows,
    skip=(),
):
    """Trains and scores the baselines, a classifier of each layer and the mix, and on raw strings.

    Args:
        make_elmo: a function without arguments that returns an `Elmo`. Each training on raw strings
            begins with a new one.
        trainings: the names of the rows on raw strings, keys of `TRAININGS`.
        report: a function that is called with each row when it is done.
        skip: the names of rows with ELMo that are left out.

    Returns:
        A dict of rows, see `vectors.compare`; the labels; and the classifier that was trained last,
        which takes raw strings, or `None` where no row of raw strings was asked for.
    """
    texts = [read(file) for file in files]
    names = sorted(set(texts[0][1]))
    number_of = {label: k for k, label in enumerate(names)}
    unknown = {label for _, labels in texts for label in labels} - set(names)
    if unknown:
        raise ValueError(
            "Each label must occur in the training file. "
            f"Received: {sorted(unknown)} in the other files, and {names} in the training file"
        )
    numbers = [[number_of[label] for label in labels] for _, labels in texts]
    right = np.array(numbers[2])
    results = {
        "the most frequent label": {"scores": [majority(texts[0][1], texts[2][1])]},
        "bag of words, logistic regression": {"scores": [bag_of_words(*texts)]},
    }
    report(results)

    def make(train_data, dev_data, seed):
        loss = "sparse_categorical_crossentropy"
        return vectors.fit(lambda: head(len(names)), loss, train_data, dev_data, epochs, seed)

    def rate(model, test_data):
        found = np.array(vectors.Batches(*test_data).predict(lambda x: model(x, training=False)))
        return 100 * float(np.mean(found.argmax(-1) == right))

    strings = [(part[0], row) for part, row in zip(texts, numbers, strict=True)]
    of_vectors, _ = vectors.compare(make_elmo(), strings, make, rate, seeds, report, skip)
    results |= of_vectors
    classifier = None
    for name in (name for name in trainings if name not in skip):
        results[name] = {"scores": [], "seconds": []}
        for seed in seeds:
            start = time.process_time()
            classifier = train_on_strings(
                make_elmo(), *strings[:2], len(names), TRAININGS[name], epochs, seed
            )
            results[name]["seconds"].append(time.process_time() - start)
            found = classifier.predict(keras_elmo.strings(texts[2][0]), verbose=0)
            results[name]["scores"].append(100 * float(np.mean(found.argmax(-1) == right)))
        report({name: results[name]})
    return results, names, classifier


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    vectors.add_arguments(parser, "reviews.{}.tsv")
    parser.add_argument("--tokenizer", default="whitespace", help="see keras_elmo.Elmo")
    parser.add_argument("--fine-tune", action="store_true", help="add a row with ELMo fine-tuned")
    parser.add_argument("--output", help="where to write the last classifier (*.keras)")
    options = vectors.parse(parser, arguments)

    def make_elmo():
        return keras_elmo.Elmo.from_pretrained(options.model, tokenizer=options.tokenizer)

    trainings = list(TRAININGS)[: 2 if options.fine_tune else 1]
    results, names, classifier = compare(
        make_elmo, options.files, trainings, options.epochs, range(options.seeds)
    )
    if options.output:
        classifier.save(options.output)
    return results, names, classifier


if __name__ == "__main__":
    main()
