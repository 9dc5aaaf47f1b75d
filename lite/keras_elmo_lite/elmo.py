"""`Elmo`: the vectors of sentences."""

import itertools
import os
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, SupportsIndex

import numpy as np

from keras_elmo_lite import splitting
from keras_elmo_lite import words as text
from keras_elmo_lite.model_file import ModelFile

_ROWS = 32  # sentences of a batch, at most: more are not faster
# Tokens of a call, about: more take memory, and are not faster. Sentences leave after a call in
# which they end.
_TOKENS_PER_CALL = 128
_GROUP_SENTENCES, _GROUP_TOKENS = 1024, 4096  # of a group, which is sorted by length; at most
_READ_AHEAD = 256  # sentences whose tokens are checked together, as keras_elmo does
_EPSILON = 1e-12  # of a mix with layer norm

Sentence = str | bytes | Sequence[str] | Sequence[bytes] | np.ndarray[Any, Any]
LayerSpec = str | SupportsIndex  # an element of `layers`


class Elmo:
    """An ELMo from a TFLite file, with the methods of `keras_elmo.Elmo` that embed text.

    Args:
        path: a file that `keras-elmo tflite` wrote.
        num_threads: int. Threads of a call; `None`: one for each physical core.

    Raises:
        ValueError: the file is not such a file, or damaged, or of a later version; or `num_threads`
            is below 1.
        FileNotFoundError: there is no such file.

    Example:

    >>> elmo = Elmo("elmo-int8.tflite")
    >>> [vectors.shape for vectors in elmo.embed(["The cat sat .", ["Hello", "world"]])]
    [(4, 1024), (2, 1024)]
    """

    def __init__(self, path: str | os.PathLike[str], num_threads: int | None = None) -> None:
        self.file = ModelFile(path, num_threads)
        self._arguments = os.path.abspath(path), num_threads
        self.tokenizer = self.file.tokenizer

    def __reduce__(self):
        return Elmo, self._arguments  # a copy opens the file again

    def __repr__(self):
        file = self.file
        return (
            f"<Elmo {file.path!r}: {file.num_layers} LSTM layers in each direction, outputs of "
            f"{2 * file.projection_dim:,}; tokenizer {self.tokenizer}>"
        )

    def tokenize(self, sentences: Iterable[Sentence]) -> list[list[str]]:
        """The tokens of sentences, as the model's tokenizer splits them.

        Args:
            sentences: iterable of raw strings, or of lists of tokens, which are not split again; or
                one raw string.
                An array (batch,) or (batch, 1) holds raw strings. An array (batch, tokens) holds
                tokens, padded with `""`, for a model without a tokenizer.

        Returns:
            A list of lists of `str`. Bytes that are not UTF-8 are lone surrogates.

        Raises:
            TypeError: a sentence is neither a string nor a list of strings.
            ValueError: most tokens hold whitespace, as sentences do, or an array has another shape.
        """
        return [text.to_strings(row) for row in self.read_tokens(sentences)]

    def embed(
        self,
        sentences: Iterable[Sentence],
        layers: LayerSpec | Sequence[LayerSpec] = "elmo",
        progress: bool = False,
    ) -> Any:
        """Embeds sentences, any number of them. Sentences of like length go together.

        Args:
            sentences: see `tokenize`.
            layers: what to return, or a list of such choices: `"elmo"` (or `"elmo_2"`, ...), the
                learned mix; `"word_emb"`, the token embeddings; `"lstm_outputs1"`, ...;
                `"default"`, one vector for each sentence, the mean of `"elmo"` over its tokens;
                `"average"`, `"sum"` or `"top"` of the layers; the number of a layer, where 0 is
                `[token, token]` and -1 is the last; or `"all"` layers.
            progress: bool. Show the progress on standard error.

        Returns:
            A list of NumPy arrays, float32, one for each sentence: (tokens, D);
            (tokens, projection_dim) for `"word_emb"`; (num_layers + 1, tokens, D) for `"all"`. For
            `"default"` one array, (sentences, D). With a list of choices, each sentence has a dict
            of arrays by what was chosen, (D,) for `"default"`.

        Raises:
            ValueError: `layers` is not as said above. See also `tokenize`.
            TypeError: see `tokenize`.
        """
        results = list(self.embed_stream(sentences, layers, progress))
        if isinstance(layers, str) and layers == "default":
            return np.array(results, np.float32).reshape(-1, 2 * self.file.projection_dim)
        return results

    def embed_stream(
        self,
        sentences: Iterable[Sentence],
        layers: LayerSpec | Sequence[LayerSpec] = "elmo",
        progress: bool = False,
    ) -> Iterator[Any]:
        """Like `embed`, but an iterator over the arrays of each sentence, in constant memory."""
        are_several = isinstance(layers, list | tuple)
        specs = self._checked_layers(layers if are_several else [layers], layers)
        sentences = self.as_iterable(sentences)
        results = self.embed_tokens(self.read_tokens(sentences), specs)
        if progress:
            results = _shown(results, len(sentences) if hasattr(sentences, "__len__") else None)
        return (result if are_several else result[specs[0]] for result in results)

    def similarity(self, one: Sentence, other: Sentence) -> float:
        """The cosine of the vectors of two sentences, each the mean of `"elmo"` over its tokens.

        It is large for all sentences, since their means have a part in common. To compare many,
        take the mean of their vectors (`layers="default"`) away from each first.

        Args:
            one: a raw string or a list of tokens.
            other: the same.

        Returns:
            A float from -1 to 1; 0 if one of them has no tokens.
        """
        a, b = self.embed([one, other], layers="default")
        norms = np.linalg.norm(a) * np.linalg.norm(b)
        return float(a @ b / norms) if norms else 0.0

    def _checked_layers(self, specs, received):
        last = self.file.num_layers
        mixes = [mix["name"] for mix in self.file.mixes]
        names = ["word_emb", *(f"lstm_outputs{k}" for k in range(1, last + 1)), *mixes]
        names += ["default", "average", "sum", "top", "all"]

        def is_valid(spec):
            if isinstance(spec, str):
                return spec in names
            is_integer = isinstance(spec, int | np.integer) and not isinstance(spec, bool)
            return is_integer and -last - 1 <= spec <= last

        if not specs or not all(map(is_valid, specs)):
            raise ValueError(
                f"`layers` must be one of {names}, a number from {-last - 1} to {last}, or a list "
                f"of these. Received: layers={received!r}"
            )
        return specs

    def as_iterable(self, sentences):
        """Text in any form as an iterable. All forms mean what they mean in keras_elmo."""
        if isinstance(sentences, str | bytes):
            return [sentences]
        if not hasattr(sentences, "__array__"):
            if isinstance(sentences, dict) or not hasattr(sentences, "__iter__"):
                raise TypeError(
                    "`sentences` must be a list, an array or another iterable of sentences. "
                    f"Received: {type(sentences).__name__}"
                )
            return sentences
        array = np.atleast_1d(np.asarray(sentences))
        if array.ndim == 2 and self.tokenizer is not None and array.shape[1] == 1:
            array = array[:, 0]
        if array.ndim == 1:
            return array.tolist()
        if array.ndim == 2 and self.tokenizer is None:
            return array.tolist()
        raise ValueError(
            "An array of raw strings must have shape (batch,) or (batch, 1). For text that is "
            "tokenised already, pass lists of tokens, or write the file with `tokenizer=None`. "
            f"Received: an array of shape {array.shape}"
        )

    def read_tokens(self, sentences):
        """The tokens of text in any form: yields a list of bytes for each sentence."""
        sentences = iter(self.as_iterable(sentences))
        is_checked, may_refuse = self.tokenizer is None, True
        while ahead := list(itertools.islice(sentences, _READ_AHEAD)):
            rows = [self._tokens(sentence) for sentence in ahead]
            lists = [r for r, s in zip(rows, ahead, strict=True) if not isinstance(s, str | bytes)]
            may_refuse &= len(lists) == len(ahead)  # Beside raw strings, lists are meant as such.
            tokens = list(itertools.chain(*lists))
            is_checked = is_checked or self._warn_of_spaces(tokens, may_refuse)
            may_refuse = False  # The vectors of the first sentences may have been taken.
            yield from rows

    def _warn_of_spaces(self, tokens, may_refuse):
        """Warns of tokens that hold whitespace, or refuses them if most do, as keras_elmo does.

        Returns:
            bool. Whether there was a warning.
        """
        names = ("whitespace", self.tokenizer)
        split = [t for t in tokens if all(len(splitting.tokenize(t, name)) > 1 for name in names)]
        if not split:
            return False
        message = (
            "Lists of strings in a list are tokens, which are not split again, and must not hold "
            f"whitespace. Received: {split[0].decode('utf-8', 'replace')[:60]!r} as a token"
        )
        if may_refuse and 2 * len(split) > len(tokens):
            raise ValueError(
                f'{message}; pass raw strings as "a cat", not as ["a cat"]. If these are tokens, '
                "write the file from a model with `tokenizer=None`"
            )
        warnings.warn(
            f"{message}, and {len(split):,} of {len(tokens):,} tokens with whitespace. They are "
            "taken as they are",
            stacklevel=2,
        )
        return True

    def _tokens(self, sentence):
        """A sentence as a list of bytes."""
        if hasattr(sentence, "__array__"):
            sentence = np.asarray(sentence).tolist()  # of shape (): a string
        if isinstance(sentence, str | bytes):
            if self.tokenizer is None:
                raise ValueError(
                    "With `tokenizer=None` each sentence must be a list of tokens. "
                    f"Received: {sentence!r}"
                )
            return splitting.tokenize(sentence, self.tokenizer)
        is_list = isinstance(sentence, list | tuple)
        if not is_list or not all(isinstance(token, str | bytes) for token in sentence):
            raise TypeError(
                "Each sentence must be a string or a list of strings. "
                f"Received: {str(sentence)[:200]} ({type(sentence).__name__})"
            )
        # A sentence ends with its last token that is not "".
        end = max((index for index, token in enumerate(sentence, 1) if token), default=0)
        return [splitting.text_to_bytes(token) for token in sentence[:end]]

    def embed_tokens(self, sentences, specs):
        """The results of sentences, lists of bytes, in their order: dicts by `specs`."""
        for group in _groups(sentences):
            # Each word once, the shortest first: a call reads as many characters as its longest.
            words = sorted({word for tokens in group for word in tokens}, key=lambda w: (len(w), w))
            index_of = {word: index for index, word in enumerate(words)}
            # The last row is for padding.
            embeddings = np.pad(self.file.embed_words(words), [(0, 1), (0, 0)])
            results = [None] * len(group)
            order = sorted(range(len(group)), key=lambda row: -len(group[row]))
            for start in range(0, len(order), _ROWS):
                rows = order[start : start + _ROWS]
                indices = [[index_of[word] for word in group[row]] for row in rows]
                for row, layers in zip(rows, self._layers(embeddings, indices), strict=True):
                    results[row] = {spec: self._choose(layers, spec) for spec in specs}
            yield from results

    def _layers(self, embeddings, indices):
        """All layers of the sentences of a batch, the longest first.

        Args:
            embeddings: float32, (words + 1, projection_dim). The last row is padding.
            indices: for each sentence a list of ints, the rows of its tokens.

        Returns:
            For each sentence a float32, (num_layers + 1, tokens, D).
        """
        lengths = np.array([len(row) for row in indices])
        size, count = self.file.projection_dim, len(embeddings) - 1
        grid = np.full((2, len(indices), lengths[0]), count)  # as each direction reads the tokens
        results = []
        for k, row in enumerate(indices):
            grid[0, k, : len(row)], grid[1, k, : len(row)] = row, row[::-1]
            result = np.empty((self.file.num_layers + 1, len(row), 2 * size), np.float32)
            result[0] = np.tile(embeddings[row], (1, 2)) if row else 0
            results.append(result)
        state = np.repeat(self.file.start, len(indices), axis=0)
        start = 0
        while start < lengths[0]:
            alive = int(np.sum(lengths > start))
            columns = slice(start, start + max(1, _TOKENS_PER_CALL // alive))
            forward, backward = embeddings[grid[:, :alive, columns]]
            layers, state = self.file.run_steps(forward, backward, state[:alive])
            for k in range(alive):
                steps = min(forward.shape[1], lengths[k] - start)
                end = lengths[k] - start
                for index, layer in enumerate(layers, start=1):
                    y = layer[k, :steps]
                    results[k][index, start : start + steps, :size] = y[:, :size]
                    results[k][index, end - steps : end, size:] = y[::-1, size:]
            start = columns.stop
        return results

    def _choose(self, layers, spec):
        """What an element of `layers` names, of a sentence: see `embed`."""
        if not isinstance(spec, str):
            return layers[spec].copy()
        if spec == "default":
            return self._choose(layers, "elmo").sum(axis=0) / max(layers.shape[1], 1)
        if spec == "all":
            return layers
        if spec in ("average", "sum"):
            return layers.mean(axis=0) if spec == "average" else layers.sum(axis=0)
        if spec == "top":
            return layers[-1].copy()
        if spec == "word_emb":
            return layers[0, :, : self.file.projection_dim].copy()
        if spec.startswith("lstm_outputs"):
            return layers[int(spec.removeprefix("lstm_outputs"))].copy()
        (mix,) = (mix for mix in self.file.mixes if mix["name"] == spec)
        if mix["do_layer_norm"] and layers.size:  # over all numbers of a layer of the sentence
            layers = layers - layers.mean(axis=(1, 2), keepdims=True)
            layers /= np.sqrt((layers**2).mean(axis=(1, 2), keepdims=True) + _EPSILON)
        shares = mix["gamma"] * np.array(mix["shares"], np.float32)
        return np.tensordot(shares, layers, 1).astype(np.float32)


def _groups(sentences):
    """Sentences in their order, in lists of at most so many sentences and tokens."""
    sentences = iter(sentences)
    while group := list(itertools.islice(sentences, 1)):
        total = len(group[0])
        for tokens in sentences:
            group.append(tokens)
            total += len(tokens)
            if total >= _GROUP_TOKENS or len(group) == _GROUP_SENTENCES:
                break
        yield group


def _shown(results, total):
    """The results, with the progress on standard error, once a second."""
    start = shown = time.monotonic()
    end, count = ("\r" if sys.stderr.isatty() else "\n"), 0
    for count, result in enumerate(results, start=1):
        yield result
        now = time.monotonic()
        if now - shown >= 1 or count == total:
            shown = now
            of = "" if total is None else f" of {total:,}"
            rate = count / max(now - start, 1e-9)
            line = f"embedding: {count:,}{of} sentences, {rate:,.0f} sentences/s"
            print(line, end=end, file=sys.stderr, flush=True)
    if end == "\r" and count:
        print(file=sys.stderr)
