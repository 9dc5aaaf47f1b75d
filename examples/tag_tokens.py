"""A tagger on tokens: named entities or parts of speech, by each layer of ELMo and by their mix.

python examples/tag_tokens.py [--crf] [--model MODEL] [--output TAGGER.keras] [TRAIN DEV TEST]

The files have a token a line and a blank line after each sentence: CoNLL-U (*.conllu, whose UPOS
tags are read), or columns with the token first and the tag last. Without files, a few sentences in
examples/data are read. Tags like B-person are scored by entities (F1), others by tokens (accuracy).
The program needs seqeval: pip install "keras_elmo[examples]".
"""

import argparse
import collections
import pathlib
import statistics
import time

import keras
import numpy as np
from seqeval.metrics import f1_score

import keras_elmo

DATA = pathlib.Path(__file__).parent / "data"


def read(path):
    """The sentences of a file (lists of tokens), and their tags."""
    sentences, tags, row = [], [], []
    is_conllu = str(path).endswith(".conllu")
    for line in [*pathlib.Path(path).read_text(encoding="utf-8").split("\n"), ""]:
        columns = line.split("\t") if "\t" in line else line.split()
        if not columns and row:
            sentences.append([token for token, _ in row])
            tags.append([tag for _, tag in row])
            row = []
        elif columns and not is_conllu:
            row.append((columns[0], columns[-1]))
        elif columns and columns[0].isdecimal():  # no comment, and no range of tokens
            row.append((columns[1].replace(" ", "\u00a0"), columns[3]))
    return sentences, tags


class Batches(keras.utils.PyDataset):
    """Batches of sentences of like length, padded with zeros.

    Args:
        vectors: list of floats, (layers, tokens, D). What `Elmo.embed` gives.
        tags: list of lists of ints.
        rng: a NumPy `Generator` that shuffles the batches, or `None`.
    """

    def __init__(self, vectors, tags, rng=None, size=32):
        super().__init__()
        self.vectors, self.tags, self.rng = vectors, tags, rng
        order = sorted(range(len(vectors)), key=lambda row: vectors[row].shape[1])
        self.rows = [order[k : k + size] for k in range(0, len(order), size)]
        self.on_epoch_end()

    def __len__(self):
        return len(self.rows)

    def on_epoch_end(self):
        if self.rng is not None:
            self.rng.shuffle(self.rows)

    def __getitem__(self, index):
        rows = self.rows[index]
        width = max(self.vectors[row].shape[1] for row in rows)
        layers, _, size = self.vectors[0].shape
        x = np.zeros((len(rows), width, layers * size), np.float32)
        y = np.zeros((len(rows), width), np.int32)
        for k, row in enumerate(rows):
            count = self.vectors[row].shape[1]
            x[k, :count] = self.vectors[row].swapaxes(0, 1).reshape(count, -1)
            y[k, :count] = self.tags[row]
        return x, y


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


def head(num_tags, has_crf):
    """The layers of a tagger above ELMo."""
    layers = [
        keras.layers.Dropout(0.3),
        keras.layers.Bidirectional(keras.layers.LSTM(64, return_sequences=True)),
    ]
    if has_crf:
        return [*layers, keras.layers.Dense(num_tags), keras_elmo.CRF()]
    return [*layers, keras.layers.Dense(num_tags, activation="softmax")]


def train(train_data, dev_data, num_tags, has_crf, epochs, seed):
    """Trains a tagger on vectors; the best epoch by the loss of the development data."""
    keras.utils.set_random_seed(seed)
    num_layers, _, size = train_data[0][0].shape
    inputs = keras.Input((None, num_layers * size))
    mix = [Mix(num_layers)] if num_layers > 1 else []
    model = keras.Sequential([inputs, keras.layers.Masking(), *mix, *head(num_tags, has_crf)])
    loss = keras_elmo.CRFLoss() if has_crf else "sparse_categorical_crossentropy"
    model.compile(keras.optimizers.Adam(2e-3), loss)
    best = keras.callbacks.EarlyStopping(patience=3, restore_best_weights=True)
    model.fit(
        Batches(*train_data, np.random.default_rng(seed)),
        validation_data=Batches(*dev_data),
        epochs=epochs,
        callbacks=[best],
        verbose=0,
    )
    return model


def predict(model, data, has_crf):
    """The numbers of the tags of each sentence."""
    decode = keras_elmo.CRFDecoder() if has_crf else lambda outputs: outputs.argmax(-1)
    batches, found = Batches(*data), [None] * len(data[0])
    for index, rows in enumerate(batches.rows):
        tags = np.asarray(decode(model.predict_on_batch(batches[index][0])))
        for k, row in enumerate(rows):
            found[row] = tags[k, : data[0][row].shape[1]].tolist()
    return found


def score(right, found):
    """Entity F1 where the tags are of the scheme B-, I-, O, else accuracy over the tokens (%)."""
    if any(tag.startswith("B-") for row in right for tag in row):
        return 100 * f1_score(right, found)
    pairs = [pair for rows in zip(right, found, strict=True) for pair in zip(*rows, strict=True)]
    return 100 * sum(a == b for a, b in pairs) / len(pairs)


def most_frequent_tags(sentences, tags, others):
    """A baseline: for each word its most frequent tag, and the most frequent of all for others."""
    counts, total = collections.defaultdict(collections.Counter), collections.Counter()
    for words, row in zip(sentences, tags, strict=True):
        for word, tag in zip(words, row, strict=True):
            counts[word][tag] += 1
            total[tag] += 1
    usual = total.most_common(1)[0][0]
    best = {word: count.most_common(1)[0][0] for word, count in counts.items()}
    return [[best.get(word, usual) for word in words] for words in others]


def compare(elmo, files, has_crf=False, epochs=20, seeds=(0,), report=print):
    """Trains and scores a tagger for each layer and for their mix.

    Returns:
        A dict of rows, each a list of scores on the test data, one for each seed; the tags; and
        the tagger that was trained last, which is on the mix.
    """
    texts = [read(file) for file in files]
    names = sorted({tag for row in texts[0][1] for tag in row})
    number_of = {tag: k for k, tag in enumerate(names)}
    data = []
    for sentences, tags in texts:
        vectors = [x.astype(np.float16) for x in elmo.embed(sentences, layers="all")]
        data.append((vectors, [[number_of.get(tag, 0) for tag in row] for row in tags]))
    right = texts[2][1]
    usual = most_frequent_tags(*texts[0], texts[2][0])
    baseline = "each word's most frequent tag"
    results = {baseline: [score(right, usual)]}
    report(f"{baseline:30} {results[baseline][0]:6.1f}")
    num_layers = elmo.config.num_layers + 1
    choices = {f"layer {k}": [k] for k in range(num_layers)} | {"mix": list(range(num_layers))}
    for name, layers in choices.items():
        parts = [([x[layers] for x in vectors], tags) for vectors, tags in data]
        start, scores = time.perf_counter(), []
        for seed in seeds:
            model = train(*parts[:2], len(names), has_crf, epochs, seed)
            found = predict(model, parts[2], has_crf)
            scores.append(score(right, [[names[k] for k in row] for row in found]))
        results[name] = scores
        spread = f" +- {statistics.stdev(scores):.1f}" if len(scores) > 1 else ""
        seconds = (time.perf_counter() - start) / len(seeds)
        report(f"{name:30} {statistics.mean(scores):6.1f}{spread}   ({seconds:.0f} s)")
    scalars = model.layers[1].mix.scalars.numpy()
    weights = np.exp(scalars) / np.exp(scalars).sum()
    report(f"weights of the layers in the mix: {np.round(weights, 2).tolist()}")
    return results, names, model


def tagger_of_tokens(elmo, model, has_crf):
    """The trained tagger on top of the whole ELMo: padded tokens to numbers of tags or chances."""
    mix = model.layers[1].mix
    elmo.mixes[0].set_weights(mix.get_weights())
    inputs = keras.Input((None,), dtype="string")
    x = keras_elmo.ElmoEmbedding(elmo)(inputs)
    for layer in model.layers[2:]:
        x = layer(x)
    return keras.Model(inputs, keras_elmo.CRFDecoder()(x) if has_crf else x)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    default = [DATA / f"entities.{part}.txt" for part in ("train", "dev", "test")]
    parser.add_argument("files", nargs="*", metavar="TRAIN DEV TEST", default=default)
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--crf", action="store_true", help="a CRF in the place of the softmax")
    parser.add_argument("--epochs", type=int, default=20, help="at most (20)")
    parser.add_argument("--seeds", type=int, default=1, help="trainings of each row (1)")
    parser.add_argument("--output", help="where to write the tagger on the mix (*.keras)")
    options = parser.parse_args(arguments)
    if len(options.files) != 3:
        parser.error("give three files: TRAIN DEV TEST")
    elmo = keras_elmo.Elmo.from_pretrained(options.model, tokenizer=None)
    results, names, model = compare(
        elmo, options.files, options.crf, options.epochs, range(options.seeds)
    )
    tagger = tagger_of_tokens(elmo, model, options.crf)
    if options.output:
        tagger.save(options.output)
    return results, names, tagger


if __name__ == "__main__":
    main()
