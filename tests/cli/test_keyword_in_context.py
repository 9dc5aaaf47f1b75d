import pytest
from rich.cells import cell_len

from keras_elmo.cli.keyword_in_context import keyword_in_context


def test_the_token_stands_at_one_column():
    tokens = ["b"] * 40
    lines = [keyword_in_context(tokens[:k], "XX", tokens[k:], 40) for k in (0, 3, 20, 40)]
    assert {line.index("XX") for line in lines} == {15}
    assert lines[1] == " " * 9 + "b b b XX b b b b b b b b b b b…"
    assert lines[2].startswith("…")


@pytest.mark.parametrize("word", ["猫", "a" * 70, "é", "\t\x1b[31m"])
def test_it_fits_the_width(word):
    for width in (30, 41, 79):
        line = keyword_in_context([word] * 30, word, [word] * 30, width)
        assert cell_len(line) <= width and "\x1b" not in line and "\t" not in line
