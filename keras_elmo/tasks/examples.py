"""From texts to what Keras reads: tokens, `Examples`, rows of tokens or vectors, padded batches.

Batches hold numbers alone, since `tf.distribute` takes no strings.
"""

import tempfile
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_elmo.characters import BOS, EOS
from keras_elmo.checks import is_number
from keras_elmo.files.atomic import tensorflow_reason
from keras_elmo.models.sentences import Tokens, as_python, as_sentences, read_tokens
from keras_elmo.text.inputs import strings, to_tokens

WORD_ROWS = 2**15  # of learned vectors: a few words share one, and their ELMo vectors differ
_NO_TARGET = -1  # after the end of a sentence, where other columns have 0 or ""
# Batches hold texts of like length: so many batches at a time are sorted by length, ...
_POOL = 50
_MIXED = 3  # ... and the texts of so many neighbouring batches are mixed anew in each epoch.
_AHEAD = 64  # sentences that are handed to TensorFlow together: enough to hide the cost of a call


def tokens_of(elmo, texts):
    """The tokens that an `Elmo` reads of texts, string RaggedTensor, (N, None)."""
    rows = as_rows(texts, elmo.tokenizer)
    sentences = list(read_tokens(elmo.tokenizer, rows, elmo.max_tokens))
    words = tf.constant([word for sentence in sentences for word in sentence], tf.string)
    lengths = tf.constant([len(sentence) for sentence in sentences], tf.int64)
    return tf.RaggedTensor.from_row_lengths(words, lengths)


def as_rows(texts, tokenizer):
    """Texts as a list of raw strings and of lists of tokens.

    They come as `Elmo.embed` takes them, also one string, padded tokens beside a tokenizer, or a
    `tf.data.Dataset` of batches.
    """
    if isinstance(texts, tf.data.Dataset):
        dataset = check_dataset(texts, has_labels=False).map(lambda texts, *_: texts)
        return [row for batch in dataset for row in as_rows(batch, tokenizer)]
    if isinstance(texts, str | bytes):
        return [texts]
    if isinstance(texts, Tokens):
        return texts
    if isinstance(texts, tf.RaggedTensor):
        return Tokens(texts.to_list())
    if not hasattr(texts, "__array__"):
        return [as_python(text, row) for row, text in enumerate(as_sentences(None, texts))]
    shape = np.shape(texts)
    if len(shape) == 2 and (tokenizer is None or shape[1] != 1):
        return to_tokens(strings(texts), None).to_list()
    return np.reshape(np.asarray(texts), (-1,)).tolist()


def check_dataset(dataset, has_labels, steps=None):
    """A dataset of batches of texts, and perhaps of labels and of weights, as it can be read.

    Padded tokens become ragged, since a batch of them may have one column, as raw strings have.
    """
    spec = dataset.element_spec
    texts, *others = spec if isinstance(spec, tuple) else (spec,)
    have_axes = [bool(getattr(part, "shape", tf.TensorShape([])).rank) for part in (texts, *others)]
    if len(others) > 2 or has_labels > len(others) or not all(have_axes):
        parts = "texts and labels, and perhaps sample weights" if has_labels else "texts"
        raise ValueError(
            f"A `tf.data.Dataset` must hold batches of {parts}: `dataset.batch(32)`. "
            f"Received: a dataset of {spec}"
        )
    if steps is None and dataset.cardinality() == tf.data.INFINITE_CARDINALITY:
        raise ValueError(
            "A `tf.data.Dataset` must have an end (`dataset.take(n)`), or `fit` must have its "
            f"`steps_per_epoch`, and `evaluate` its `steps`. Received: a dataset of {spec}"
        )
    if isinstance(texts, tf.TensorSpec) and texts.shape.rank == 2 and texts.shape[1] != 1:
        return dataset.map(lambda texts, *others: (to_tokens(texts, None), *others))
    return dataset


class Examples(NamedTuple):
    """Texts, what belongs to each, and how they become batches.

    With a `stream`, the batches of a dataset that is read as the training goes on, the rest is that
    of its first batches.
    """

    tokens: Any  # string RaggedTensor, (N, None)
    targets: Any  # int32 (N,), float32 (N, labels), or int32 RaggedTensor, (N, None)
    weights: Any = None  # float32, (N,) or like ragged targets
    batch_size: int = 32
    stream: Any = None

    def count(self):
        return int(self.tokens.nrows())

    def columns(self):
        columns = {"tokens": self.tokens, "targets": self.targets, "weights": self.weights}
        return {name: each for name, each in columns.items() if each is not None}

    def rows(self, rows):
        columns = {name: tf.gather(each, rows) for name, each in self.columns().items()}
        return self._replace(**columns)

    def by_length(self):
        """From the shortest text to the longest. Batches of like length have little padding."""
        return self.rows(tf.argsort(self.tokens.row_lengths(), stable=True))

    def split(self, share):
        """All examples but the last, and these, which are a share of all."""
        count = self.count()
        first = int(count * (1 - share)) if is_number(share) else 0
        if not 0 < first < count or self.stream is not None:
            raise ValueError(
                "`validation_split` must be from 0 to below 1, both parts must have a text, and a "
                "`tf.data.Dataset` must be read without `steps_per_epoch`. "
                f"Received: validation_split={share!r} of {count:,} texts"
            )
        return self.rows(tf.range(first)), self.rows(tf.range(first, count))


class VectorCache:
    """The vectors of a frozen `Elmo`, which are computed once, and kept by `tf.data`.

    If those of all `parts`, a list of `Examples`, take more than `num_bytes`, they are in files
    below `folder`; `share` is what part of them the memory would hold.
    """

    def __init__(self, elmo, names, parts, num_bytes, folder, progress):
        self._elmo, self._names, self._progress = elmo, names, progress
        self._size = vector_size(elmo.config, names)
        tokens = sum(int(part.tokens.row_splits[-1]) for part in parts)
        tokens += 2 * elmo.keep_sentence_boundaries * sum(part.count() for part in parts)
        self.share = min(1.0, num_bytes / max(1, 4 * (1 + self._size) * tokens))
        self._folder = folder if self.share < 1 else None

    def rows(self, examples):
        """A `tf.data.Dataset` of examples with vectors for tokens, which are computed now."""
        queue = tf.queue.FIFOQueue(_AHEAD, [tf.float32])

        def add(row):
            vectors = tf.ensure_shape(queue.dequeue(), (None, self._size))
            return {**row, "vectors": vectors, "lengths": tf.size(row["words"])}

        columns = examples.columns()
        columns["words"] = words_of(self._elmo, columns.pop("tokens"))
        path = f"{tempfile.mkdtemp(dir=self._folder)}/vectors" if self._folder else ""
        dataset = tf.data.Dataset.from_tensor_slices(columns).map(add).cache(path)
        # The vectors are computed here and not in the function above, which would run on the
        # processor alone, and could not be interrupted. The iterator takes what is in the queue.
        filling = iter(dataset.map(lambda _: 0).batch(_AHEAD))
        stream = self._elmo.embed_stream(
            Tokens(examples.tokens.to_list()), self._names, progress=self._progress
        )
        try:
            for count, outputs in enumerate(stream, 1):
                queue.enqueue(np.concatenate([outputs[name] for name in self._names], axis=-1))
                if count % _AHEAD == 0:
                    next(filling)
            next(filling, None)  # the end, with which the cache is complete
        except tf.errors.OpError as error:
            if not path:  # nothing was to be written
                raise
            reason = tensorflow_reason(error)
            raise OSError(f"The vectors could not be written to {path}: {reason}") from None
        return dataset


def vector_size(config, names):
    """The size of the outputs of an `Elmo`, side by side."""
    sizes = {"word_emb": config.projection_dim}
    return sum(sizes.get(name, config.output_dim) for name in names)


def batches(examples, elmo, shuffle=False, cache=None):
    """`Examples` as a `tf.data.Dataset` of what `as_batch` gives: vectors of a cache, or ids.

    With `shuffle` each epoch has another order, in which neighbours are of like length.
    """
    if examples.stream is not None:
        return examples.stream
    count, batch_size = examples.count(), examples.batch_size
    if shuffle:
        examples = _shuffled(examples)
    if cache is not None:
        dataset = cache.rows(examples)
    else:
        lengths = tf.cast(examples.tokens.row_lengths(), tf.int32)
        dataset = tf.data.Dataset.from_tensor_slices({**examples.columns(), "lengths": lengths})
        dataset = dataset.map(lambda row: row)  # plain tensors of ragged rows
    padding = dict.fromkeys(dataset.element_spec)
    padding["targets"] = tf.constant(_NO_TARGET, dataset.element_spec["targets"].dtype)

    def pad(rows):
        return rows.padded_batch(batch_size, padding_values=padding)

    if shuffle:
        # Windows hold the rows themselves, and are padded when their turn has come.
        windows = dataset.shuffle(_MIXED * batch_size).window(batch_size)
        share = 1.0 if cache is None else cache.share
        windows = windows.shuffle(max(1, int(share * count) // batch_size))
        dataset = windows.flat_map(lambda window: pad(tf.data.Dataset.zip(window)))
        num_batches = -(-count // batch_size)
        dataset = dataset.apply(tf.data.experimental.assert_cardinality(num_batches))
    else:
        dataset = pad(dataset)
    # TensorFlow's tuning has nothing to gain here, and some epochs waited a second for its end.
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.map(lambda row: as_batch(row, elmo)).prefetch(1).with_options(options)


def _shuffled(examples):
    lengths, pool = examples.tokens.row_lengths().numpy(), _POOL * examples.batch_size
    order, parts = np.random.permutation(len(lengths)), []
    for index, start in enumerate(range(0, len(order), pool)):
        part = order[start : start + pool]
        part = part[np.argsort(lengths[part], kind="stable")]
        parts.append(part[::-1] if index % 2 else part)  # The ends of two parts are alike, too.
    return examples.rows(np.concatenate(parts))


def as_batch(columns, elmo):
    """Columns of `Examples`, or of padded rows, as inputs, targets, and perhaps weights.

    The inputs are `"words"`, int32 (batch, tokens), see `word_rows`; `"lengths"`, int32 (batch,),
    with the sentence boundaries that stay; and `"vectors"`, float32 (batch, tokens, D), or, without
    these boundaries, `"ids"`, int32 (batch, tokens, ids_per_token).
    """
    columns = dict(columns)
    if "tokens" in columns:
        tokens = columns.pop("tokens")
        if not isinstance(tokens, tf.RaggedTensor):
            tokens = tf.RaggedTensor.from_tensor(tokens, columns["lengths"])
        ids = elmo.token_encoder.scheme.ids(tokens.flat_values)
        columns["ids"], columns["words"] = tokens.with_flat_values(ids), words_of(elmo, tokens)
        columns["lengths"] = tf.cast(columns["words"].row_lengths(), tf.int32)
    for name, values in columns.items():
        if values.shape.rank > 1:
            columns[name] = dense(values, _NO_TARGET if name == "targets" else 0)
    others = [columns.pop(name) for name in ("targets", "weights") if name in columns]
    return (columns, *others)


def words_of(elmo, tokens):
    """The rows of all words of sentences, string (N, None), with the boundaries that stay."""
    if elmo.keep_sentence_boundaries:
        begin, end = (tf.fill((tokens.nrows(), 1), word) for word in (BOS, EOS))
        tokens = tf.concat([begin, tokens, end], axis=1)
    return tokens.with_flat_values(word_rows(tokens.flat_values))


def word_rows(tokens):
    """The rows of words in the table of word vectors, int32. Upper and lower case are one."""
    # TensorFlow lowers by the language of the process's locale. Turkish has two i of its own.
    words = tf.strings.regex_replace(tf.strings.lower(tokens), "\u0130", "i\u0307")
    words = tf.strings.lower(words, encoding="utf-8")
    rows = tf.strings.to_hash_bucket_strong(words, WORD_ROWS, key=[0, 0])  # any key does
    return tf.cast(rows, tf.int32)


def dense(values, fill):
    """Values (batch, tokens, ...), padded, with at least one column of tokens, as an `Elmo` has."""
    if isinstance(values, tf.RaggedTensor):
        values = values.to_tensor(fill)
    if values.shape[1]:
        return values
    missing = tf.maximum(1 - tf.shape(values)[1], 0)
    paddings = [[0, 0], [0, missing], *[[0, 0]] * (values.shape.rank - 2)]
    return tf.pad(values, paddings, constant_values=tf.constant(fill, values.dtype))
