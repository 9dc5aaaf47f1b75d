import json
import lzma
import subprocess
import sys

import pytest
from scripts import ROOT

BLOCKS = """
import numpy as np
from benchmarks import domain

texts = ["good fun", "what a mess", "good", "mess", "fun", "a mess", "good good", "a a mess"]
labels = [1, 0, 1, 0, 1, 0, 1, 0]
rng = np.random.default_rng(0)
vectors = np.array(labels)[:, None] * [[3.0, 0.0]] + rng.normal(size=(8, 2))
data = {"train": (texts * 3, labels * 3), "test": (texts, labels)}
vectors = {"train": np.tile(vectors, (3, 1)), "test": vectors}
for blocks in ([domain.Words], [domain.Vectors], [domain.Words, domain.Vectors]):
    print(list(domain.linear_scores(blocks, data, vectors, domain.draw(99, labels * 3, 5))))
swapped = {**vectors, "test": vectors["test"][[1, 0, 3, 2, 5, 4, 7, 6]]}
print(list(domain.linear_scores([domain.Vectors], data, swapped, domain.draw(99, labels * 3, 5))))
domain.WEIGHTS = 1e-4, 10
both, noise = [domain.Words, domain.Vectors], rng.normal(size=(32, 20))
noisy = {"train": noise[8:], "test": noise[:8]}
unread = {"train": (["film"] * 24, labels * 3), "test": (["film"] * 8, labels)}
for texts, numbers in ((data, noisy), (unread, vectors)):
    print(list(domain.linear_scores(both, texts, numbers, domain.draw(99, labels * 3, 5))))
print([len(set(rows)) for rows in domain.draw(4, labels, 3)])
print([[domain.cell([70.0, 72.0]), domain.cell([71.25])]])
"""


def test_each_block_of_features_is_read():
    result = subprocess.run(
        [sys.executable, "-c", BLOCKS], cwd=ROOT, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr[-3000:]
    words, vectors, both, swapped, *weighted, drawn, cells = map(eval, result.stdout.splitlines())
    assert words == vectors == both == [100.0]
    assert swapped == [0.0]
    assert weighted == [[100.0], [100.0]]  # once the small weight is best, once the large one
    assert drawn == [4, 4, 4]
    assert cells == [["71.0 ± 1.4", "71.2"]]


def test_text_to_train_on(tmp_path):
    lines = [f"Film {k}: don't see it!" for k in range(2000)]
    (tmp_path / "text.xz").write_bytes(lzma.compress("\n\n".join(lines).encode()))
    code = f"""
import pathlib
from benchmarks import domain
folder = pathlib.Path({str(tmp_path)!r})
domain.write_text(folder / "text", folder / "text.xz")
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    train, heldout = (
        (tmp_path / "text" / name).read_text().splitlines() for name in ("train.txt", "heldout.txt")
    )
    assert sorted(train + heldout) == sorted(f"Film {k} : don 't see it !" for k in range(2000))
    assert 0 < len(heldout) < 20


@pytest.mark.slow
def test_it_runs(shared, one_layer_folder, tmp_path, run_benchmark):
    arguments = ["benchmarks.domain", "--small", f"small={one_layer_folder}"]
    results, text = run_benchmark(*arguments)
    linear, classifiers, costs = results["tables"].values()
    assert [row["shape"].partition(":")[0] for row in costs[::2]] == [
        "tiny",
        "small",
        "medium",
        "original",
    ]
    assert all(row["tokens/s"] > 0 and row["peak memory (MB)"] > 0 for row in costs)
    assert all(row["seconds of training (40)"] > 0 for row in classifiers)
    whole = [row for row in classifiers if row["what"].endswith(", whole reviews")]
    assert all(row["20"] == "" and float(row["40"]) > 0 for row in whole)
    rows = linear + classifiers
    names = [row["what"] for row in rows]
    expected = ["words", "vectors of small", "words and vectors of small"]
    expected += ["classifier on small", "classifier on small, all trained"]
    expected += ["classifier without ELMo"]
    expected += ["classifier on small, whole reviews", "classifier without ELMo, whole reviews"]
    assert [name for name in names if "GloVe" not in name and "MiniLM" not in name] == expected
    assert all(row["texts a second"] > 0 for row in rows)
    # What is there is not measured again.
    first = linear[0] | {"20": "12.5"}
    del linear[:], classifiers[:], costs[:]
    linear.append(first)
    (tmp_path / "results/domain.json").write_text(json.dumps(results))
    names = ["words", "vectors of small", "tiny, bfloat16"]
    results, _ = run_benchmark(*arguments, "--resume", "--rows", *names)
    again, heads, costs = results["tables"].values()
    assert again[0] == first and [row["what"] for row in again[1:]] == ["vectors of small"]
    assert heads == [] and [row["products"] for row in costs] == ["bfloat16"]


def test_a_model_without_a_name_is_refused(run_benchmark):
    error = run_benchmark("benchmarks.domain", "tiny", status=2)
    assert "a model must be NAME=MODEL. Received: tiny" in error
