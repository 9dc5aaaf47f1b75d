"""From `Examples` to what Keras reads: rows of tokens or of vectors, and padded batches of them.

Batches hold numbers alone, since `tf.distribute` takes no strings.
"""

import contextlib
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf

from keras_elmo.characters import BOS, EOS
from keras_elmo.checks import warn
from keras_elmo.files.atomic import tensorflow_writing
from keras_elmo.models.outputs import vector_size
from keras_elmo.process.traced_function import without_trace_warnings
from keras_elmo.text.reading import Tokens

WORD_ROWS = 2**15  # of learned vectors: a few words share one, and their ELMo vectors differ
_NO_TARGET = -1  # after the end of a sentence, where other columns have 0 or ""
# Batches hold texts of like length: so many batches at a time are sorted by length, ...
_POOL = 50
_MIXED = 3  # ... and the texts of so many neighbouring batches are mixed anew in each epoch.
_MAX_SHARE_OF_DISK = 0.9  # of what is free, since others write, too
_AHEAD = 64  # sentences that are handed to TensorFlow together: enough to hide the cost of a call


def make_cache(task, parts, num_bytes, folder, progress):
    """A `VectorCache` for a list of `Examples`, in a folder if it takes more than `num_bytes`; or
    `None` if the `Elmo` trains, or the folder has no room."""
    elmo, parts = task.elmo, [part for part in parts if part.stream is None]
    if elmo.trainable_variables or not parts:
        return None
    tokens = sum(len(part.tokens.flat_values) for part in parts)
    tokens += 2 * elmo.keep_sentence_boundaries * sum(part.count() for part in parts)
    needed = max(1, 4 * (1 + vector_size(elmo.config, task.vector_names)) * tokens)
    share = min(1.0, num_bytes / needed)
    free = shutil.disk_usage(folder).free
    if share < 1 and needed > _MAX_SHARE_OF_DISK * free:
        warn(
            f"The vectors of all texts take {needed / 1e9:,.1f} GB, and {os.path.dirname(folder)} "
            f"has {free / 1e9:,.1f} GB left: the texts are embedded anew in each epoch. Set the "
            "environment variable TMPDIR to a folder with more room, or `cache_bytes`"
        )
        return None
    return VectorCache(elmo, task.vector_names, share, folder if share < 1 else None, progress)


class VectorCache:
    """The vectors of a frozen `Elmo`, which are computed once, and kept by `tf.data`.

    With a `folder` they are in files below it; `share` is what part of them the memory would hold.
    """

    def __init__(self, elmo, names, share=1.0, folder=None, progress=False):
        self._elmo, self._names, self._progress = elmo, names, progress
        self.share, self._folder = share, folder

    def rows(self, examples):
        """A `tf.data.Dataset` of examples with vectors for tokens, which are computed now."""
        queue = tf.queue.FIFOQueue(_AHEAD, [tf.float32])
        size = vector_size(self._elmo.config, self._names)

        def add(row):
            vectors = tf.ensure_shape(queue.dequeue(), (None, size))
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
        with tensorflow_writing(f"The vectors in {path}") if path else contextlib.nullcontext():
            for count, outputs in enumerate(stream, 1):
                queue.enqueue(np.concatenate([outputs[name] for name in self._names], axis=-1))
                if count % _AHEAD == 0:
                    next(filling)
            next(filling, None)  # the end, with which the cache is complete
        return dataset


@contextlib.contextmanager
def fitting():
    """A context for `fit` of Keras. Yields a list for `batches`, which adds the errors in a stream:
    they are raised as they are, and not within TensorFlow's."""
    errors = []
    with without_trace_warnings():
        try:
            yield errors
        except tf.errors.OpError as error:
            raise (errors or [error])[0] from None


def batches(examples, elmo, shuffle=False, cache=None, errors=None):
    """`Examples` as a `tf.data.Dataset` of what `as_batch` gives: vectors of a cache, or ids.

    With `shuffle` each epoch has another order, in which neighbours are of like length.
    """
    if examples.stream is not None:
        return _streamed(examples, elmo, errors)
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
        dataset = dataset.apply(tf.data.experimental.assert_cardinality(-(-count // batch_size)))
    else:
        dataset = pad(dataset)
    # TensorFlow's tuning has nothing to gain here, and some epochs waited a second for its end.
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.map(lambda row: as_batch(row, elmo)).prefetch(1).with_options(options)


def _streamed(examples, elmo, errors):
    """The batches of a stream, each of the form that `as_batch` gives the first ones."""
    like = as_batch(examples.columns(), elmo)

    def spec(tensor):
        # Of texts with several labels, (batch, labels). All others have an axis of tokens.
        is_table = tensor is like[1] and tensor.dtype == tf.float32
        shape = [None] * min(tensor.shape.rank, 2 - is_table)
        return tf.TensorSpec([*shape, *tensor.shape[len(shape) :]], tensor.dtype)

    def read():
        try:
            for batch in examples.stream():
                yield as_batch(batch.columns(), elmo)
        except Exception as error:
            errors.append(error)
            raise

    signature = tf.nest.map_structure(spec, like)
    return tf.data.Dataset.from_generator(read, output_signature=signature).prefetch(1)


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

    The inputs are `"words"`, int32 (batch, tokens), and `"lengths"`, int32 (batch,), with the
    sentence boundaries that stay; and `"vectors"`, float32 (batch, tokens, D), or, without these
    boundaries, `"ids"`, int32 (batch, tokens, ids_per_token).
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
