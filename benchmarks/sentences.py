"""`python -m benchmarks.sentences MODEL`: which vectors of sentences are near each other.

Means of ELMo's vectors are all near each other, whatever the sentences say. What is taken away from
them, or how they are scaled, is fitted to 5,000 other sentences of the same source, as a user would
fit it to sentences of his own.

- Wikipedia, film reviews: 2,000 sentences, and the one that follows each in its article or review.
  How many of the 1,999 others are farther away from it (%; 50 is chance).
- SST-2: the training sentence that is nearest to a test sentence should have its label (%).
- Mean cosine: of two unrelated sentences (Wikipedia).

The remedies: "mean": the mean vector is taken away (Ethayarajh 2019, https://aclanthology.org/D19-1006,
measured how far ELMo's vectors point in one direction); "mean and N components": then the N main
directions, too (Mu and Viswanath 2018, arXiv 1702.01417); "whitened to N": all directions scaled to
the variance 1, the N main ones kept (Su et al. 2021, arXiv 2103.15316); "rare words weigh more":
words are weighted by 0.001 / (0.001 + frequency) in the mean vector (Arora et al. 2017), counted in
the 5,000 sentences.
"""

import collections
import lzma

import numpy as np
import tensorflow as tf

from benchmarks import peers, report
from keras_elmo import Elmo
from keras_elmo.analysis.occurrences import unit_vectors
from keras_elmo.files.labelled_files import read_texts

_RARE = 1e-3


def read_pairs(path, count, fitted):
    """Sentences of a file: `fitted` of its beginning, and `count` pairs of neighbours."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        lines = [line.strip() for line, _ in zip(file, range(fitted + 100 * count), strict=False)]
    first = np.linspace(fitted, len(lines) - 2, count).astype(int)
    return lines[:fitted], [lines[k] for k in first], [lines[k + 1] for k in first]


class Remedy:
    """What is fitted to vectors, (N, D), and changes others.

    Args:
        components: int. The main directions that are taken away, after the mean.
        whitened: int. The main directions that are kept, with the variance 1; or `None`.
    """

    def __init__(self, components=0, whitened=None):
        self.components, self.whitened = components, whitened

    def fit(self, vectors):
        self._mean = vectors.mean(axis=0)
        _, values, directions = np.linalg.svd(vectors - self._mean, full_matrices=False)
        if self.whitened:
            scale = len(vectors) ** 0.5 / values[: self.whitened]
            self._product = directions[: self.whitened].T * scale  # (D, whitened)
        else:
            main = directions[: self.components]
            self._product = np.eye(vectors.shape[1]) - main.T @ main
        return self

    def __call__(self, vectors):
        return (vectors - self._mean) @ self._product


REMEDIES = {
    "mean": Remedy(),
    "mean and 1 component": Remedy(1),
    "mean and 3 components": Remedy(3),
    "mean and 10 components": Remedy(10),
    "whitened to 64": Remedy(whitened=64),
    "whitened to 128": Remedy(whitened=128),
    "whitened to 256": Remedy(whitened=256),
}


def elmo_means(elmo, layers, sentences, weights=None):
    """The mean vectors of sentences in some layers, a dict of (N, D).

    Args:
        weights: dict from words to their weights, 1 for others; or `None`.
    """
    tokens = elmo.tokenize(sentences)
    result = {layer: [] for layer in layers}
    for words, outputs in zip(tokens, elmo.embed_stream(tokens, list(layers)), strict=True):
        weight = np.array([1.0 if weights is None else weights.get(word, 1.0) for word in words])
        for layer in layers:
            result[layer].append(weight @ outputs[layer] / max(weight.sum(), 1e-9))
    return {layer: np.array(vectors) for layer, vectors in result.items()}


def rare_weights(sentences):
    """Of each word of tokenised sentences its weight."""
    counts = collections.Counter(word for words in sentences for word in words)
    total = sum(counts.values())
    return {word: _RARE / (_RARE + count / total) for word, count in counts.items()}


def farther(queries, candidates):
    """How many candidates of other rows are farther from a query than that of its own (%)."""
    cosines = unit_vectors(queries) @ unit_vectors(candidates).T
    own = np.diag(cosines)[:, None]
    others = (cosines < own) + (cosines == own) / 2
    return 100 * float(others[~np.eye(len(queries), dtype=bool)].mean())


def same_label(queries, labels, candidates, labels_of_candidates):
    """The share of queries (%) whose nearest candidate has the same label."""
    nearest = (unit_vectors(queries) @ unit_vectors(candidates).T).argmax(axis=1)
    same = [labels_of_candidates[row] == label for row, label in zip(nearest, labels, strict=True)]
    return 100 * float(np.mean(same))


def mean_cosine(one, other):
    """Of the rows of one array and those of the other, which they do not belong to."""
    cosines = unit_vectors(one) @ unit_vectors(other).T
    return float(cosines[~np.eye(len(one), dtype=bool)].mean())


def measure(embed, texts):
    """The rows of one kind of vectors: as they are, and with each remedy.

    Args:
        embed: function of a source's parts, lists of sentences of which the first is fitted to, to
            arrays (N, D).
        texts: dict from sources to their parts, see `main`.
    """
    vectors = {source: embed(parts) for source, parts in texts["retrieval"].items()}
    sst = texts["labels"]
    train, test = embed([sst["train"][0], sst["test"][0]])
    for name, remedy in {"as they are": None, **REMEDIES}.items():
        row = {}
        for source, (fitted, first, second) in vectors.items():
            change = remedy.fit(fitted) if remedy else lambda x: x
            row[source] = farther(change(first), change(second))
            if source == "Wikipedia":
                row["mean cosine"] = mean_cosine(change(first), change(second))
        change = remedy.fit(train) if remedy else lambda x: x
        row["SST-2"] = same_label(change(test), sst["test"][1], change(train), sst["train"][1])
        yield name, row


def main():
    small = "100 sentences in the place of 2,000"
    parser = report.parser("benchmarks.sentences", __doc__, "sentences", small)
    parser.add_argument("model", help="tiny (in the package), a published name, a folder or a zip")
    options = parser.parse_args()
    count, fitted = (100, 300) if options.small else (2000, 5000)
    data = report.SHARED / "data"
    files = {
        "Wikipedia": data / "wikipedia/featured.txt.xz",
        "film reviews": data / "reviews/unlabelled.txt.xz",
    }
    texts = {
        "retrieval": {name: read_pairs(path, count, fitted) for name, path in files.items()},
        "labels": {
            part: tuple(column[:fitted] for column in read_texts(data / f"sst2/{part}.tsv"))
            for part in ("train", "test")
        },
    }
    elmo = Elmo.from_pretrained(options.model, tokenizer="treebank")
    layers = ["elmo", "word_emb", *range(1, elmo.config.num_layers + 1)]
    results = report.results_of_model(options.model, [f"TensorFlow {tf.__version__}"])
    table = results["tables"].setdefault("Nearest sentences", [])
    cache = {}

    def embed_layer(layer, weigh=False):
        def embed(parts):
            key = weigh, parts[0][0], len(parts)
            if key not in cache:
                weights = rare_weights(elmo.tokenize(parts[0])) if weigh else None
                cache[key] = [elmo_means(elmo, layers, part, weights) for part in parts]
            return [part[layer] for part in cache[key]]

        return embed

    kinds = {
        **{"mix" if layer == "elmo" else str(layer): embed_layer(layer) for layer in layers},
        "mix, rare words weigh more": embed_layer("elmo", weigh=True),
    }
    if peers.GLOVE.exists():
        kinds[peers.GLOVE_NAME] = lambda parts: [
            peers.static_means(*peers.glove(), elmo.tokenize(part)) for part in parts
        ]
    if peers.has_minilm():
        kinds["MiniLM"] = lambda parts: [peers.minilm(part)[0] for part in parts]
    for kind, embed in kinds.items():
        for name, row in measure(embed, texts):
            table.append({"vectors": kind, "remedy": name, **row})
        report.write(options.output, "sentences", results, report.head_of_model(results))
    print((options.output / "sentences.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
