"""The figures of README.md, of tables and of the card of `tiny` are those of the results."""

import json
import pathlib
import re

import keras
import numpy as np
import pandas as pd
import pytest
from code_blocks import ROOT

import keras_elmo
from keras_elmo.files.labelled_files import read_conllu
from keras_elmo_cli.classify import baseline


def read_page(name):
    return (ROOT / name).read_text(encoding="utf-8")


def read_results(name):
    return json.loads(read_page(name))


def test_speed_in_the_readme_is_what_was_measured():
    table = read_results("benchmarks/results/peers/inference.json")["tables"]["systems"]
    measured = {row["system"]: row for row in table["rows"]}
    names = ["keras_elmo", "keras_elmo_lite, int8", "AllenNLP", "simple_elmo"]
    rows = [measured[name] for name in names]
    for name, key, form in [
        ("tokens a second", "all sentences (tokens/s)", "{:,.0f}"),
        ("a sentence of 12 tokens", "one sentence (ms)", "{:,.0f} ms"),
        ("peak memory", "peak memory (MB)", "{:,.0f} MB"),
    ]:
        ours, lite, allennlp, other = (form.format(row[key]) for row in rows)
        line = f"| {name} | {ours} (int8: {lite}) | | {allennlp} | | {other} |"
        assert line in read_page("README.md")


@pytest.mark.slow
def test_scores_in_the_readme_are_what_its_code_gives(shared):
    text = read_page("README.md")
    tagger = keras_elmo.Tagger.from_pretrained("pos")
    for part, figure in {"dev": None, "test": "95.8"}.items():
        data = read_conllu(shared / f"data/ud-english-ewt/{part}.conllu")
        accuracy = tagger.evaluate(*data, verbose=0, return_dict=True)["accuracy"]
        card = read_page("saved_models/pos/README.md")
        assert f"| {part} | {100 * accuracy:.1f} |" in card
        assert figure is None or f"{100 * accuracy:.1f} %" in text

    train, test = (pd.read_csv(ROOT / f"examples/data/genres.{x}.csv") for x in ("train", "test"))
    scores = []
    for seed in range(3):
        keras.utils.set_random_seed(seed)
        model = keras_elmo.TextClassifier("tiny", labels=train.genre, tokenizer="treebank")
        model.fit(train.text, train.genre, verbose=0)
        found = model.evaluate(test.text, test.genre, verbose=0, return_dict=True)
        scores.append(found["accuracy"])
    assert "accuracy about 0.77\n" in text and abs(np.mean(scores) - 0.77) < 0.01
    _, words = baseline((list(train.text), list(train.genre)), (list(test.text), list(test.genre)))
    assert f"an accuracy of {words['accuracy']:.2f}" in text


def test_the_scores_of_the_card_of_tiny_are_what_was_measured():
    tables = read_results("benchmarks/results/tasks.json")["tables"]
    text = read_page("saved_models/tiny/README.md")
    columns = {
        "Sentiment (SST-2)": "accuracy (%)",
        "Named entities (WNUT17)": "F1 (%)",
        "Parts of speech (UD English EWT)": "accuracy (%)",
    }
    rows = {"ELMo alone": "ELMo alone", "frozen": "the default, frozen"}
    for name, row in (rows | {"all trained": "then all trained"}).items():
        cells = []
        for title, score in columns.items():
            found = [each for each in tables[title] if each["vectors"] == name]
            cells += [f"{r[score]:.1f} ± {r['standard deviation']}" for r in found] or [""]
        assert f"| {row} | {' | '.join(cells)} |" in text


def find_numbers(text):
    return set(re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?", text))


@pytest.mark.parametrize("page", ["classifiers", "results", "domain", "speed", "training"])
def test_the_tables_of_a_page_are_of_the_results_that_it_names(page):
    """Each number beside the name of a row is in a file that its section names."""
    num_checked = 0
    for section in re.split(r"^#+ ", read_page(f"docs/{page}.md"), flags=re.MULTILINE):
        if section.startswith("Arguments"):  # whose numbers are defaults
            continue
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


def test_a_row_of_tasks_has_the_mean_and_the_standard_deviation(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks.tasks import row_of

    row = row_of("mix", [(70.0, 3.0, 8.0), (72.0, 5.0, 10.0)], [1.0], "F1 (%)", "A")
    assert list(row.values()) == ["mix", 71.0, "1.4", 4.0, 9.0, [1.0], "A"]
