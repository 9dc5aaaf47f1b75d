"""`python -m benchmarks`: measures, prints tables, writes them as JSON and Markdown.

It makes its own full-size random model, and needs keras_elmo_lite. With `--peers FOLDER` the tables
"start" and "systems" have AllenNLP and simple_elmo, too, in turn, in the same run: each in an
environment in this folder, which is made if it is not there. The files are written after each
table; `--tables` measures some of them anew and leaves the others as they are.
"""

import contextlib
import dataclasses
import functools
import os
import pathlib
import tempfile

import keras_elmo
from benchmarks import measure, peers, report
from keras_elmo.characters import Dictionary

SMALL = keras_elmo.ElmoConfig(
    units=32, projection_dim=8, character_dim=4, filters=[(1, 8), (2, 8), (3, 16)], num_highway=1
)
# Of the published models of ELMoForManyLangs: embeddings of 50 and 100, a table of 150,000 words.
MANYLANGS = {"character_dim": 50, "word_dim": 100}
MANYLANGS_WORDS = 150_000


def arguments():
    parser = report.parser("benchmarks", __doc__, "inference", "a small model and text")
    report.add_text(parser)
    parser.add_argument("--model", help="a model's folder, instead of the random one")
    parser.add_argument("--peers", type=pathlib.Path, metavar="FOLDER", help="also the peers")
    parser.add_argument("--repeats", type=int, default=measure.REPEATS, help="(%(default)s)")
    report.add_tables(parser)
    return parser.parse_args()


def main():
    options = arguments()
    sentences = report.read_lines(options.text)
    measure.REPEATS = 1 if options.small else options.repeats
    if options.small:
        sentences = sentences[:24]
    others = peers.pythons(options.peers) if options.peers else {}
    with tempfile.TemporaryDirectory() as folder:
        config = SMALL if options.small else keras_elmo.ElmoConfig()
        model = options.model or os.path.join(folder, "model")
        if options.model:
            config = keras_elmo.ElmoConfig.from_options(os.path.join(model, "options.json"))
        tables = plan(options.small, model, config, sentences, folder, others)
        if not options.model:
            keras_elmo.Elmo(config).save_pretrained(model)
        results = {
            "machine": report.machine(),
            "text": {"sentences": len(sentences), "tokens": measure.count(sentences)},
            "model": config.to_options(),
            "tables": {},
        }

        def table(measured):
            with measure.Worker("keras_elmo", model) as worker:
                peak = worker.ask("peak")["value"]
            return {
                "date": report.today(),
                "peak of a matrix product (GFLOP/s)": peak,
                "rows": measured(peak),
            }

        tables = {name: functools.partial(table, rows) for name, rows in tables.items()}
        same = ("machine", "text", "model")
        report.measure_tables(options, "inference", results, tables, head, same)


def head(results):
    text = results["text"]
    return (
        f"Measured {report.where(results)}; {text['sentences']} sentences, "
        f"{text['tokens']:,} tokens. The peak is that of a large float32 matrix product just "
        "before each table."
    )


def plan(is_small, model, config, sentences, folder, others):
    """Every table by its name: a function of the peak (GFLOP/s) to a list of rows."""
    file = os.path.join(folder, "words.tflite")
    systems = [("keras_elmo", model), ("keras_elmo_lite, int8", file)]
    systems += [(name, model, python) for name, python in others.items()]
    compared = [*systems, ("keras_elmo, products in bfloat16", model)]
    vocabulary = sorted({word for sentence in sentences for word in sentence.split()})
    budgets = [256, 1024] if is_small else [512, 1024, 2048, 4096, 8192]
    sizes = [1, 8] if is_small else [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
    lengths = [10, 100] if is_small else [10, 30, 100, 300, 1000]
    shares = [0.1, 1.0] if is_small else [0.01, 0.1, 0.3, 1.0]

    def own(measured, *arguments):
        def rows(peak):
            with measure.Worker("keras_elmo", model) as worker:
                return measured(worker, peak, *arguments)

        return rows

    def of_systems(measured):
        def rows(peak):
            if not os.path.exists(file):
                elmo = keras_elmo.Elmo.from_pretrained(model)
                keras_elmo.export_tflite(elmo, file, "words", "int8")
            return measured(peak)

        return rows

    def compare(peak):
        with contextlib.ExitStack() as stack:
            workers = [stack.enter_context(measure.Worker(*system)) for system in compared]
            return measure.compare(workers, peak, sentences, config)

    def stream(peak):
        with tempfile.TemporaryDirectory() as folder:
            keras_elmo.Elmo(SMALL).save_pretrained(folder)
            values = [100, 200] if is_small else [1000, 10_000, 100_000]
            return measure.stream(folder, sentences, values)

    def manylangs(peak):
        other = manylangs_config(config, vocabulary, 1000 if is_small else MANYLANGS_WORDS)
        configs = {"the original's": config, "ELMoForManyLangs'": other}
        with tempfile.TemporaryDirectory() as folder:
            keras_elmo.Elmo(other).save_pretrained(folder)
            models = dict(zip(configs, [model, folder], strict=True))
            return measure.shapes(models, peak, sentences[:128], configs)

    tables = {
        "start": of_systems(lambda peak: measure.start(systems)),
        "systems": of_systems(compare),
        "token budget": own(measure.budgets, sentences[:256], config, budgets),
        "batch": own(measure.batches, sentences, config, sizes),
        "length": own(measure.lengths, vocabulary, config, lengths, 4096),
        "length, more rows": own(measure.lengths, vocabulary, config, lengths[::2], 65536, 1),
        "distinct words": own(measure.distinct, config, shares),
        "stages of a batch of 32": own(measure.stages, sentences[:32]),
        "exported": own(measure.exported, sentences),
        "precision": lambda peak: measure.precisions(model, sentences),
        "many languages": manylangs,
        "stream, a small model": stream,
    }
    if is_small:
        del tables["length, more rows"]
    return tables


def manylangs_config(config, vocabulary, num_words):
    """A config with a dictionary: of the text's words and others, and of all the letters."""
    marks = ["<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>"]
    letters = [chr(point) for point in (*range(33, 3000), *range(0x4E00, 0x5E00))]
    others = (f"word{number}" for number in range(num_words))
    words = [*dict.fromkeys(["<oov>", *vocabulary, *others])][:num_words]
    dictionary = Dictionary([*letters, *marks], words)
    return dataclasses.replace(config, dictionary=dictionary, **MANYLANGS)


if __name__ == "__main__":
    main()
