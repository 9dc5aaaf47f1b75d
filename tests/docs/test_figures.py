"""The figures of README.md are those of the benchmarks' results."""

import json

from code_blocks import ROOT


def test_speed_in_the_readme_is_what_was_measured():
    results = json.loads((ROOT / "benchmarks/results/inference.json").read_text())
    start, systems = (results["tables"][name]["rows"] for name in ("start", "systems"))
    assert [row["system"] for row in start] == ["keras_elmo", "simple_elmo"]
    assert [row["system"] for row in systems] == ["keras_elmo", "simple_elmo"]
    rows = {
        f"{results['text']['sentences']} sentences": [
            f"{row['all sentences (tokens/s)']:,.0f} tokens/s" for row in systems
        ],
        "one sentence of 12 tokens": [f"{row['one sentence (ms)']:.0f} ms" for row in systems],
        "from process start to ready": [f"{row['start to ready (s)']:.1f} s" for row in start],
    }
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name, values in rows.items():
        assert f"| {name} | {' | '.join(values)} |" in text
    assert results["tables"]["systems"]["date"] == results["tables"]["start"]["date"]
    assert f"Python {results['machine']['python']}, {results['tables']['start']['date']}" in text
