import importlib.util

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("jax") is None, reason="JAX is not installed"
)


@pytest.mark.slow
def test_it_runs(tmp_path, run_benchmark):
    sentences = [f"{'a word ' * (n % 4)}number {n} ." for n in range(40)]
    (tmp_path / "text").write_text("\n".join(sentences))
    arguments = ["--small", "--text", tmp_path / "text"]
    results, markdown = run_benchmark("benchmarks.gpu", *arguments)
    # 3 words and two boundaries a sentence, and twice 0 to 3 words more
    assert results["text"] == {"1": 5, "32": 32 * 5 + 8 * 2 * (0 + 1 + 2 + 3)}
    assert "Tokens (of sentences): 5 (1), 256 (32)." in markdown
    numbers, speed, training = results["tables"].values()
    errors = [row["largest error / standard deviation"] for row in numbers]
    # (A processor has no TensorFloat-32.)
    assert errors[0] < 1e-4 and errors[0] <= errors[1] < 0.01
    assert 1e-3 < errors[2] < errors[3] < 0.3 and errors[4] == pytest.approx(errors[3])
    cosines = np.array([[row[f"least cosine, layer {k}"] for k in range(3)] for row in numbers])
    assert (cosines > 0.999).all() and (cosines[2:] < 1 - 1e-6).all()
    for table, column in (speed, "batch of 32"), (training, "batches of 32"):
        assert [row["arithmetic"] for row in table] == [row["arithmetic"] for row in numbers]
        assert all(row[column] > 0 for row in table)
