"""`Vocabulary`: the words that a language model predicts."""

import hashlib
import os
import re
from collections.abc import Sequence

from keras_elmo import characters
from keras_elmo.annotations import AnyPath
from keras_elmo.checks import first_lines, short_repr
from keras_elmo.files.text_files import read_lines

UNK = "<UNK>"
SPECIALS = (characters.BOS, characters.EOS, UNK)
_NO_WORD = "!!!MAXTERMID"  # a line of old vocabularies, which the original does not count
# A word of the original's vocabulary may hold another space of Unicode.
_SPACE = re.compile(r"\s", re.ASCII)


class Vocabulary:
    """The words that a language model predicts, by their ids.

    Args:
        words: a sequence of strings; or the path of a UTF-8 file with a word on each line. The most
            frequent word comes first (sampled losses rely on that). `<S>`, `</S>` and `<UNK>` must
            be among the words.

    Raises:
        ValueError: a special word is missing; or a word is empty, holds a space or occurs twice.

    Reference: `Vocabulary` in bilm-tf's bilm/data.py.
    """

    def __init__(self, words: AnyPath | Sequence[str]) -> None:
        where = "The vocabulary"
        if isinstance(words, str | os.PathLike):
            where = os.fspath(words)
            words = (word for word in read_lines(where) if word != _NO_WORD)
        self.words = tuple(words)
        self.ids, faults = {}, []
        for index, word in enumerate(self.words):
            first = self.ids.setdefault(word, index)
            if first != index:
                faults.append(f"line {index + 1}: {short_repr(word)} is in line {first + 1}, too")
            elif not word or _SPACE.search(word):
                faults.append(f"line {index + 1}: {short_repr(word)} is not one word")
        if missing := [word for word in SPECIALS if word not in self.ids]:
            faults.insert(0, f"the special words {', '.join(missing)} are missing; put them first")
        if faults:
            raise ValueError(
                f"{where} must have one word, without spaces, on each line, and each word once. "
                f"Received:\n  {first_lines(faults)}"
            )
        self.begin, self.end, self.unknown = (self.ids[word] for word in SPECIALS)

    def __len__(self) -> int:
        return len(self.words)

    def __eq__(self, other):
        return isinstance(other, Vocabulary) and self.words == other.words

    __hash__ = None

    def digest(self) -> str:
        """The SHA-256 of the words, in hexadecimal digits."""
        return hashlib.sha256("\n".join(self.words).encode("utf-8", "surrogateescape")).hexdigest()

    def save(self, path: AnyPath) -> None:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{word}\n" for word in self.words)
