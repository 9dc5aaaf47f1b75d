"""`TextClassifier` and `Tagger`: labels for texts, and for their tokens."""

import os
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from keras_elmo_lite import words as text
from keras_elmo_lite.elmo import Elmo, Sentence

_TAG = re.compile("([BIMESLU])(?:[-_](.*))?|(.+)[-_]([BIMESLU])", re.IGNORECASE)
_SAME = {"M": "I", "L": "E", "U": "S"}  # prefixes of BMES and BILOU, and the same of IOBES

Array = np.ndarray[Any, np.dtype[np.float32]]


class Entity(NamedTuple):
    """An entity: its type, and where it is. `start` and `end` count the characters of a raw text,
    or the tokens of a list. `score` is the least probability of its tags."""

    label: str
    start: int
    end: int
    text: str
    score: float


class TaggedToken(NamedTuple):
    """A token, its tag and the tag's probability, and where it is; see `Entity`."""

    text: str
    tag: Any
    score: float
    start: int
    end: int


class _Task:
    """An `Elmo`, labels, and a head.

    Attributes:
        elmo: the `Elmo`.
        labels: list, in the order of the probabilities.

    Raises:
        ValueError: it is the file of another model; see also `Elmo`.
        FileNotFoundError: there is no such file.
    """

    kind: str

    def __init__(self, path: str | os.PathLike[str], num_threads: int | None = None) -> None:
        self.elmo = Elmo(path, num_threads)
        self._task = self.elmo.file.task or {"kind": "Elmo"}
        if self._task["kind"] != self.kind:
            raise ValueError(
                f"{os.fspath(path)} must be the file of a {self.kind}. "
                f"Received: the file of a model of the class {self._task['kind']}"
            )
        self.labels: list[Any] = self._task["labels"]

    def __repr__(self):
        return f"<{self.kind} of {len(self.labels)} labels, {self.labels[:5]}; {self.elmo!r}>"

    def _outputs(self, texts, *names):
        """Yields the tokens of each text, a list of bytes, and outputs of the head for it."""
        sentences = list(self.elmo.read_tokens(texts))
        layers = self._task["layers"]
        for tokens, found in zip(sentences, self.elmo.embed_tokens(sentences, layers), strict=True):
            vectors = np.concatenate([found[layer] for layer in layers], axis=-1)
            missing = max(0, 1 - len(tokens))  # There must be a column of tokens.
            rows = np.array([text.word_row(token) for token in tokens] + [0] * missing, np.int32)
            outputs = self.elmo.file.run(
                "head",
                vectors=np.pad(vectors, [(0, missing), (0, 0)])[None],
                words=rows[None],
                sequence_len=np.array([len(tokens)], np.int32),
            )
            count = len(tokens) if self.kind == "Tagger" else None
            yield tokens, [outputs[name][0][:count] for name in names]


class TextClassifier(_Task):
    """A classifier of texts, from a TFLite file, with methods of `keras_elmo.TextClassifier`.

    Args:
        path: a file that `keras-elmo tflite` wrote for a `TextClassifier`.
        num_threads: see `Elmo`.

    Example:

    >>> TextClassifier("reviews.tflite").classify(["a good film"])
    ['positive']
    """

    kind = "TextClassifier"

    def predict(self, texts: str | bytes | Iterable[Sentence]) -> Array:
        """The probabilities of the labels: float32, (texts, labels).

        Args:
            texts: what `Elmo.tokenize` takes.
        """
        rows = [row for _, (row,) in self._outputs(texts, "probabilities")]
        return np.array(rows, np.float32).reshape(-1, len(self.labels))

    def classify(self, texts: str | bytes | Iterable[Sentence]) -> list[Any]:
        """The most likely label of each text; with `multi_label` a list of those above one half."""
        return self.labels_of(self.predict(texts))

    def labels_of(self, probabilities: Array) -> list[Any]:
        """The labels, as `classify` gives them, of probabilities that `predict` returned."""
        if self._task["multi_label"]:
            return [
                [self.labels[k] for k in np.flatnonzero(np.asarray(row) > 0.5)]
                for row in probabilities
            ]
        return [self.labels[k] for k in np.argmax(probabilities, axis=-1)]


class Tagger(_Task):
    """A tagger of tokens, from a TFLite file, with methods of `keras_elmo.Tagger`.

    Args:
        path: a file that `keras-elmo tflite` wrote for a `Tagger`.
        num_threads: see `Elmo`.

    Example:

    >>> Tagger("entities.tflite").entities(["Ada met Charles."])[0][0]
    Entity(label='PER', start=0, end=3, text='Ada', score=0.98)
    """

    kind = "Tagger"

    def predict(self, texts: str | bytes | Iterable[Sentence]) -> Array:
        """The probabilities of the tags: float32, (texts, tokens, tags), zeros after the end of a
        text.

        Args:
            texts: what `Elmo.tokenize` takes.
        """
        rows = [row for _, (row,) in self._outputs(texts, "probabilities")]
        width = max([1, *map(len, rows)])
        result = np.zeros((len(rows), width, len(self.labels)), np.float32)
        for index, row in enumerate(rows):
            result[index, : len(row)] = row
        return result

    def tag(
        self, texts: str | bytes | Iterable[Sentence], details: bool = False
    ) -> list[list[tuple[str, Any]]] | list[list[TaggedToken]]:
        """The most likely tags of texts: a list of lists of pairs, a token and its tag; with
        `details` of `TaggedToken`.
        """
        if details:
            texts = list(self.elmo.as_iterable(texts))
            return [tokens for _, tokens in self._tagged(texts)]
        return [
            [(word, self.labels[k]) for word, k in zip(text.to_strings(tokens), row, strict=True)]
            for tokens, (row,) in self._outputs(texts, "tags")
        ]

    def _tagged(self, texts):
        """Yields each text of a list, raw as `str`, and its `TaggedToken`s."""
        found = self._outputs(texts, "tags", "probabilities")
        for source, (tokens, (row, scores)) in zip(texts, found, strict=True):
            if isinstance(source, bytes):
                source = source.decode("utf-8", "surrogateescape")
            places = [(k, k + 1) for k in range(len(tokens))]
            if isinstance(source, str):
                places = text.spans(source, tokens, self.elmo.tokenizer)
            parts = zip(text.to_strings(tokens), row, scores, places, strict=True)
            yield (
                source,
                [TaggedToken(word, self.labels[k], float(p[k]), *at) for word, k, p, at in parts],
            )

    def entities(self, texts: str | bytes | Iterable[Sentence]) -> list[list[Entity]]:
        """The entities of texts, for tags of the scheme BIO or IOBES.

        Raises:
            ValueError: the labels are not tags of such a scheme.
        """
        if not self._task["is_of_entities"]:
            others = [x for x in self.labels if x not in ("O", "o") and _split(x) is None]
            raise ValueError(
                "The labels must be tags like B-PER, I-PER and O; for other tags call `tag`, with "
                f"`details=True` for their places. Received: labels={others or self.labels}"
            )
        result = []
        for source, tokens in self._tagged(list(self.elmo.as_iterable(texts))):
            found = []
            for label, first, end in spans_of_entities([token.tag for token in tokens]):
                part = tokens[first:end]
                start, end = part[0].start, part[-1].end
                words = " ".join(token.text for token in part)
                shown = source[start:end] if isinstance(source, str) else words
                score = min(token.score for token in part)
                found.append(Entity(label, start, end, shown, score))
            result.append(found)
        return result


def spans_of_entities(tags):
    """Triples: the type of an entity, its first token, and the token after its last.

    The rules are those of the script conlleval, as in keras_elmo.
    """
    found, start, before, type_before = [], 0, "O", ""
    for index, tag in enumerate([*tags, "O"]):
        prefix, kind = _split(tag) or ("O", "")
        is_other = kind != type_before
        if before != "O" and (before in "ES" or prefix in "BSO" or is_other):
            found.append((type_before, start, index))
        if prefix != "O" and (prefix in "BS" or before in "ESO" or is_other):
            start = index
        before, type_before = prefix, kind
    return found


def _split(tag):
    """The prefix of a tag, one of IOBES, and its type; or `None`."""
    if not (parts := _TAG.fullmatch(tag) if isinstance(tag, str) else None):
        return None
    prefix = (parts[1] or parts[4]).upper()
    return _SAME.get(prefix, prefix), parts[2] or parts[3] or ""
