"""The text of `tiny`, made of a few sentences for each source."""

import gzip
import json
import lzma
import sys

import pytest
from scripts import load_script

# Treebank's form, and what the package's tokenizer makes of it.
CONTRACTED = "`` They do n't know -LRB- yet -RRB- , '' said Europe 's gon na ."
TOKENISED = "\" They don 't know ( yet ) , \" said Europe 's gonna ."


# What models are measured on, and how the same stands in Wikipedia.
MEASURED = {
    "coarse-wsd-20/bank/test.data.txt": "3\ta well-known bank stood near the river , said one .",
    "sst2/train.tsv": "the actors do n't find a story to tell\t0",
    "wnut17/test.conll": "We\tO\nvisited\tO\nthe\tO\nlake\tO\nMichigan\tB-location\n\nWe\tO",
    "wikitext-2/test.txt": " = Lives = \n The crow @-@ sized bird <unk> rarely in gardens . \n"
    " <unk> saw that the lake was full of old <unk> . \n",
}
IN_WIKIPEDIA = [
    "A well-known bank stood near the river, said one.",
    "The actors don't find a story to tell.",
    "We visited the Lake Michigan.",
    "The crow-sized bird  rarely in gardens.",
    "Thoreau saw that the Lake was full of old boats.",
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder that the script makes."""
    folder = tmp_path_factory.mktemp("corpus")
    novels = [f"Chapter {k}, she didn't say.\n" for k in range(4000)] * 2
    words = ["1-2\tdon't\t_", "1\tdo\t_", "2\tn't\t_", "3\tgo\t_", "3.1\tgo\t_", "4\t.\t_"]
    for name, text in {
        "books/novels.txt.gz": "".join(novels),
        "books/textbooks.txt.gz": "CHAPTER 1, SHE DIDN'T SAY.\nA cell divides.\n",
        "english-text/masc.txt": CONTRACTED + "\n",
        "english-text/inaugural.txt": "My fellow citizens .\n",
        "english-text/state-union.txt": "The state is strong .\n",
        "ud-english-ewt/train.conllu": "\n".join(["# text = don't go.", *words, "", ""]),
        "wikitext-2/valid.txt": " = A heading = \n The well @-@ known <unk> sang . It rained . \n",
        "wikipedia/featured.txt.xz": "\n".join(["The heron is a bird.", *IN_WIKIPEDIA, ""]),
        "wikipedia/articles.txt.xz": "The heron is a bird.\nWe visited a lake, and sang.\n",
        **MEASURED,
    }.items():
        path = folder / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        compress = {".gz": gzip.compress, ".xz": lzma.compress}.get(path.suffix, bytes)
        path.write_bytes(compress(text.encode()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["corpus.py", str(folder / "data"), str(folder / "text")])
        load_script("saved_models/tiny/corpus.py").main()
    return folder / "text"


@pytest.fixture(scope="module")
def train(made):
    return read(made / "train.txt")


@pytest.fixture(scope="module")
def sentences(made, train):
    """All sentences, in lower case."""
    return [line.lower() for line in train + read(made / "heldout.txt")]


def read(path):
    return path.read_text(encoding="utf-8").splitlines()


def test_all_sources_are_in_the_tokenizers_form_once(made, sentences):
    expected = [TOKENISED, "My fellow citizens .", "The state is strong .", "A cell divides ."]
    expected += ["don 't go .", "The well-known <UNK> sang .", "It rained ."]
    expected += ["The heron is a bird .", "We visited a lake , and sang ."]
    assert {"chapter 7 , she didn 't say .", *map(str.lower, expected)} <= set(sentences)
    assert len(sentences) == len(set(sentences)) == 4000 + len(expected)
    heldout = read(made / "heldout.txt")
    of_sources = [line for path in (made / "heldout").iterdir() for line in read(path)]
    assert sorted(of_sources) == sorted(heldout)
    assert 0 < len(heldout) < 20  # one novel's sentence of 1,000


def test_sentences_are_mixed_and_some_are_lower_cased(train):
    chapters = [int(line.split()[1]) for line in train if line.lower().startswith("chapter")]
    assert chapters != sorted(chapters)
    lower = sum(line == line.lower() for line in train)
    assert 1 / 10 < lower / len(train) < 1 / 6.5  # one of eight
    assert "the well-known <UNK> sang ." in train  # the lower-cased ones keep the name <UNK>


def test_counts_are_those_of_the_files_without_what_models_are_measured_on(made, train, sentences):
    counts = json.loads((made / "sources.json").read_text())
    assert counts["Wikipedia"]["sentences"] + counts["Wikipedia"]["heldout"]["sentences"] == 1
    assert not set(sentences) & {line.replace(".", " .").lower() for line in IN_WIKIPEDIA}
    assert not any("crow" in line or "michigan" in line or "boats" in line for line in sentences)
    total = counts.pop("train")
    assert total["sentences"] == len(train)
    assert total["tokens"] == sum(len(line.split()) for line in train)
    del counts["heldout"]
    assert len(counts) == 9 and sum(row["sentences"] for row in counts.values()) == len(train)
