"""`python -m benchmarks.probes MODEL`: what the layers of a model know.

- CoarseWSD-20: 20 ambiguous nouns. A test sentence's noun gets the sense whose mean vector over the
  training sentences is nearest by the cosine; macro F1 of the senses, mean of the nouns.
- UD English EWT: a linear classifier from a token's vector to its part of speech (UPOS), trained on
  the training part; accuracy on the test part.
- The nouns of sentences about rivers and about money: the nearest neighbour of each.

Vectors are those of `Elmo.embed`; "mix" is the average of the layers for the nouns, and learned
with the classifier (`ScalarMix`) for the parts of speech.
"""

import datetime
import os
import pathlib

import keras
import numpy as np

import keras_elmo
from benchmarks import report

BANK = {
    "river": [
        "They sat on the bank of the river and watched the water .",
        "The boat was tied to the bank of the stream .",
        "We walked along the muddy bank of the river .",
        "The south bank of the river was flooded after the rain .",
    ],
    "money": [
        "He put his money in the bank .",
        "The bank raised the interest rate on loans .",
        "She works at a bank in the city as a manager .",
        "The bank lent the company two million dollars .",
    ],
}


def names(elmo):
    """The rows of every table: layers, and their mix."""
    return [*(f"layer {k}" for k in range(elmo.config.num_layers + 1)), "mix"]


def with_average(layers):
    """(layers, tokens, D) -> the same with the average as one more."""
    return np.concatenate([layers, layers.mean(0, keepdims=True)])


def read_senses(folder, part):
    """Sentences (lists of tokens), the place of the noun in each, and its sense."""
    lines = (folder / f"{part}.data.txt").read_text(encoding="utf-8").split("\n")
    rows = [line.split("\t") for line in lines if line]
    golds = (folder / f"{part}.gold.txt").read_text().split()
    return [row[1].split() for row in rows], [int(row[0]) for row in rows], np.array(golds, int)


def noun_vectors(elmo, sentences, places):
    """(layers and mix, sentences, D)."""
    vectors = elmo.embed_stream(sentences, layers="all")
    rows = [layers[:, place] for layers, place in zip(vectors, places, strict=True)]
    return with_average(np.stack(rows, axis=1))


def macro_f1(truth, predicted, number):
    scores = []
    for sense in range(number):
        hits = np.sum((truth == sense) & (predicted == sense))
        wrong = np.sum((truth == sense) != (predicted == sense))
        scores.append(2 * hits / max(1, 2 * hits + wrong))
    return float(np.mean(scores))


def unit(x):
    return x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-12)


def senses(elmo, folder):
    """F1 of each noun by layer: rows, the mean last."""
    rows = []
    for noun in sorted(path for path in folder.iterdir() if path.is_dir()):
        vectors, golds = {}, {}
        for part in ("train", "test"):
            sentences, places, golds[part] = read_senses(noun, part)
            vectors[part] = noun_vectors(elmo, sentences, places)
        number = int(golds["train"].max()) + 1
        row = {"noun": noun.name, "senses": number, "test sentences": len(golds["test"])}
        for k, name in enumerate(names(elmo)):
            means = np.stack(
                [vectors["train"][k][golds["train"] == sense].mean(0) for sense in range(number)]
            )
            predicted = np.argmax(unit(vectors["test"][k]) @ unit(means).T, axis=1)
            row[f"F1, {name}"] = 100 * macro_f1(golds["test"], predicted, number)
        rows.append(row)
        print(row, flush=True)
    mean = {name: float(np.mean([row[name] for row in rows])) for name in rows[0] if "F1" in name}
    total = sum(row["test sentences"] for row in rows)
    return [*rows, {"noun": "mean", "senses": "", "test sentences": total, **mean}]


def read_tags(path, most=None):
    """Sentences (lists of words) of CoNLL-U, and the UPOS tags of all their words."""
    sentences, tags, words = [], [], []
    for line in path.read_text(encoding="utf-8").split("\n"):
        columns = line.split("\t")
        if len(columns) == 10 and columns[0].isdecimal():
            words.append(columns[1].replace(" ", "\u00a0"))
            tags.append(columns[3])
        elif not line and words:
            sentences.append(words)
            words = []
            if len(sentences) == most:
                break
    return sentences, tags


def speech(elmo, folder, epochs=12, most=None):
    """Accuracies of the linear classifiers: a row for each layer and the mix."""
    parts = {}
    for part in ("train", "dev", "test"):
        sentences, tags = read_tags(folder / f"{part}.conllu", most)
        parts[part] = np.concatenate(elmo.embed(sentences, layers="all"), axis=1), tags
    labels = {tag: k for k, tag in enumerate(sorted(set(parts["train"][1])))}
    data = {
        part: (vectors.swapaxes(0, 1), np.array([labels.get(tag, -1) for tag in tags]))
        for part, (vectors, tags) in parts.items()
    }
    rows = []
    count, size = data["train"][0].shape[1:]
    for name in names(elmo):
        keras.utils.set_random_seed(0)
        inputs = keras.Input((count, size))
        if name == "mix":
            x = keras_elmo.ScalarMix()([inputs[:, k] for k in range(count)])
        else:
            x = inputs[:, int(name.split()[1])]
        outputs = keras.layers.Dense(len(labels))(keras.layers.BatchNormalization()(x))
        model = keras.Model(inputs, outputs)
        steps = epochs * -(-len(data["train"][1]) // 256)
        model.compile(
            keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(3e-3, steps)),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )
        model.fit(*data["train"], batch_size=256, epochs=epochs, verbose=0)
        accuracies = {}
        for part in ("dev", "test"):
            vectors, truth = data[part]
            predicted = model.predict(vectors, batch_size=4096, verbose=0).argmax(-1)
            accuracies[f"{part}, accuracy (%)"] = float(100 * np.mean(predicted == truth))
        rows.append({"vectors": name, **accuracies})
        print(rows[-1], flush=True)
    return rows


def bank(elmo):
    """Of each layer, how many of the sentences have a nearest neighbour of the same sense."""
    sentences = [s.split() for group in BANK.values() for s in group]
    truth = np.repeat(np.arange(len(BANK)), [len(group) for group in BANK.values()])
    vectors = noun_vectors(elmo, sentences, [s.index("bank") for s in sentences])
    rows = []
    for k, name in enumerate(names(elmo)):
        cosines = unit(vectors[k]) @ unit(vectors[k]).T
        np.fill_diagonal(cosines, -1)
        same = truth[:, None] == truth[None]
        off = ~np.eye(len(truth), dtype=bool)
        right = int(np.sum(truth[cosines.argmax(1)] == truth))
        rows.append(
            {
                "vectors": name,
                "nearest neighbour has the sense": f"{right} of {len(truth)}",
                "mean cosine, same sense": float(cosines[same & off].mean()),
                "mean cosine, other sense": float(cosines[~same].mean()),
            }
        )
    return rows


def head(results):
    where = report.where(results["machine"], *results["versions"])
    return f"{results['model']}. Measured {results['date']} {where}."


def main():
    parser = report.parser("benchmarks.probes", __doc__, "probes", "less text")
    parser.add_argument("model", help="tiny (in the package), a published name, a folder or a zip")
    parser.add_argument(
        "--data",
        type=pathlib.Path,
        default=report.SHARED / "data",
        help="folder with coarse-wsd-20 and ud-english-ewt (default: %(default)s)",
    )
    options = parser.parse_args()
    elmo = keras_elmo.Elmo.from_pretrained(options.model, tokenizer=None)
    ewt = options.data / "ud-english-ewt"
    tables = {"bank": bank(elmo)}
    tables["parts of speech"] = (
        speech(elmo, ewt, epochs=1, most=50) if options.small else speech(elmo, ewt)
    )
    if not options.small:
        tables["senses"] = senses(elmo, options.data / "coarse-wsd-20")
    import tensorflow as tf

    results = {
        "date": datetime.date.today().isoformat(),
        "machine": report.machine(),
        "versions": [f"TensorFlow {tf.__version__}"],
        "model": f"`{os.path.basename(os.path.normpath(options.model))}`",
        "tables": tables,
    }
    print(report.write(options.output, "probes", results, head(results)))


if __name__ == "__main__":
    main()
