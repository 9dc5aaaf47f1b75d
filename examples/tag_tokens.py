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

import keras
from keras import ops
from seqeval.metrics import f1_score

import keras_elmo
import vectors
from keras_elmo.analysis.annotated_files import read_conllu


def read(path):
    """The sentences of a file (lists of tokens), and their tags."""
    if str(path).endswith(".conllu"):
        return read_conllu(path)
    sentences, tags, row = [], [], []
    lines = pathlib.Path(path).read_text(encoding="utf-8").split("\n")
    for number, line in enumerate([*lines, ""], 1):
        columns = line.split("\t") if "\t" in line else line.split()
        if line.strip():
            token, tag = columns[0].strip(), columns[-1].strip()
            if len(columns) == 1 or not (token and tag):
                raise ValueError(
                    "Each line must hold a token and a tag, or be blank. "
                    f"Received: line {number} of {path}: {line!r}"
                )
            row.append((token, tag))
        elif row:
            sentences.append([token for token, _ in row])
            tags.append([tag for _, tag in row])
            row = []
    if not sentences:
        raise ValueError(f"{path} must hold lines of a token and a tag. Received: blank lines only")
    return sentences, tags


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
    """A tagger of vectors."""
    loss = keras_elmo.CRFLoss() if has_crf else "sparse_categorical_crossentropy"
    return vectors.fit(lambda: head(num_tags, has_crf), loss, train_data, dev_data, epochs, seed)


def predict(model, data, has_crf):
    """The numbers of the tags of each sentence."""
    decode = keras_elmo.CRFDecoder() if has_crf else lambda outputs: ops.argmax(outputs, -1)
    tags = vectors.Batches(*data).predict(lambda x: decode(model(x, training=False)))
    return [row[: x.shape[1]].tolist() for row, x in zip(tags, data[0], strict=True)]


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


def compare(elmo, files, has_crf=False, epochs=20, seeds=(0,), report=vectors.report_rows, skip=()):
    """Trains and scores a tagger for each layer and for their mix.

    Args:
        report: a function that is called with each row when it is done.
        skip: the names of rows with ELMo that are left out.

    Returns:
        A dict of rows, see `vectors.compare`; the tags; and the tagger that was trained last,
        which is on the mix.
    """
    texts = [read(file) for file in files]
    names = sorted({tag for row in texts[0][1] for tag in row})
    number_of = {tag: k for k, tag in enumerate(names)}
    numbers = [
        (sentences, [[number_of.get(tag, 0) for tag in row] for row in tags])
        for sentences, tags in texts
    ]
    right = texts[2][1]
    usual = most_frequent_tags(*texts[0], texts[2][0])
    results = {"each word's most frequent tag": {"scores": [score(right, usual)]}}
    report(results)

    def make(train_data, dev_data, seed):
        return train(train_data, dev_data, len(names), has_crf, epochs, seed)

    def rate(model, test_data):
        found = predict(model, test_data, has_crf)
        return score(right, [[names[k] for k in row] for row in found])

    of_vectors, model = vectors.compare(elmo, numbers, make, rate, seeds, report, skip)
    return results | of_vectors, names, model


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
    vectors.add_arguments(parser, "entities.{}.txt")
    parser.add_argument("--crf", action="store_true", help="a CRF in the place of the softmax")
    parser.add_argument("--output", help="where to write the tagger on the mix (*.keras)")
    options = vectors.parse(parser, arguments)
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
