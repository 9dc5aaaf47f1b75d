"""The code of README.md and of every page of the documentation runs, and shows what it shows."""

import gzip
import pathlib
import shutil

import keras
import pytest
from code_blocks import ROOT, read_blocks, run_page

import keras_elmo

PAGES = sorted((ROOT / "docs").glob("*.md"))
WITH_CODE = [page for page in PAGES if any(block.runs for block in read_blocks(page))]
SENTENCES = ["the cat sat on the mat .", "a dog ran in the park .", "The cat sat ."]


@pytest.fixture
def folder(tmp_path):
    """What the pages take for granted: the examples, prose, and text to train on."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for path in tmp_path.glob("examples/data/genres.*.csv"):  # test_figures.py reads all of it
        path.write_text("".join(path.open(encoding="utf-8").readlines()[:33]), encoding="utf-8")
    (tmp_path / "prose.txt").write_text("In 1999, the bank failed.\n", encoding="utf-8")
    (tmp_path / "text").mkdir()
    with gzip.open(tmp_path / "text/a.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(100 * SENTENCES))
    for name in ("heldout.txt", "test.txt"):
        (tmp_path / name).write_text("\n".join(100 * SENTENCES), encoding="utf-8")
    write_probe_data(tmp_path)
    (tmp_path / "proteins.fasta").write_text(">P1 a protein\nMKTAY\nIAKQR\n>P2\nMKV*\n")
    shutil.copytree(pathlib.Path(keras_elmo.__file__).parent / "weights/tiny", tmp_path / "seqvec")
    return tmp_path


def write_probe_data(folder):
    """Tags in CoNLL-U, and words with senses, as docs/probing.md and docs/pictures.md name them."""
    bank = "The bank lent money .\nA bank of the river .\nThe bank failed .\nThe muddy bank ."
    (folder / "sentences.txt").write_text(bank, encoding="utf-8")
    (folder / "masc.txt").write_text("\n".join(SENTENCES), encoding="utf-8")
    rows = ["1\tthe\t_\tDET", "2\tcat\t_\tNOUN", "3\tsat\t_\tVERB"]
    text = "\n".join(row + 6 * "\t_" for row in rows) + "\n\n"
    for part in ("train", "dev", "test"):
        (folder / f"{part}.conllu").write_text(4 * text, encoding="utf-8")
    for word in ("java", "spring", "arm"):
        (folder / "coarse-wsd-20" / word).mkdir(parents=True)
        for part in ("train", "test"):
            path = folder / "coarse-wsd-20" / word / part
            lines = [f"1\tthe {word} is {adjective}" for adjective in ("far", "new", "old", "red")]
            path.with_suffix(".data.txt").write_text("\n".join(lines) + "\n")
            path.with_suffix(".gold.txt").write_text("0\n1\n0\n1\n")


# The default tests run all that these pages show, in a smaller case.
SLOW = "classifiers corpora embedding pictures probing serving text small-machines".split()
SLOW += ["recipes", "training", "tutorial"]


def marked(page):
    return pytest.param(page.relative_to(ROOT), marks=[pytest.mark.slow] * (page.stem in SLOW))


@pytest.mark.parametrize("page", list(map(marked, [ROOT / "README.md", *WITH_CODE])), ids=str)
def test_the_code_of_a_page_runs(page, folder):
    keras.utils.set_random_seed(0)
    run_page(ROOT / page, folder)
