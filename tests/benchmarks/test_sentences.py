import json
import subprocess
import sys

import pytest
from scripts import ROOT

MEASURES = """
import json
import numpy as np
from benchmarks import sentences

one, other = np.array([[1.0, 0], [0, 1], [1, 1]]), np.array([[1.0, 0.1], [1, 0], [-1, -1]])
rng = np.random.default_rng(0)
skewed = rng.normal(size=(500, 4)) * [9, 3, 1, 1] + [5, 0, 0, 7]
whitened = sentences.Remedy(whitened=3).fit(skewed)(skewed)
without = sentences.Remedy(1).fit(skewed)(skewed)
print(json.dumps({
    "farther": sentences.farther(one, other),
    "label": sentences.same_label(one, "aab", other, "abb"),
    "cosine": sentences.mean_cosine(np.eye(3), np.eye(3)),
    "covariance": np.cov(whitened.T, bias=True).tolist(),
    "means": [float(abs(x.mean(0)).max()) for x in (whitened, without)],
    "variance": float(without.var(0).max()),
    "weights": sentences.rare_weights([["a", "a", "a", "b"]]),
}))
"""


def test_measures_and_remedies():
    command = [sys.executable, "-c", MEASURES]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-3000:]
    values = json.loads(result.stdout)
    assert values["farther"] == pytest.approx(100 * (1 + 1 + 0) / 6)
    assert values["label"] == pytest.approx(100 / 3)
    assert values["cosine"] == 0
    for k, row in enumerate(values["covariance"]):
        assert row == pytest.approx([float(k == j) for j in range(3)], abs=1e-9)
    assert max(values["means"]) < 1e-9
    assert 7 < values["variance"] < 12  # of the second direction
    assert values["weights"] == pytest.approx({"a": 0.001 / 0.751, "b": 0.001 / 0.251})


@pytest.mark.slow
def test_it_runs(shared, one_layer_folder, run_benchmark):
    results, _ = run_benchmark("benchmarks.sentences", "--small", one_layer_folder)
    (rows,) = results["tables"].values()
    kinds = dict.fromkeys(row["vectors"] for row in rows)
    assert list(kinds)[:4] == ["mix", "word_emb", "1", "mix, rare words weigh more"]
    first, second = rows[:2]
    assert second["remedy"] == "mean" and abs(second["mean cosine"]) < first["mean cosine"]
