"""`Lines`: the sentences of a text file, one a line, decoded and checked as they are read."""

import codecs
import contextlib
import io

from keras_elmo.signals import check_signals

_FAULT = "\udc80"  # a lone surrogate, which no decoded text holds, where bytes cannot be decoded
_BYTE_ORDER_MARK = "\ufeff"


def _mark(error):
    return _FAULT, error.end


codecs.register_error("keras_elmo.mark", _mark)


class Lines:
    """The lines of a binary file as strings, without their ends.

    Args:
        file: binary file object.
        name: str, what errors call it.
        encoding: str.
        errors: `"strict"` or `"replace"`: what to do with bytes that cannot be decoded.
        are_keys: bool. Check that each line can be the name of a dataset in HDF5.
        kept: list to which every line is added that is read, or `None`.

    Raises (while it is read):
        ValueError: lines cannot be decoded, or not be names. The first is named.
    """

    def __init__(self, file, name, encoding, errors, are_keys=False, kept=None):
        self.file, self.name = file, name
        self.encoding, self.errors = encoding, errors
        self.are_keys, self.kept = are_keys, kept

    def __iter__(self):
        for line in self.read():
            if self.kept is not None:
                self.kept.append(line)
            yield line

    def read(self):
        """The checked lines, of which none is kept."""
        errors = "keras_elmo.mark" if self.errors == "strict" else self.errors
        text = io.TextIOWrapper(self.file, self.encoding, errors, newline="\n")
        numbers = {}  # of the lines that are keys
        try:
            for number, line in enumerate(text, start=1):
                check_signals()
                if number == 1:
                    line = line.removeprefix(_BYTE_ORDER_MARK)
                line = line.rstrip("\r\n")
                if _FAULT in line:
                    count = 1 + sum(_FAULT in other for other in text)
                    raise ValueError(self._not_decoded(count, number, line))
                if self.are_keys:
                    self._check_key(line.strip(), number, numbers)
                yield line
        finally:
            with contextlib.suppress(ValueError):  # the file is closed already
                text.detach()  # else it would close the file

    def _not_decoded(self, count, number, line):
        lines = "1 line" if count == 1 else f"{count:,} lines"
        shown = line.replace(_FAULT, "\N{REPLACEMENT CHARACTER}")
        return (
            f"{self.name} must be {self.encoding}, and {lines} cannot be read as such. The first "
            f"is line {number:,}: {shown[:60]!r}. Name the encoding of the file with `encoding` "
            '(as latin-1, utf-16), or pass `errors="replace"`'
        )

    def _check_key(self, key, number, numbers):
        fault = None
        if key in numbers:
            fault = f"is that of line {numbers[key]:,} again"
        elif key in ("", "."):
            fault = "is empty" if not key else "is a dot alone"
        elif "/" in key or "\0" in key:
            fault = "holds a /, which parts groups in HDF5" if "/" in key else "holds a NUL"
        if fault:
            raise ValueError(
                "With --use-sentence-keys each sentence must be a name in the file. Received: "
                f"{self.name}, line {number:,}, whose sentence {fault}: {key[:60]!r}. Leave the "
                "option out: sentences are then named by their lines"
            )
        numbers[key] = number
