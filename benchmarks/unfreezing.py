"""`python -m benchmarks.unfreezing MODEL`: fine-tuning as in ULMFiT beside one rate for all layers.

A `TextClassifier` learns SST-2: its head first, then it goes on with all of ELMo for at most eight
epochs, and ends after four without a better accuracy on the dev sentences. From the same head on:

- "one rate": Adam with the default's 0.0005 for all.
- "layer by layer": the layers are unfrozen one after the other, an epoch each, from the upper LSTMs
  down to the character encoder, and each has 1 / 2.6 of the rate of the one above it (Howard and
  Ruder 2018, arXiv 1801.06146).

Accuracies on the test sentences, and the seconds of training after the head.
"""

import gc
import tempfile
import time

import keras
import tensorflow as tf

from benchmarks import report
from benchmarks.tasks import tasks
from keras_elmo import TextClassifier
from keras_elmo.tasks import task_model

EPOCHS, PATIENCE = 8, 4
RATE_OF_NEXT = 1 / 2.6  # of the layer below
TITLE = "SST-2, accuracy (%)"


def depth(variable):
    """How many layers lie above a variable: 0 of the head, 1 of the upper LSTMs."""
    names = {"character_encoder": 3, "forward_0": 2, "backward_0": 2, "bilm": 1}
    return max((k for name, k in names.items() if name in variable.path), default=0)


class LayerwiseAdam(keras.optimizers.Adam):
    """Adam with a rate for each depth, of which some are frozen."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._factors = [keras.Variable(RATE_OF_NEXT**k, trainable=False) for k in range(4)]

    def update_step(self, gradient, variable, learning_rate):
        index = self._get_variable_index(variable)  # of a variable of TensorFlow, without a path
        factor = self._factors[depth(self._trainable_variables[index])]
        super().update_step(gradient, variable, learning_rate * factor)

    def unfreeze(self, last):
        """Trains what lies at most so deep."""
        for k, factor in enumerate(self._factors):
            factor.assign(RATE_OF_NEXT**k if k <= last else 0.0)


class Unfreezing(keras.callbacks.Callback):
    """One more layer in each epoch."""

    def on_epoch_begin(self, epoch, logs=None):
        self.model.optimizer.unfreeze(epoch + 1)


def accuracy(model, data):
    return 100 * model.evaluate(*data, verbose=0, return_dict=True)["accuracy"]


def measure(model, data, seed, head_epochs, folder):
    """The row of a seed."""
    labels = sorted(set(data["train"][1]))
    head = f"{folder}/head.weights.h5"

    def make():
        gc.collect()
        keras.utils.set_random_seed(seed)
        return TextClassifier(model, labels, tokenizer="whitespace")

    def fit(classifier, epochs, *callbacks):
        start = time.perf_counter()
        kwargs = {"validation_data": data["dev"], "epochs": epochs, "verbose": 0}
        classifier.fit(*data["train"], callbacks=callbacks, **kwargs)
        return time.perf_counter() - start

    classifier = make()
    fit(classifier, head_epochs, classifier.early_stopping())
    classifier.save_weights(head)
    row = {"seed": seed, "head": accuracy(classifier, data["test"])}
    for name in ("one rate", "layer by layer"):
        classifier = make()
        classifier.load_weights(head)
        classifier.trainable_part = "all"
        callbacks = [classifier.early_stopping(PATIENCE)]
        if name == "layer by layer":
            classifier.compile(LayerwiseAdam(task_model.FINE_TUNING_RATE))
            callbacks.append(Unfreezing())
        seconds = fit(classifier, EPOCHS, *callbacks)
        row |= {name: accuracy(classifier, data["test"]), f"{name}, seconds": seconds}
    return row


def main():
    small = "two epochs of the examples' own reviews"
    parser = report.parser("benchmarks.unfreezing", __doc__, "unfreezing", small)
    parser.add_argument("model", help="tiny (in the package), a published name, a folder or a zip")
    parser.add_argument("--seeds", type=int, nargs="+", help="only these anew (all: 0 1 2)")
    options = parser.parse_args()
    data = tasks(report.SHARED / "data")["sentiment"].read(options.small)
    versions = [f"TensorFlow {tf.__version__}", f"Keras {keras.__version__}"]
    results = report.results_of_model(options.model, versions)
    tables = report.Tables(
        options.output, "unfreezing", results, lambda row: row["seed"], options.seeds
    )
    with tempfile.TemporaryDirectory() as folder:
        for seed in options.seeds or range(3):
            epochs = 2 if options.small else 20
            tables.add(TITLE, measure(options.model, data, seed, epochs, folder))
    print(tables.text())


if __name__ == "__main__":
    main()
