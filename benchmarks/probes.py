"""`python -m benchmarks.probes MODEL`: what the layers of a model know.

- CoarseWSD-20: 20 ambiguous nouns, `probe_senses` of `keras_elmo.analysis.probing`; macro F1 of the
  senses.
- UD English EWT: parts of speech (UPOS), `keras_elmo.analysis.probing.probe_tags`; accuracy.
- The noun of sentences about rivers and about money: the nearest neighbour of each.
"""

import pathlib

import numpy as np
import tensorflow as tf

import keras_elmo
from benchmarks import report
from keras_elmo.analysis import probing
from keras_elmo.analysis.occurrences import find_occurrences
from keras_elmo.files.labelled_files import read_tagged
from keras_elmo.models.embed_stream import unit_vectors

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


def bank(elmo):
    """For each layer, how many of the sentences have a nearest neighbour of the same sense."""
    found = find_occurrences(elmo, [s.split() for group in BANK.values() for s in group], "bank")
    truth = np.repeat(np.arange(len(BANK)), [len(group) for group in BANK.values()])
    same = truth[:, None] == truth[None]
    off = ~np.eye(len(truth), dtype=bool)
    rows = []
    for layer, vectors in enumerate(found.vectors):
        neighbours, _ = found.nearest(layer)
        cosines = unit_vectors(vectors) @ unit_vectors(vectors).T
        right = int(np.sum(truth[neighbours[:, 0]] == truth))
        rows.append(
            {
                "vectors": f"layer {layer}",
                "nearest neighbour has the sense": f"{right} of {len(truth)}",
                "mean cosine, same sense": float(cosines[same & off].mean()),
                "mean cosine, other sense": float(cosines[~same].mean()),
            }
        )
    return rows


def speech(elmo, folder, most=None):
    """The accuracies of parts of speech: a row for each kind of vectors."""
    train, dev, test = (
        [rows[:most] for rows in read_tagged(folder / f"{part}.conllu")]
        for part in ("train", "dev", "test")
    )
    table = {}
    for row in probing.probe_tags(elmo, train, {"dev": dev, "test": test}):
        entry = table.setdefault(row["vectors"], {"vectors": row["vectors"]})
        entry[f"{row['test']}, accuracy (%)"] = 100 * row["accuracy"]
        weights = row.get("mix weights", [])
        entry["weights of the layers"] = " ".join(f"{weight:.2f}" for weight in weights)
    return list(table.values())


def senses(elmo, folder):
    """The F1 of each noun: a row for each, with a column for each kind of vectors."""
    table = {}
    for row in probing.probe_senses(elmo, folder):
        entry = {"noun": row["word"], "senses": row["senses"] or "", "tested": row["sentences"]}
        table.setdefault(row["word"], entry)[f"F1 (%), {row['vectors']}"] = 100 * row["f1"]
    return list(table.values())


def main():
    parser = report.parser("benchmarks.probes", __doc__, "probes", "less text, one noun")
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
    tables["parts of speech"] = speech(elmo, ewt, most=50) if options.small else speech(elmo, ewt)
    nouns = options.data / "coarse-wsd-20"
    tables["senses"] = senses(elmo, nouns / "digit" if options.small else nouns)
    results = report.results_of_model(options.model, [f"TensorFlow {tf.__version__}"])
    results["tables"] = tables
    print(report.write(options.output, "probes", results, report.head_of_model(results)))


if __name__ == "__main__":
    main()
