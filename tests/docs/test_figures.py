"""The figures of README.md, of tables and of the card of `tiny` are those of the results."""

import json
import pathlib
import re

import pytest
from code_blocks import ROOT


def read_page(name):
    return (ROOT / name).read_text(encoding="utf-8")


def read_results(name):
    return json.loads(read_page(name))


def test_speed_in_the_readme_is_what_was_measured():
    results = read_results("benchmarks/results/inference.json")
    systems = results["tables"]["systems"]["rows"]
    names = ["keras_elmo", "keras_elmo, products in bfloat16", "simple_elmo"]
    assert [row["system"] for row in systems] == names
    rows = {
        f"{results['text']['sentences']} sentences": [
            f"{row['all sentences (tokens/s)']:,.0f} tokens/s" for row in systems
        ],
        "one sentence of 12 tokens": [f"{row['one sentence (ms)']:.0f} ms" for row in systems],
    }
    text = read_page("README.md")
    for name, values in rows.items():
        assert f"| {name} | {' | '.join(values)} |" in text


def test_speed_of_keras_elmo_lite_in_the_readme_is_what_was_measured():
    results = read_results("benchmarks/results/lite.json")
    systems = results["tables"]["systems"]
    names = ["keras_elmo", "keras_elmo_lite, int8", "simple_elmo"]
    assert [row["system"] for row in systems] == names
    text = read_page("README.md")
    for name, key, form in [
        ("512 sentences", "all sentences (tokens/s)", "{:,.0f} tokens/s"),
        ("one sentence of 12 tokens", "one sentence (ms)", "{:.0f} ms"),
        ("peak memory", "peak memory (MB)", "{:,.0f} MB"),
    ]:
        assert f"| {name} | {' | '.join(form.format(row[key]) for row in systems)} |" in text


def test_the_scores_of_the_card_of_tiny_are_what_was_measured():
    tables = read_results("benchmarks/results/tasks.json")["tables"]
    text = read_page("saved_models/tiny/README.md")
    columns = {
        "Sentiment (SST-2)": "accuracy (%)",
        "Named entities (WNUT17)": "F1 (%)",
        "Parts of speech (UD English EWT)": "accuracy (%)",
    }
    for name, row in [
        ("ELMo alone", "ELMo alone"),
        ("frozen", "the default, frozen"),
        ("all trained", "then all trained"),
    ]:
        cells = []
        for title, score in columns.items():
            found = [each for each in tables[title] if each["vectors"] == name]
            cells += [f"{r[score]:.1f} ± {r['standard deviation']}" for r in found] or [""]
        assert f"| {row} | {' | '.join(cells)} |" in text


def find_numbers(text):
    return set(re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?", text))


@pytest.mark.parametrize("page", ["results", "domain", "speed", "training"])
def test_the_tables_of_a_page_are_of_the_results_that_it_names(page):
    """Each number beside the name of a row is in a file that its section names."""
    num_checked = 0
    for section in re.split(r"^#+ ", read_page(f"docs/{page}.md"), flags=re.MULTILINE):
        rows = [line.split("|", 2)[2] for line in section.splitlines() if line.startswith("|")]
        named = re.findall(r"`(?:benchmarks/results/)?([\w/-]+\.md)`", section)
        files = filter(pathlib.Path.exists, (ROOT / "benchmarks/results" / n for n in named))
        measured = set()
        for file in files:
            measured |= find_numbers(file.read_text(encoding="utf-8"))
        for row in rows[2:]:
            assert find_numbers(row) <= measured, (section.splitlines()[0], row)
            num_checked += len(find_numbers(row))
    assert num_checked > 3
