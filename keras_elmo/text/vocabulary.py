"""`Vocabulary`: the words that a language model predicts."""

import os

from keras_elmo import characters

UNK = "<UNK>"
SPECIALS = (characters.BOS, characters.EOS, UNK)


class Vocabulary:
    """The words that a language model predicts, by their numbers.

    A file has a word a line, the most frequent first (sampled losses rely on that), the sentence
    boundaries `<S>` and `</S>` and the unknown word `<UNK>` among them.

    Args:
        words: path of such a file, or a sequence of strings.

    Raises:
        ValueError: a special word is missing, a word is empty, has a space in it or stands there
            twice, or the file is no UTF-8. All such faults are named, the first ten of a kind.

    Example:

    >>> vocabulary = Vocabulary(["<S>", "</S>", "<UNK>", "the"])
    >>> vocabulary.id("the"), vocabulary.id("unheard-of")
    (3, 2)

    Reference: `Vocabulary` in bilm-tf's bilm/data.py.
    """

    def __init__(self, words):
        where = "The vocabulary"
        if isinstance(words, str | os.PathLike):
            where = os.fspath(words)
            words = _read(where)
        self.words = tuple(words)
        self.ids = {}
        repeated, empty = [], []
        for number, word in enumerate(self.words):
            if word in self.ids:
                repeated.append(f"{word!r} (lines {self.ids[word] + 1} and {number + 1})")
            elif not word or word.split() != [word]:
                empty.append(f"line {number + 1} ({word!r})")
            self.ids.setdefault(word, number)
        faults = []
        if missing := [word for word in SPECIALS if word not in self.ids]:
            faults.append(f"the special words {', '.join(missing)} are missing; put them first")
        if empty:
            faults.append(f"a line must be one word, without spaces; {_some(empty)}")
        if repeated:
            faults.append(f"a word must stand there once; {_some(repeated)}")
        if faults:
            raise ValueError(f"{where} cannot be used: {'; '.join(faults)}")
        self.begin, self.end, self.unknown = (self.ids[word] for word in SPECIALS)

    def __len__(self):
        return len(self.words)

    def __eq__(self, other):
        return isinstance(other, Vocabulary) and self.words == other.words

    __hash__ = None

    def id(self, word):
        """The number of a word (a `str`); that of `<UNK>` where it is not among them."""
        return self.ids.get(word, self.unknown)

    def save(self, path):
        """Writes the file."""
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{word}\n" for word in self.words)


def _read(path):
    with open(path, "rb") as file:
        data = file.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path} must be UTF-8. Received: other bytes in line {line}") from None
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _some(faults):
    more = f" and {len(faults) - 10} more" if len(faults) > 10 else ""
    return f"received: {', '.join(faults[:10])}{more}"
