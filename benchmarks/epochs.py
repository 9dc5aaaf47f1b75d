"""When does `fit` end best: after a number of epochs, or by the score of a tenth that is held out?

    python -m benchmarks.epochs ../shared/data > epochs.jsonl

For 100, 1,000 and all training texts of three tasks it prints, as JSON, the scores of the test data
after some epochs, and at the epoch that a tenth of the training texts chose.
"""

import json
import pathlib
import sys

import keras
import numpy as np

from benchmarks.tasks import tasks
from keras_elmo.models.elmo import Elmo
from keras_elmo.models.sentences import Tokens
from keras_elmo.tasks import Tagger, TextClassifier
from keras_elmo.tasks import examples as data

EPOCHS = (3, 5, 8, 10, 12, 15, 20, 25, 30, 40)
NUM_DEV, NUM_TEST = 1000, 1500  # texts that are read after these epochs
RUNS = ((100, 40, 3), (1000, 30, 2), (None, 25, 1))  # texts, epochs, seeds
_embed_stream, _known = Elmo.embed_stream, {}


def embed_once(elmo, sentences, layers="elmo", token_budget=None, progress=False):
    """`Elmo.embed_stream`, which computes the vectors of each sentence once for all trainings."""
    rows = [tuple(map(bytes, row)) for row in sentences]
    missing = list(dict.fromkeys(row for row in rows if row not in _known))
    stream = _embed_stream(elmo, Tokens([list(row) for row in missing]), layers)
    _known.update(zip(missing, stream, strict=True))
    for row in rows:
        yield _known[row]


def run(name, task, parts, num_texts, num_epochs, seed, holds_out):
    """Trains once, and returns the scores."""
    is_text = task.make is TextClassifier
    order = np.random.RandomState(seed).permutation(len(parts["train"][0]))[:num_texts]
    columns = [[column[k] for k in order] for column in parts["train"]]
    labels = sorted({label for _, column in parts.values() for label in np.hstack(column)})
    keras.utils.set_random_seed(seed)
    options = {} if is_text else {"crf": name == "entities"}
    model = (TextClassifier if is_text else Tagger)(
        "tiny", labels, tokenizer=task.tokenizer, **options
    )
    train = model._read(*columns)
    sets = {"dev": NUM_DEV, "test": NUM_TEST}
    sets = {k: model._read(*(column[:n] for column in parts[k])) for k, n in sets.items()}
    if holds_out:
        train, sets["held out"] = train.hold_out()
    cache = data.VectorCache(
        model.elmo, model.vector_names, [train, *sets.values()], 10**10, None, False
    )
    batches = {k: data.batches(x.by_length(), model.elmo, cache=cache) for k, x in sets.items()}
    scores, best = {k: {} for k in sets}, {k: (-1, 0, None, True) for k in (3, 5, 10)}

    def score(part):
        found = keras.Model.evaluate(model, batches[part], verbose=0, return_dict=True)
        return round(100 * found[model.main_metric], 2)

    def on_epoch_end(epoch, _):
        epoch += 1
        if not holds_out:
            if epoch in EPOCHS:
                for part in sets:
                    scores[part][epoch] = score(part)
            return
        scores["held out"][epoch] = now = score("held out")
        for patience, (most, at, weights, goes_on) in best.items():
            if goes_on and now > most:
                most, at, weights = now, epoch, model.head.get_weights()
            best[patience] = most, at, weights, goes_on and epoch - at < patience
        model.stop_training = not any(goes_on for *_, goes_on in best.values())

    callback = keras.callbacks.LambdaCallback(on_epoch_end=on_epoch_end)
    training = data.batches(train, model.elmo, True, cache)
    keras.Model.fit(
        model, training, epochs=num_epochs, verbose=0, shuffle=False, callbacks=callback
    )
    for patience, (_, at, weights, _) in best.items() if holds_out else ():
        model.head.set_weights(weights)
        scores[f"patience {patience}"] = {at: score("test")}
    return scores


def main():
    Elmo.embed_stream = embed_once
    known = tasks(pathlib.Path(sys.argv[1]))
    parts = {name: known[name].read() for name in ("sentiment", "entities", "speech")}
    for num_texts, num_epochs, num_seeds in RUNS:
        for name, columns in parts.items():
            for seed in range(num_seeds):
                for holds_out in (False, True):
                    arguments = num_texts, num_epochs, seed, holds_out
                    scores = run(name, known[name], columns, *arguments)
                    print(json.dumps([name, *arguments, scores]), flush=True)


if __name__ == "__main__":
    main()
