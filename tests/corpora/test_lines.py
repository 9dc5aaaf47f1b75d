import io
import re

import pytest

from keras_elmo.corpora.lines import Lines

LATIN = "The cat\ncaf\xe9\nHello\nna\xefve\n"


def read(content, encoding="utf-8", errors="strict", **options):
    return list(Lines(io.BytesIO(content), "in.txt", encoding, errors, **options))


@pytest.mark.parametrize(
    "content",
    [
        b"The cat\nHello\n",
        b"The cat\nHello",
        b"The cat\r\nHello\r\n",
        b"\xef\xbb\xbfThe cat\nHello\n",
        b"\xef\xbb\xbfThe cat\r\nHello",
    ],
    ids=["lf", "no last newline", "crlf", "bom", "bom and crlf"],
)
def test_line_ends_and_byte_order_mark_are_no_text(content):
    assert read(content) == ["The cat", "Hello"]


def test_other_bytes_are_kept():
    assert read(b"\n a\x00b\x0b \n\n\xe2\x80\xa8\n") == ["", " a\x00b\x0b ", "", "\u2028"]
    assert read(b"") == []


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le", "utf-8-sig", "cp1252"])
def test_text_of_any_encoding(encoding):
    content = LATIN.replace("\n", "\r\n").encode(encoding)
    assert read(content, encoding) == LATIN.splitlines()


def test_lines_of_another_encoding_are_counted_and_the_first_is_named():
    message = (
        "in.txt must be utf-8, and 2 lines cannot be read as such. The first is line 2: "
        "'caf\ufffd'. Name the encoding of the file with `encoding` (as latin-1, utf-16), or pass "
        '`errors="replace"`'
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        read(LATIN.encode("latin-1"))


def test_utf16_is_no_utf8_and_may_be_cut_short():
    content = "Hello\nthere\n".encode("utf-16")
    with pytest.raises(ValueError, match="in.txt must be utf-8, and 1 line cannot be read"):
        read(content)
    message = "in.txt must be utf-16, and 1 line cannot be read as such. .*is line 2"
    with pytest.raises(ValueError, match=message):
        read(content[:-1], "utf-16")


def test_what_cannot_be_decoded_may_be_replaced():
    assert read(b"caf\xe9 au\nlait\n", errors="replace") == ["caf\ufffd au", "lait"]
