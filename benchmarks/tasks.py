"""`python -m benchmarks.tasks MODEL`: what a model's layers are worth in three tasks.

- Sentiment of film reviews (SST-2), by examples/classify_text.py: accuracy.
- Named entities of social media (WNUT17), by examples/tag_tokens.py with a CRF: F1 of entities.
- Parts of speech (UD English EWT), by examples/tag_tokens.py with a softmax: accuracy.

Each row is trained with three seeds: the mean of the scores on the test data, and their standard
deviation. Seconds are those of one training; the time to embed the texts does not count where it is
done once. All rows of a task share the head, the optimizer and the way to choose the epoch. With
`--text FILE` there is a row for static vectors that are made from this text, too. The results are
written after each row. `--tasks` measures some of the tables anew, `--rows` some of the rows, and
`--resume` only the rows that the file lacks.
"""

import functools
import pathlib
import statistics
import sys
import tempfile
import typing

import keras_elmo
from benchmarks import report
from benchmarks.static_vectors import StaticVectors
from keras_elmo.cli.main import main as command_line

sys.path.insert(0, str(report.ROOT / "examples"))  # scripts, which import each other plainly
import classify_text  # noqa: E402
import tag_tokens  # noqa: E402
import vectors  # noqa: E402

EPOCHS = 20
TRAINED_FURTHER = "mix, the biLM first trained on these texts"
ROUNDED = "mix, matmul_dtype bfloat16"


def sentiment(model, files, seeds, epochs, report, skip, static):
    def make_elmo():
        return keras_elmo.Elmo.from_pretrained(model)

    rows = classify_text.TRAININGS
    classify_text.compare(make_elmo, files, rows, epochs, seeds, report, skip)
    if static is not None and static.name not in skip:
        only = report_one(report, "layer 0", static.name)
        classify_text.compare(lambda: static, files, (), epochs, seeds, only, ["mix"])
    layers = [f"layer {k}" for k in range(make_elmo().config.num_layers + 1)]
    if ROUNDED not in skip:
        elmo = keras_elmo.Elmo.from_pretrained(model, matmul_dtype="bfloat16")
        only = report_one(report, "mix", ROUNDED)
        classify_text.compare(lambda: elmo, files, (), epochs, seeds, only, layers)
    if TRAINED_FURTHER not in skip:
        only = report_one(report, "mix", TRAINED_FURTHER)
        with tempfile.TemporaryDirectory() as folder:
            elmo = keras_elmo.Elmo.from_pretrained(train_further(model, files[0], folder))
            classify_text.compare(lambda: elmo, files, (), epochs, seeds, only, layers)


def report_one(report, name, new_name):
    """A function for `report` that takes one row, and gives it another name."""

    def take(found):
        if name in found:
            report({new_name: found[name]})

    return take


def train_further(model, file, folder):
    """Goes on with a biLM's own training on the texts of a task. Returns the new model's folder."""
    folder = pathlib.Path(folder)
    text, words, output = folder / "text.txt", folder / "words.txt", folder / "model"
    text.write_text("\n".join(classify_text.read(file)[0]) + "\n", encoding="utf-8")
    run = ["train", "--init", model, "--train", text, "--vocab", words, "-o", output]
    run += ["--epochs", 4, "--optimizer", "adam", "--schedule", "cosine"]
    for arguments in (["vocabulary", text, "-o", words], run):
        status = command_line([*map(str, arguments), "--quiet"])
        if status:
            raise RuntimeError(f"keras-elmo {arguments[0]} ended with status {status}")
    return output


def tags(model, files, seeds, epochs, report, skip, static, has_crf):
    elmo = keras_elmo.Elmo.from_pretrained(model, tokenizer=None)
    tag_tokens.compare(elmo, files, has_crf, epochs, seeds, report, skip)
    if ROUNDED not in skip:
        elmo.matmul_dtype = "bfloat16"
        only = report_one(report, "mix", ROUNDED)
        layers = [f"layer {k}" for k in range(elmo.config.num_layers + 1)]
        tag_tokens.compare(elmo, files, has_crf, epochs, seeds, only, layers)
    if static is not None and static.name not in skip:
        only = report_one(report, "layer 0", static.name)
        tag_tokens.compare(static, files, has_crf, epochs, seeds, only, ["mix"])


class AllBut:
    """A container of all names but some."""

    def __init__(self, names):
        self.names = names

    def __contains__(self, name):
        return name not in self.names


class Task(typing.NamedTuple):
    """A table of results.

    Attributes:
        title: string.
        score: string. What is measured.
        files: string. The data, with `{}` for train, dev and test.
        small: string. The data of the examples that is read in their place to try it.
        run: a function of the model's name, the files, seeds, epochs, a function that takes each
            row, the names of rows that are left out, and `StaticVectors` or `None`.
    """

    title: str
    score: str
    files: str
    small: str
    run: typing.Callable


TASKS = {
    "sentiment": Task(
        "Sentiment (SST-2)", "accuracy (%)", "sst2/{}.tsv", "reviews.{}.tsv", sentiment
    ),
    "entities": Task(
        "Named entities (WNUT17), with a CRF",
        "F1 (%)",
        "wnut17/{}.conll",
        "entities.{}.txt",
        functools.partial(tags, has_crf=True),
    ),
    "speech": Task(
        "Parts of speech (UD English EWT)",
        "accuracy (%)",
        "ud-english-ewt/{}.conllu",
        "entities.{}.txt",
        functools.partial(tags, has_crf=False),
    ),
}


def rows(results, score):
    """The table of a task's results."""
    return [
        {
            "vectors": name,
            score: float(statistics.mean(row["scores"])),
            "standard deviation": (
                f"{statistics.stdev(row['scores']):.1f}" if len(row["scores"]) > 1 else ""
            ),
            "processor seconds": float(statistics.mean(row["seconds"])) if "seconds" in row else "",
            "shares of the layers": row.get("shares", ""),
        }
        for name, row in results.items()
    ]


def main():
    parser = report.parser("benchmarks.tasks", __doc__, "tasks", "the examples' own data, 2 epochs")
    parser.add_argument("model", help="tiny (in the package), a published name, a folder or a zip")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, help="only these")
    parser.add_argument("--rows", nargs="+", metavar="NAME", help="only these rows")
    parser.add_argument("--resume", action="store_true", help="keep the rows that are there")
    parser.add_argument("--text", type=pathlib.Path, help="tokenised; makes static vectors")
    parser.add_argument("--seeds", type=int, default=3, help="trainings of each row (3)")
    parser.add_argument(
        "--data",
        type=pathlib.Path,
        default=report.SHARED / "data",
        help="folder with sst2, wnut17 and ud-english-ewt (default: %(default)s)",
    )
    options = parser.parse_args()
    import keras
    import tensorflow as tf

    results = report.results_of_model(
        options.model, [f"TensorFlow {tf.__version__}", f"Keras {keras.__version__}"]
    )
    if options.tasks or options.resume:
        results["tables"] = report.earlier_tables(options.output, "tasks", results)
    static = options.text and StaticVectors(options.text)
    for name in options.tasks or TASKS:
        task = TASKS[name]
        print(task.title, flush=True)
        folder = vectors.DATA if options.small else options.data
        pattern = task.small if options.small else task.files
        files = [folder / pattern.format(part) for part in ("train", "dev", "test")]
        kept = results["tables"].get(task.title, []) if options.resume else []
        table = results["tables"][task.title] = kept
        names = AllBut(options.rows) if options.rows else {row["vectors"] for row in kept}

        def add(found, table=table, task=task, names=names):
            vectors.report_rows(found)
            table += [row for row in rows(found, task.score) if row["vectors"] not in names]
            if table:
                report.write(options.output, "tasks", results, report.head_of_model(results))

        epochs = 2 if options.small else EPOCHS
        task.run(options.model, files, range(options.seeds), epochs, add, names, static)
    print((options.output / "tasks.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
