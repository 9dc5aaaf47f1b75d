"""A word in its sentence, cut to a width: the columns of a concordance."""

from rich.cells import cell_len

_CUT = "…"


def keyword_in_context(before, token, after, width):
    """A line of a concordance, in which the token stands in the middle.

    Args:
        before: list of strings. The tokens before it.
        token: str.
        after: list of strings. The tokens after it.
        width: int. Columns of the terminal; wide characters take two.

    Returns:
        str, of at most `width` columns; the token begins at the same column for one `width`.
    """
    half = max((width - 12) // 2, 4)  # 12: room for the token itself
    left = _last_columns(_printable(" ".join(before)), half)
    right = _first_columns(_printable(" ".join([token, *after])), width - half - 1)
    return f"{' ' * (half - cell_len(left))}{left} {right}"


def _printable(text):
    return "".join(character if character.isprintable() else "�" for character in text)


def _last_columns(text, width):
    if cell_len(text) <= width:
        return text
    while cell_len(text) > width - 1:
        text = text[max(1, (cell_len(text) - width) // 2) :]
    return _CUT + text


def _first_columns(text, width):
    if cell_len(text) <= width:
        return text
    while cell_len(text) > width - 1:
        text = text[: -max(1, (cell_len(text) - width) // 2)]
    return text + _CUT
