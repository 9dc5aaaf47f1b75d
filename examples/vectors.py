"""Training on vectors that were computed once: what classify_text.py and tag_tokens.py share."""

import pathlib
import statistics
import sys
import time

import keras
import numpy as np
import tensorflow as tf

import keras_elmo

DATA = pathlib.Path(__file__).parent / "data"


def add_arguments(parser, default):
    """Adds the arguments of a comparison.

    Args:
        parser: an `argparse.ArgumentParser`.
        default: string. The names of the files in examples/data, with `{}` for train, dev and test.
    """
    files = [DATA / default.format(part) for part in ("train", "dev", "test")]
    parser.add_argument("files", nargs="*", metavar="TRAIN DEV TEST", default=files)
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--epochs", type=int, default=20, help="at most (20)")
    parser.add_argument("--seeds", type=int, default=1, help="trainings of each row (1)")


def parse(parser, arguments):
    """The parsed arguments; there are three files."""
    options = parser.parse_args(arguments)
    if len(options.files) != 3:
        parser.error("give three files: TRAIN DEV TEST")
    return options


class Batches:
    """Batches of sentences of like length, padded with zeros.

    Args:
        vectors: list of floats, (layers, tokens, D). What `Elmo.embed` gives.
        labels: an int for each sentence, or a list of ints with one for each token.
        rng: a NumPy `Generator` that shuffles the batches of each epoch, or `None`.
        size: int. Sentences of a batch.
    """

    def __init__(self, vectors, labels, rng=None, size=32):
        self.vectors, self.labels, self.rng = vectors, labels, rng
        order = sorted(range(len(vectors)), key=lambda row: vectors[row].shape[1])
        self.rows = [order[k : k + size] for k in range(0, len(order), size)]

    def dataset(self):
        """The batches as what Keras trains on.

        Not a `keras.utils.PyDataset`: Keras takes the width of its first two batches for that of
        all where both have the same.
        """
        layers, _, size = self.vectors[0].shape
        labels = [None] * (1 + np.ndim(self.labels[0]))
        signature = (
            tf.TensorSpec([None, None, layers * size], tf.float32),
            tf.TensorSpec(labels, tf.int32),
        )
        dataset = tf.data.Dataset.from_generator(self._epoch, output_signature=signature)
        return dataset.apply(tf.data.experimental.assert_cardinality(len(self.rows)))

    def _epoch(self):
        if self.rng is not None:
            self.rng.shuffle(self.rows)
        return map(self.batch, self.rows)

    def batch(self, rows):
        """The vectors and labels of some sentences, padded."""
        width = max(1, *(self.vectors[row].shape[1] for row in rows))
        layers, _, size = self.vectors[0].shape
        x = np.zeros((len(rows), width, layers * size), np.float32)
        y = np.zeros((len(rows), *([width] * np.ndim(self.labels[rows[0]]))), np.int32)
        for k, row in enumerate(rows):
            count = self.vectors[row].shape[1]
            x[k, :count] = self.vectors[row].swapaxes(0, 1).reshape(count, layers * size)
            if y.ndim == 2:
                y[k, :count] = self.labels[row]
            else:
                y[k] = self.labels[row]
        return x, y

    def predict(self, function):
        """What a function of a batch's vectors gives for each sentence, in the order of these."""
        layers, _, size = self.vectors[0].shape
        # One graph for batches of any width: Keras's `predict_on_batch` makes one for each width.
        spec = tf.TensorSpec([None, None, layers * size], tf.float32)
        graph = tf.function(function, input_signature=[spec], autograph=False)
        outputs = [None] * len(self.vectors)
        for rows in self.rows:
            batch = graph(self.batch(rows)[0]).numpy()
            for row, output in zip(rows, batch, strict=True):
                outputs[row] = output
        return outputs


class Mix(keras.layers.Layer):
    """The learned mix of layers that stand side by side: (batch, tokens, layers * D)."""

    def __init__(self, num_layers):
        super().__init__()
        self.num_layers = num_layers
        self.mix = keras_elmo.ScalarMix()
        self.supports_masking = True

    def build(self, input_shape):
        shape = (*input_shape[:-1], input_shape[-1] // self.num_layers)
        self.mix.build([shape] * self.num_layers)

    def call(self, inputs):
        return self.mix(keras.ops.split(inputs, self.num_layers, axis=-1))

    def shares(self):
        """The share of each layer: floats that add up to 1."""
        return [round(float(share), 2) for share in keras.ops.softmax(self.mix.scalars)]


def embed(elmo, sentences):
    """All layers of each sentence, float16 to save memory: a list of (layers, tokens, D)."""
    return [x.astype(np.float16) for x in elmo.embed_stream(sentences, layers="all")]


def fit(head, loss, train_data, dev_data, epochs, seed):
    """A model of vectors: the head on one layer or on the mix, as it was in its best epoch.

    Args:
        head: a function without arguments that makes the list of Keras layers above the vectors.
        loss: what `compile` takes.
        train_data, dev_data: vectors and labels, as `Batches` takes them. The best epoch is the
            one of the least loss on `dev_data`.
    """
    keras.utils.set_random_seed(seed)
    num_layers, _, size = train_data[0][0].shape
    inputs = keras.Input((None, num_layers * size))
    mix = [Mix(num_layers)] if num_layers > 1 else []
    model = keras.Sequential([inputs, keras.layers.Masking(), *mix, *head()])
    model.compile(keras.optimizers.Adam(2e-3), loss)
    model.fit(
        Batches(*train_data, np.random.default_rng(seed)).dataset(),
        validation_data=Batches(*dev_data).dataset(),
        epochs=epochs,
        callbacks=callbacks(),
        shuffle=False,  # `Batches` does
        verbose=0,
    )
    return model


class EpochLine(keras.callbacks.Callback):
    """Shows in a terminal which epoch is running, in one line that is gone after the training."""

    def on_epoch_begin(self, epoch, logs=None):
        if sys.stderr.isatty():
            text = f"\rtraining: epoch {epoch + 1} of at most {self.params['epochs']}"
            print(text, end="", file=sys.stderr, flush=True)

    def on_train_end(self, logs=None):
        if sys.stderr.isatty():
            print("\r" + " " * 40 + "\r", end="", file=sys.stderr, flush=True)


def callbacks():
    """What ends a training that gets no better, and goes back to its best epoch."""
    return [keras.callbacks.EarlyStopping(patience=3, restore_best_weights=True), EpochLine()]


def compare(elmo, texts, make, rate, seeds, report, skip=()):
    """Trains and scores a model on each layer alone, and on the learned mix of all.

    Args:
        texts: three pairs of sentences and labels: to train, to choose the epoch, to test.
        make: a function of the vectors and labels of the first two and a seed, which returns a
            trained model.
        rate: a function of a model and the vectors and labels of the third, which returns its score
            (%).
        report: a function that is called with each row when it is done, `report_rows` for example.
        skip: the names of rows that are left out.

    Returns:
        A dict of rows: `"scores"` of each training, its `"seconds"` of the processor (all cores
        added up), and `"shares"` of the layers in the mix; and the model that was trained last,
        which is on the mix unless that was left out.
    """
    layers, results, model = list(range(elmo.config.num_layers + 1)), {}, None
    rows = {**{f"layer {k}": [k] for k in layers}, "mix": layers}
    rows = {name: chosen for name, chosen in rows.items() if name not in skip}
    data = [(embed(elmo, sentences), labels) for sentences, labels in texts] if rows else []
    for name, chosen in rows.items():
        parts = [([x[chosen] for x in sentences], labels) for sentences, labels in data]
        scores, seconds = [], []
        for seed in seeds:
            start = time.process_time()
            model = make(*parts[:2], seed)
            seconds.append(time.process_time() - start)
            scores.append(rate(model, parts[2]))
        results[name] = {"scores": scores, "seconds": seconds}
        if name == "mix":
            results[name]["shares"] = model.layers[1].shares()
        report({name: results[name]})
    return results, model


def report_rows(results):
    """Prints rows: mean score, its standard deviation, processor time of a training, the mix."""
    for name, row in results.items():
        text = f"{name:36} {statistics.mean(row['scores']):5.1f}"
        if len(row["scores"]) > 1:
            text += f" +- {statistics.stdev(row['scores']):.1f}"
        if "seconds" in row:
            text += f"   ({statistics.mean(row['seconds']):.0f} s of the processor)"
        print(text, flush=True)
        if "shares" in row:
            print(f"shares of the layers in the mix: {row['shares']}", flush=True)
