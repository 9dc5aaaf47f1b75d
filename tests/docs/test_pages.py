"""The code of README.md and of every page of the documentation runs, and shows what it shows."""

import gzip
import pathlib
import shutil

import keras
import pytest
from code_blocks import ROOT, read_blocks, run_page

PAGES = sorted((ROOT / "docs").glob("*.md"))
WITH_CODE = [page for page in PAGES if any(block.runs for block in read_blocks(page))]
SENTENCES = ["the cat sat on the mat .", "a dog ran in the park .", "The cat sat ."]


def test_pages_are_found():
    names = {page.name for page in WITH_CODE}
    assert {"tutorial.md", "embedding.md", "classifiers.md", "serving.md"} <= names


@pytest.fixture
def folder(tmp_path):
    """What the pages take for granted: the examples, prose, and text to train on."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "prose.txt").write_text("In 1999, the bank failed.\n", encoding="utf-8")
    (tmp_path / "text").mkdir()
    with gzip.open(tmp_path / "text/a.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(100 * SENTENCES))
    for name in ("heldout.txt", "test.txt"):
        (tmp_path / name).write_text("\n".join(100 * SENTENCES), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "page", [pathlib.Path("README.md"), *(page.relative_to(ROOT) for page in WITH_CODE)], ids=str
)
def test_the_code_of_a_page_runs(page, folder):
    keras.utils.set_random_seed(0)
    run_page(ROOT / page, folder)
