"""`python -m benchmarks.learning MILLIONS=FOLDER ... --heldout FOLDER`: how much text is enough.

Each FOLDER is a biLM as `keras-elmo train` writes it, at one point of its training: MILLIONS of
tokens have been read. What it has learned:

- perplexity: of held-out text by the full softmax, of all and of each source. The folder of
  `--heldout` is one that `saved_models/tiny/corpus.py` made.
- senses: the probe of CoarseWSD-20 (`benchmarks.probes`), macro F1 of each layer that has context.
- EWT: its probe of parts of speech; accuracy on the test sentences with a learned mix.
- SST-2: a logistic regression on the mean vectors of all layers, side by side; accuracy on the test
  sentences.

The results are written after each point. Other points of the file stay, and with `--resume` they
are not measured again. `--shape` names the shape of the models, and `--picture` draws the curves of
this shape.
"""

import pathlib

import tensorflow as tf
from matplotlib.figure import Figure

from benchmarks import probes, report
from benchmarks.domain import Vectors, mean_vectors
from benchmarks.tasks import regression_score, tasks
from keras_elmo import BiLanguageModel, Elmo
from keras_elmo.analysis.plot import check_picture, save_figure
from keras_elmo.training import Corpus, evaluate

SHAPE, TOKENS = "shape", "million tokens"
PERPLEXITY, TASKS = "Perplexity of held-out text", "What the vectors know (%)"


def perplexities(folder, texts):
    """The perplexity of each text, a dict from names to paths."""
    model = BiLanguageModel.from_pretrained(folder)
    return {
        name: evaluate(model, Corpus(path).sentences())["perplexity"]
        for name, path in texts.items()
    }


def knowledge(folder, data, small):
    """The scores of what the vectors know, a dict."""
    elmo = Elmo.from_pretrained(folder, tokenizer=None)
    nouns = data / "coarse-wsd-20"
    mean = probes.senses(elmo, nouns / "digit" if small else nouns)[-1]
    row = {
        f"senses, layer {layer}": mean[f"F1 (%), layer {layer}"]
        for layer in range(1, elmo.config.num_layers + 1)
    }
    mix = probes.speech(elmo, data / "ud-english-ewt", most=50 if small else None)[-1]
    row["EWT"] = mix["test, accuracy (%)"]
    elmo = Elmo.from_pretrained(folder, tokenizer="whitespace")
    texts = tasks(data)["sentiment"].read(small)
    vectors = {part: mean_vectors(elmo, t) for part, (t, _) in texts.items()}
    scaled = Vectors()
    scaled.fit(texts, vectors["train"])
    vectors = {part: scaled.transform(texts, array) for part, array in vectors.items()}
    return row | {"SST-2": regression_score(vectors, texts)}


def picture(tables, shape):
    """The curves of both tables of a shape: a Matplotlib figure."""
    figure = Figure(figsize=(9, 4.8), dpi=100, layout="constrained")
    for panel, (title, rows) in zip(figure.subplots(1, 2), tables.items(), strict=True):
        rows = [row for row in rows if row[SHAPE] == shape]
        millions = [row[TOKENS] for row in rows]
        for k, name in enumerate(name for name in rows[0] if name not in (SHAPE, TOKENS)):
            style = {"marker": "os^Dv"[k % 5], "ms": 5, "lw": 1.4, "label": name}
            panel.plot(millions, [row[name] for row in rows], **style)
        panel.set_xscale("log")
        panel.set_xticks(millions, millions)
        panel.minorticks_off()
        panel.set_xlabel(f"{TOKENS} read")
        panel.set_title(title)
        panel.grid(alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
        panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2, frameon=False)
    return figure


def point(text):
    """A point of the command line: the millions of tokens, and the folder."""
    millions, folder = text.split("=", 1)
    return int(millions), folder


def main():
    parser = report.parser("benchmarks.learning", __doc__, "learning", "less text, one noun")
    parser.add_argument("models", nargs="+", metavar="MILLIONS=FOLDER", type=point)
    parser.add_argument("--heldout", type=pathlib.Path, required=True, help="held-out text")
    parser.add_argument("--shape", default="tiny", help="of the models (default: %(default)s)")
    parser.add_argument("--picture", type=pathlib.Path, help="the curves: *.png or *.svg")
    parser.add_argument("--resume", action="store_true", help="only points that the file lacks")
    options = parser.parse_args()
    if options.picture:
        check_picture(options.picture)
    texts = {"all": options.heldout / "heldout.txt"}
    texts |= {path.stem: path for path in sorted((options.heldout / "heldout").glob("*.txt"))}
    results = report.results_of_model("tiny", [f"TensorFlow {tf.__version__}"])
    results["model"] = "Points of trainings on the text of `tiny`"
    tables = report.Tables(
        options.output,
        "learning",
        results,
        lambda row: (row[SHAPE], row[TOKENS]),
        resume=options.resume,
        keep=True,
        order=lambda name: name,
    )
    for millions, folder in options.models:
        measures = {
            PERPLEXITY: lambda folder=folder: perplexities(folder, texts),
            TASKS: lambda folder=folder: knowledge(folder, report.SHARED / "data", options.small),
        }
        for title, measure in measures.items():
            if tables.is_wanted(title, (options.shape, millions)):
                tables.add(title, {SHAPE: options.shape, TOKENS: millions} | measure())
    print(tables.text())
    if options.picture:
        save_figure(picture(results["tables"], options.shape), options.picture)


if __name__ == "__main__":
    main()
