"""The benchmarks run, on small models and few texts; no time is asserted."""

import importlib.util
import json
import random

import pytest
from scripts import ROOT, run_python

SENTENCES = ROOT / "examples/data/sentences.txt"
pytestmark = pytest.mark.slow


@pytest.fixture
def run_benchmark(tmp_path):
    """Runs a module of benchmarks: its tables, and all that it wrote as JSON and as Markdown."""

    def run(command, *arguments, name=None, status=0):
        module, *typed = command.split()
        output = tmp_path / "results"
        result = run_python("-m", module, *typed, *arguments, "--output", output, cwd=ROOT)
        assert result.returncode == status, result.stderr[-3000:]
        if status:
            return result.stderr
        name = name or module.partition(".")[2]
        markdown = (output / f"{name}.md").read_text()
        assert markdown.strip() in result.stdout
        results = json.loads((output / f"{name}.json").read_text())
        tables = results["tables"].items()
        rows = {title: each["rows"] if isinstance(each, dict) else each for title, each in tables}
        return rows, results, markdown

    return run


def assert_positive(tables):
    """All numbers are above zero, but for errors."""
    rows = [row for each in tables.values() for row in each]
    items = [item for row in rows for item in row.items() if isinstance(item[1], float)]
    numbers = [number for name, number in items if not name.startswith("largest error")]
    assert numbers and all(number > 0 for number in numbers)


def test_inference(run_benchmark):
    arguments = ["benchmarks --small --text", SENTENCES]
    tables, _, text = run_benchmark(*arguments, name="inference")
    assert list(tables) == [
        "start", "systems", "token budget", "batch", "length", "distinct words",
        "stages of a batch of 32", "exported", "precision", "many languages",
        "stream, a small model",
    ]  # fmt: skip
    assert_positive(tables)
    assert "### systems" in text and "| keras_elmo_lite, int8 |" in text
    # Some tables anew: the others stay as they are.
    chosen = ["--tables", "stages of a batch of 32"]
    again, *_ = run_benchmark(*arguments, *chosen, name="inference")
    assert [name for name, rows in again.items() if rows != tables[name]] == chosen[1:]
    assert list(again) == list(tables)
    assert "Received: ['speed']" in run_benchmark(*arguments, "--tables", "speed", status=1)


def test_corpora(run_benchmark):
    tables, _, text = run_benchmark("benchmarks.corpora --small --text", SENTENCES)
    assert len(tables) == 5
    formats = ["HDF5, all layers", "Parquet, all layers", "Parquet, pooled"]
    if importlib.util.find_spec("apache_beam"):
        formats += ["Beam, pooled, 1 process", "Beam, pooled, 2 processes"]
    assert [row["format"] for row in tables["formats, tiny"]] == formats
    rows = tables["memory, a small model"]
    assert [(row["lines"], row["rows in the manifest"]) for row in rows] == [(200, 200), (400, 400)]
    assert_positive(tables)
    assert "| Parquet, pooled |" in text


def test_probes(shared, small_folder, run_benchmark):
    tables, *_ = run_benchmark("benchmarks.probes --small", small_folder, "--data", shared / "data")
    names = ["layer 0", "layer 1", "layer 2"]
    assert [row["vectors"] for row in tables["bank"]] == names
    # Layer 0 knows only the word.
    assert tables["bank"][0]["mean cosine, other sense"] == pytest.approx(1, abs=1e-5)
    assert all(0 < row["test, accuracy (%)"] < 100 for row in tables["parts of speech"])
    (digit,) = tables["senses"]
    assert digit["noun"] == "digit" and digit["senses"] == 2 and digit["tested"] == 42
    assert digit["F1 (%), layer 0"] == digit["F1 (%), most frequent sense"] == pytest.approx(44.0)


def test_serving(run_benchmark):
    pytest.importorskip("tensorflow_serving")
    tables, results, _ = run_benchmark("benchmarks.serving --small --requests 60")
    grpc, python = tables["load"]
    assert results["faults"] == [] and (grpc["answers"], python["answers"]) == (60, 20)
    assert grpc["requests/s"] > 0 and 0 < grpc["p50 (ms)"] <= grpc["p99 (ms)"]
    assert len(tables["memory of the server"]) == 6
    assert len(tables["one sentence of 12 tokens"]) == 2


def test_tasks(one_layer_folder, tmp_path, run_benchmark):
    arguments = ["benchmarks.tasks --small --seeds 1", one_layer_folder, "--tasks", "sentiment"]
    tables, results, _ = run_benchmark(*arguments, "entities")
    assert len(tables) == 2
    for rows in tables.values():
        names = [row["vectors"] for row in rows]
        names = [name for name in names if not name.startswith(("GloVe", "MiniLM"))]
        assert names[1:] == [
            "word vectors alone", "layer 0", "layer 1", "ELMo alone", "mix", "frozen", "all trained"
        ]  # fmt: skip
    # What is there is not measured again.
    (first, *_) = tables
    count = len(tables[first])
    del tables[first][3:]
    tables[first][2]["accuracy (%)"] = 12.5
    (tmp_path / "results/tasks.json").write_text(json.dumps(results))
    again, *_ = run_benchmark(*arguments, "entities", "--resume")
    assert again[first][:3] == tables[first] and len(again[first]) == count
    # A row that is named is, and the others stay.
    named, *_ = run_benchmark(*arguments, "--rows", again[first][2]["vectors"])
    assert named[first][2] != again[first][2]
    assert named[first][:2] + named[first][3:] == again[first][:2] + again[first][3:]


def test_tasks_of_conll(one_layer_folder, run_benchmark):
    parts = "train", "dev", "test"
    files = ",".join(str(ROOT / f"examples/data/entities.{part}.txt") for part in parts)
    command = "benchmarks.tasks --small --seeds 1 --resume --conll"
    error = run_benchmark(command, "names=train,dev", one_layer_folder, status=2)
    assert "must be NAME=TRAIN,DEV,TEST" in error
    run_benchmark(command, f"names={files}", one_layer_folder, name="conll")
    tables, *_ = run_benchmark(command, f"names={files}", "tiny", name="conll")
    assert list(tables) == ["names", "names, the first tenth of the training sentences"]
    for rows in tables.values():
        names = [row["vectors"] for row in rows if not row["vectors"].startswith("GloVe")]
        models = ["ELMo: tiny", f"ELMo: {one_layer_folder.name}"]
        assert names == ["each word's most frequent tag", "word vectors alone", *sorted(models)]
    scores = [rows[0]["F1 (%)"] for rows in tables.values()]
    assert scores[0] > scores[1]  # of each word's most frequent tag


def test_tflite(run_benchmark):
    pytest.importorskip("ai_edge_litert")
    tables, _, text = run_benchmark("benchmarks.tflite --small")
    accuracy, calls, tails = tables.values()
    assert len(calls) == 6 and len(tails) == 3
    for row in accuracy:
        for name in ("word_emb", "lstm_outputs1", "lstm_outputs2", "elmo"):
            assert row[f"cosine of {name}"] >= (0.99 if row["weights"] == "int8" else 0.99999)
    assert "### every way to call" in text and "| tiny | int8 |" in text


def test_training(run_benchmark, tmp_path):
    chance = random.Random(0)
    words = [f"w{k}" for k in range(150)]
    for name, number in (("train.txt", 60), ("heldout.txt", 5)):
        lines = [" ".join(chance.choices(words, k=9)) for _ in range(number)]
        (tmp_path / name).write_text("\n".join(lines))
    (tmp_path / "vocab.txt").write_text("\n".join(["<S>", "</S>", "<UNK>", *words, ""]))
    tables, _, text = run_benchmark("benchmarks.training --small --text", tmp_path)
    assert [row["words"] for row in tables["size of the vocabulary"]] == [153, 400]
    precisions = ["float32", "mixed_bfloat16", "matmul_dtype bfloat16"]
    assert [row["dtype"] for row in tables["precision"]] == precisions
    assert len(tables) == 5
    assert_positive(tables)
    assert "| character encoder |" in text
