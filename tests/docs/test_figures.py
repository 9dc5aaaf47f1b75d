"""The figures of README.md, of tables and of the card of `tiny` are those of the results."""

import fnmatch
import json
import pathlib
import re

import keras
import numpy as np
import pandas as pd
import pytest
from code_blocks import ROOT

import keras_elmo
from keras_elmo.files.labelled_files import read_tagged
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
        data = read_tagged(shared / f"data/ud-english-ewt/{part}.conllu")
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


# What the labels of a page's rows and columns are called in the results: in the cells of a row, its
# column, the title of its table, or the first name in the file. All of them must hold, with `*` for
# any text; of a pair, one. Labels that are not here are called the same there.
SST2 = "Sentiment (SST-2)", "accuracy (%)"
WNUT17 = "Named entities (WNUT17)", "F1 (%)"
EWT = "Parts of speech (UD English EWT)", "accuracy (%)"
NAMES = {
    "Is ELMo worth it?": {
        "sentiment (SST-2, %)": SST2, "names (WNUT17, F1)": WNUT17, "parts of speech (EWT, %)": EWT,
        "most frequent": ["each word's most frequent tag"], "bag of words": ["a bag of words"],
        "GloVe": ["GloVe*"], "MiniLM": ["MiniLM*"], "tiny": ["frozen"],
    },
    "Inference": {
        "keras_elmo, float32": ["keras_elmo"], "keras-elmo-lite, int8": ["keras_elmo_lite, int8"],
        'matmul_dtype="bfloat16"': ["keras_elmo, products in bfloat16"],
        "tokens/s": ["all sentences (tokens/s)"], "memory (MB)": ["peak memory (MB)", "systems"],
    },
    "TFLite": {"original's shape": ["original"], "cosine": ["cosine of elmo", "text in, batch 1"]},
    "GPUs": {
        "1 sentence": ["batch of 1"], "512 sentences": ["batch of 512"],
        "training": ["Training (tokens/s)"],
    },
    "Tasks": {
        "SST-2 (accuracy)": SST2, "WNUT17 (F1)": WNUT17, "EWT (accuracy)": EWT,
        "GloVe instead of ELMo": ["GloVe*"], "the default": ["frozen"],
        "all of ELMo trained": ["all trained"],
    },
    "Probes": {
        "senses of 20 nouns (F1)": ["senses", "mean"],
        "parts of speech (accuracy)": ["parts of speech", "test, accuracy (%)"],
        **{f"layer {k}": [f"*layer {k}"] for k in range(3)},
    },
    "Training": {
        "keras_elmo": ["learning", "mean"],
        "held-out perplexity after 200 batches": ["held-out perplexity"],
    },
    "Corpora": {name: ["formats, tiny", name] for name in ("sentences/s", "MB")},
    "ELMo for your own domain": {
        "tiny": ["ELMo: tiny"], "a biLM of biomedical text alone": ["ELMo: alone"],
        "tiny, further on biomedical text": ["ELMo: further"], "GloVe vectors": ["GloVe*"],
        "tiny, further on Wikipedia": ["ELMo: control"], "perplexity": [],
        "NCBI: 5,432 sentences": ["NCBI Disease", "F1 (%)"], "BC5CDR: 4,560": ["BC5CDR", "F1 (%)"],
        "543": ["NCBI Disease, the first tenth*", "F1 (%)"],
        "456": ["BC5CDR, the first tenth*", "F1 (%)"],
    },
    "How much text": {
        "perplexity": ["tiny", "all"], "senses (F1)": ["tiny", "senses, layer 2"],
        "parts of speech (%)": ["tiny", "EWT"], "SST-2 (%)": ["tiny", "SST-2"],
    },
    "Which shape": {
        "tiny": ["tiny*"], "small": ["*small*"], "names (WNUT17, F1)": [*WNUT17, "frozen"],
        "senses, layer 2 (F1)": ["senses, layer 2", "150"], "parts of speech (%)": ["EWT", "150"],
        "training, tokens a second in bfloat16": ["tokens/s", "bfloat16"],
        "held-out perplexity": ["all", "150"],
    },
    "Products in bfloat16": {
        "float32": [("keras_elmo", "dtype=float32")],
        "bfloat16": [("keras_elmo, products in bfloat16", "matmul_dtype=bfloat16")],
        "512 sentences (tokens/s)": ["systems", "all sentences (tokens/s)"],
        "batches of 32 (tokens/s)": ["systems", "batches of 32, file order (tokens/s)"],
        "one sentence (ms)": ["systems", "one sentence (ms)"],
        "memory (MB)": ["systems", "peak memory (MB)"],
        "largest error / standard deviation of a layer": ["largest error / standard deviation"],
    },
    "Settings that learn fast": {
        "Adam 0.003, batches of 64, 1,024 negatives": ["64 lanes"], "Adam 0.001": ["rate 0.001"],
        "batches of 32": ["32 lanes"], "perplexity": ["held-out perplexity"],
    },
}  # fmt: skip


def find_numbers(text):
    return set(re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?", text))


def tables(text):
    """Yields what is above each row of the tables of a text: its title, and its columns; and it."""
    title, columns = "", None
    for line in text.splitlines():
        cells = [cell.replace("`", "").strip() for cell in line.split("|")[1:-1]]
        if line.startswith("#"):
            title = line.strip("# ")
        if not cells:
            columns = None
        elif columns is None:
            columns = cells
        elif not line.startswith(("|-", "| -")):
            yield title, columns, cells


def measured_numbers(file):
    """Pairs of a number of a results file, and all that says what it is."""
    text = file.read_text(encoding="utf-8")
    subject = text.partition(".")[0].strip("`")
    for title, columns, cells in tables(text):
        for column, cell in zip(columns, cells, strict=True):
            for number in find_numbers(cell):
                yield number, [subject, title, column, *cells]


def check_tables(text):
    """Each number of the tables of a page is in a file that its section names, in its row there."""
    num_checked = 0
    for section in re.split(r"^(?=#+ )", text, flags=re.MULTILINE):
        found = re.findall(r"`(?:benchmarks/results/)?([\w/-]+\.md)`", section)
        files = filter(pathlib.Path.exists, (ROOT / "benchmarks/results" / name for name in found))
        measured = [pair for file in files for pair in measured_numbers(file)]
        for title, columns, cells in tables(section):
            if title == "Arguments":  # whose numbers are defaults
                continue
            names_of = NAMES.get(title, {})
            labels = [c for k, c in enumerate(cells) if c and not (k and find_numbers(c))]
            of_row = [name for label in labels for name in names_of.get(label, [label])]
            for column, cell in list(zip(columns, cells, strict=True))[1:]:
                for number in find_numbers(cell):
                    names = [*of_row, *names_of.get(column, [column])]
                    assert any(
                        number == each and all(is_there(name, words) for name in names)
                        for each, words in measured
                    ), (title, cells[0], column, number)
                    num_checked += 1
    return num_checked


def is_there(name, words):
    patterns = [name] if isinstance(name, str) else name
    return any(fnmatch.filter(words, pattern) for pattern in patterns)


@pytest.mark.parametrize("page", ["classifiers", "results", "domain", "speed", "training"])
def test_the_tables_of_a_page_are_of_the_results_that_it_names(page):
    assert check_tables(read_page(f"docs/{page}.md")) > 3


@pytest.mark.parametrize(
    "page, number, other",
    [("results", "81.8", "83.0"), ("classifiers", "86.2", "92.0"), ("domain", "62.5", "63.6")],
)
def test_numbers_of_another_row_or_column_are_found(page, number, other):
    text = read_page(f"docs/{page}.md").replace(f"| {number} ", "| N ")
    text = text.replace(f"| {other} ", f"| {number} ").replace("| N ", f"| {other} ")
    with pytest.raises(AssertionError, match=f"'(?:{number}|{other})'"):
        check_tables(text)


def test_a_row_of_tasks_has_the_mean_and_the_standard_deviation(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks.tasks import row_of

    row = row_of("mix", [(70.0, 3.0, 8.0), (72.0, 5.0, 10.0)], [1.0], "F1 (%)", "A")
    assert list(row.values()) == ["mix", 71.0, "1.4", 4.0, 9.0, [1.0], "A"]
