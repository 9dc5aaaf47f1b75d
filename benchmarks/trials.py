"""`python -m benchmarks.trials FOLDER --train FILE ...`: settings to train a `tiny` with.

Trains models that differ from `tiny` in one setting each, by `keras-elmo train`. Those of the first
table read 5.0 million tokens, and the table has what `benchmarks.learning` measures: senses, parts
of speech and sentiment. Those of the second read 0.32 million tokens, without a stop, and the table
has their speed. The perplexities are of the held-out text, by the full softmax. With another
vocabulary they are of other words, and must not be compared.

The models and their logs are in FOLDER. A training that was stopped goes on there, and one that is
done is not run again. The results are written after each row. `--rows` measures some of the rows
anew, and `--resume` only those that the file lacks; the others stay.
"""

import pathlib
import re
import subprocess
import sys

import tensorflow as tf

from benchmarks import report
from benchmarks.learning import knowledge

BASE = (
    *("--options", report.ROOT / "saved_models/tiny/options.json", "--batch-size", 64),
    *("--optimizer", "adam", "--learning-rate", 0.003, "--schedule", "cosine"),
    *("--matmul-dtype", "bfloat16", "--checkpoint-every", 300, "--evaluate-every", 60000),
)
LONG, SHORT = "5.0 million tokens", "0.32 million tokens"
STEPS = {
    LONG: ("--steps", 3900, "--warmup-steps", 300),
    SHORT: ("--steps", 250, "--warmup-steps", 50),
}
FEW = "--steps", 101, "--warmup-steps", 1, "--num-negatives", 2, "--batch-size", 2
TRIALS = {  # the name of the folder, the name of the row, the options that differ
    LONG: [
        ("base", "as tiny, but 64 lanes", ()),
        ("dropout", "dropout 0.1", ("--dropout", 0.1)),
        ("context", "32 lanes of 40 tokens", ("--batch-size", 32, "--unroll-steps", 40)),
        ("vocabulary", "a larger vocabulary", ()),
    ],
    SHORT: [
        ("short", "64 lanes", ()),
        ("adagrad", "Adagrad 0.5", ("--optimizer", "adagrad", "--learning-rate", 0.5)),
        ("rate", "rate 0.001", ("--learning-rate", 0.001)),
        ("negatives", "4,096 negatives", ("--num-negatives", 4096)),
        ("lanes", "32 lanes", ("--batch-size", 32, "--steps", 500, "--warmup-steps", 100)),
    ],
}


def train(folder, arguments):
    """Trains a model in `folder`, or goes on there.

    Returns:
        The tokens a second, without the last evaluation, and the held-out perplexity.
    """
    log = folder.with_suffix(".log")
    command = [*map(str, ["-m", "keras_elmo", "train", *arguments, "-o", folder])]
    first = f"{' '.join(command)}\n"
    if not log.exists():
        log.write_text(first, encoding="utf-8")
    if not log.read_text(encoding="utf-8").startswith(first):
        sys.exit(f"{log} must begin with the same command. Delete it and {folder}: {first}")
    if not (folder / "weights.hdf5").exists():
        resume = ["--resume"] if (folder / "checkpoints").exists() else []
        with open(log, "a", encoding="utf-8") as file:
            status = subprocess.run([sys.executable, *command, *resume], stderr=file).returncode
        if status:
            sys.exit(f"The training ended with the status {status}. See the end of {log}")
    text = log.read_text(encoding="utf-8")
    (speed,) = re.findall(r"([\d,]+) tokens/s, [\d:]+ left", text)[-1:]
    (perplexity,) = re.findall(r"held-out perplexity ([\d.]+) \(", text)[-1:]
    return float(speed.replace(",", "")), float(perplexity)


def main():
    parser = report.parser("benchmarks.trials", __doc__, "trials", "a few steps, one noun")
    parser.add_argument("folder", type=pathlib.Path, help="of the models and their logs")
    for name, what in [
        ("--train", "a tenth of the text of `tiny`, one sentence a line"),
        ("--heldout", "its held-out text"),
        ("--vocab", "its vocabulary"),
        ("--larger", "a larger one"),
    ]:
        parser.add_argument(name, required=True, metavar="FILE", help=what)
    labels = [label for trials in TRIALS.values() for _, label, _ in trials]
    report.add_rows(parser, labels)
    options = parser.parse_args()
    results = report.results_of_model("tiny", [f"TensorFlow {tf.__version__}"])
    tables = report.Tables(
        options.output,
        "trials",
        results,
        lambda row: row["training"],
        options.rows,
        options.resume,
        order=labels.index,
    )
    options.folder.mkdir(parents=True, exist_ok=True)
    for title, trials in TRIALS.items():
        for name, label, different in trials:
            if not tables.is_wanted(title, label):
                continue
            vocabulary = options.larger if name == "vocabulary" else options.vocab
            files = "--train", options.train, "--heldout", options.heldout, "--vocab", vocabulary
            few = FEW if options.small else ()
            arguments = [*files, *BASE, *STEPS[title], *different, *few]
            speed, perplexity = train(options.folder / name, arguments)
            row = {"training": label, "held-out perplexity": perplexity}
            if title == SHORT:
                row["tokens/s"] = speed
            else:
                row |= knowledge(options.folder / name, report.SHARED / "data", options.small)
            tables.add(title, row)
    print(tables.text())


if __name__ == "__main__":
    main()
