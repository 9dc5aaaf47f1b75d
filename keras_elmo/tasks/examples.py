"""`Examples`: tokens and what belongs to them, on their way into Keras as dense batches.

Texts in any form become `Examples`, in one place. `rows` and `batches` make a `tf.data.Dataset` of
them. Between the two, `with_vectors` puts the vectors of a frozen `Elmo` in the place of the
tokens, once for all epochs. Batches hold numbers alone, since `tf.distribute` takes no strings.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_elmo.characters import BOS, EOS
from keras_elmo.files.atomic import tensorflow_reason
from keras_elmo.models.sentences import Tokens, as_python, as_sentences, read_tokens
from keras_elmo.text.inputs import strings, to_tokens

# Rows of the table of word vectors. A few words share a row; their ELMo vectors still differ.
WORD_ROWS = 2**15
WORD_KEY = (0, 0)  # of the hash that chooses a word's row; any key does
# What fills the columns after the end of a sentence. No target is negative.
_PADDING = {"tokens": "", "vectors": 0.0, "words": 0, "lengths": 0, "targets": -1, "weights": 0.0}
_INPUTS = ("ids", "vectors", "words", "lengths")
# Batches hold texts of like length: so many batches at a time are sorted by length, ...
_POOL = 50
_MIXED = 3  # ... and the texts of so many neighbouring batches are mixed anew in each epoch.
_AHEAD = 64  # sentences that are handed to TensorFlow together: enough to hide the cost of a call


class Examples(NamedTuple):
    """Texts and what belongs to each.

    Attributes:
        tokens: string RaggedTensor, (N, None).
        targets: int32 or float32, (N,) or (N, labels); or a RaggedTensor, (N, None).
        weights: float32, of the same shape without labels; or `None`.
    """

    tokens: Any
    targets: Any = None
    weights: Any = None

    def count(self):
        """How many texts there are."""
        return int(self.tokens.nrows())

    def rows(self, rows):
        """The examples of some rows."""
        return Examples(*(None if each is None else tf.gather(each, rows) for each in self))

    def columns(self):
        """What there is, by name."""
        return {name: each for name, each in self._asdict().items() if each is not None}

    def padded(self):
        """All examples as one batch: a dict of padded columns."""
        columns = {"lengths": tf.cast(self.tokens.row_lengths(), tf.int32), **self.columns()}
        for name, values in columns.items():
            if isinstance(values, tf.RaggedTensor):
                columns[name] = values.to_tensor(_PADDING[name])
        return columns


def join(parts):
    """All examples of a list of `Examples`."""
    columns = zip(*parts, strict=True)
    return Examples(*(None if each[0] is None else tf.concat(each, 0) for each in columns))


def tokens_of(elmo, texts):
    """The tokens that an `Elmo` reads of texts, string RaggedTensor, (N, None)."""
    rows = as_rows(texts, elmo.tokenizer)
    sentences = list(read_tokens(elmo.tokenizer, rows, elmo.max_tokens))
    words = tf.constant([word for sentence in sentences for word in sentence], tf.string)
    return tf.RaggedTensor.from_row_lengths(
        words, tf.constant([len(sentence) for sentence in sentences], tf.int64)
    )


def as_rows(texts, tokenizer, steps=None):
    """Texts in any form as a list: for each a raw string, or a list of its tokens.

    Args:
        texts: a string, or what `Elmo.embed` takes; and an array or tensor (batch, tokens) is
            tokens, padded with `""`, also beside a tokenizer. Or a `tf.data.Dataset` of batches of
            these, and perhaps more.
        tokenizer: see `Elmo`.
        steps: int or `None`. The batches of a dataset that are read.
    """
    if isinstance(texts, tf.data.Dataset):
        dataset = check_dataset(texts, (1, 2, 3), "texts", steps)
        batches = (batch[0] if isinstance(batch, tuple) else batch for batch in dataset)
        batches = itertools.islice(batches, steps)
        return [row for batch in batches for row in as_rows(batch, tokenizer)]
    if isinstance(texts, str | bytes):
        return [texts]
    if isinstance(texts, Tokens | tf.RaggedTensor):
        return texts if isinstance(texts, Tokens) else Tokens(texts.to_list())
    if not hasattr(texts, "__array__"):
        return [as_python(text, row) for row, text in enumerate(as_sentences(None, texts))]
    shape = np.shape(texts)
    if len(shape) == 2 and (tokenizer is None or shape[1] != 1):
        return to_tokens(strings(texts), None).to_list()
    return np.reshape(np.asarray(texts), (-1,)).tolist()


def check_dataset(dataset, sizes, what, steps):
    """Returns a dataset with ragged tokens in the place of padded ones, of which a batch may have
    one column, as raw strings have. Raises a `ValueError` for one without batches, or without end.

    Args:
        dataset: `tf.data.Dataset`.
        sizes: tuple of ints. How many parts a batch may have.
        what: str. What these are.
        steps: int: a dataset need not end; `None`: it must.
    """
    spec = dataset.element_spec
    parts = spec if isinstance(spec, tuple) else (spec,)
    has_axes = [bool(getattr(part, "shape", tf.TensorShape([])).rank) for part in parts]
    if len(parts) not in sizes or not all(has_axes):
        raise ValueError(
            f"A `tf.data.Dataset` must hold batches of {what}: `dataset.batch(32)`. "
            f"Received: a dataset of {spec}"
        )
    if steps is None and dataset.cardinality() == tf.data.INFINITE_CARDINALITY:
        raise ValueError(
            "With a `tf.data.Dataset` without an end, its steps must be given (`steps`, "
            "`steps_per_epoch`, `validation_steps`). Received: None"
        )
    if isinstance(parts[0], tf.TensorSpec) and parts[0].shape.rank == 2 and parts[0].shape[1] != 1:
        return dataset.map(lambda texts, *others: (to_tokens(texts, None), *others))
    return dataset


def word_rows(tokens):
    """The rows of words in the table of word vectors, int32. Upper and lower case are one."""
    # TensorFlow lowers by the language of the process's locale. Turkish has two i of its own.
    words = tf.strings.regex_replace(tf.strings.lower(tokens), "\u0130", "i\u0307")
    words = tf.strings.lower(words, encoding="utf-8")
    rows = tf.strings.to_hash_bucket_strong(words, WORD_ROWS, key=list(WORD_KEY))
    return tf.cast(rows, tf.int32)


def words_of(elmo, tokens):
    """The rows of all words of sentences, string (N, None), with the boundaries that stay."""
    if elmo.keep_sentence_boundaries:
        ends = [tf.fill((tokens.nrows(), 1), end) for end in (BOS, EOS)]
        tokens = tf.concat([ends[0], tokens, ends[1]], axis=1)
    return tokens.with_flat_values(word_rows(tokens.flat_values))


def rows(examples):
    """A `tf.data.Dataset` of single examples: dicts of tensors."""
    columns = {**examples.columns(), "lengths": examples.tokens.row_lengths()}
    # The function makes plain tensors of ragged rows.
    return tf.data.Dataset.from_tensor_slices(columns).map(
        lambda row: {**row, "lengths": tf.cast(row["lengths"], tf.int32)}
    )


def with_vectors(examples, elmo, names, path, progress):
    """`rows` with the vectors of their tokens, which are computed now, and once.

    Args:
        examples: the `Examples`.
        elmo: the `Elmo`.
        names: list of strings. The outputs of the `Elmo` that are put side by side.
        path: where `tf.data` keeps the vectors, the beginning of names of files; `""`: in memory.
        progress: bool. Whether to show it.

    Raises:
        OSError: a file cannot be written.
    """
    queue = tf.queue.FIFOQueue(_AHEAD, [tf.float32])
    size = vector_size(elmo.config, names)

    def add(row):
        words = words_of(elmo, tf.RaggedTensor.from_tensor(row.pop("tokens")[None]))[0]
        vectors = tf.ensure_shape(queue.dequeue(), (None, size))
        return {**row, "vectors": vectors, "words": words, "lengths": tf.size(words)}

    dataset = rows(examples).map(add).cache(path)
    # The vectors are computed here and not in the function above, which would run on the processor
    # alone, and could not be interrupted. The iterator takes what is in the queue.
    filling = iter(dataset.map(lambda _: 0).batch(_AHEAD))
    sentences = Tokens(examples.tokens.to_list())
    try:
        for count, outputs in enumerate(elmo.embed_stream(sentences, names, progress=progress), 1):
            queue.enqueue(np.concatenate([outputs[name] for name in names], axis=-1))
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
    is_word = [name == "word_emb" for name in names]
    return sum(config.projection_dim if each else config.output_dim for each in is_word)


def shuffled(examples, batch_size):
    """Examples in a random order, in which neighbours are of like length, for `batches`."""
    lengths, pool = examples.tokens.row_lengths().numpy(), _POOL * batch_size
    order, parts = np.random.permutation(len(lengths)), []
    for index, start in enumerate(range(0, len(order), pool)):
        part = order[start : start + pool]
        part = part[np.argsort(lengths[part], kind="stable")]
        parts.append(part[::-1] if index % 2 else part)  # The ends of two parts are alike, too.
    return examples.rows(np.concatenate(parts))


def batches(dataset, elmo, count, batch_size, buffer_size=None):
    """Padded batches of rows.

    Args:
        dataset: rows, see `rows`.
        elmo: the `Elmo`.
        count: int. The rows.
        batch_size: int.
        buffer_size: int. The rows whose batches change places, in each epoch anew, and neighbours
            are mixed; `None`: the rows keep their order.

    Returns:
        `tf.data.Dataset` of what `as_batch` gives.
    """
    padding = {
        name: tf.constant(_PADDING[name], spec.dtype) for name, spec in dataset.element_spec.items()
    }

    def pad(rows):
        return rows.padded_batch(batch_size, padding_values=padding)

    if buffer_size is None:
        dataset = pad(dataset)
    else:
        # Windows hold the rows themselves, and are padded when their turn has come.
        windows = dataset.shuffle(_MIXED * batch_size).window(batch_size)
        windows = windows.shuffle(max(1, buffer_size // batch_size))
        dataset = windows.flat_map(lambda window: pad(tf.data.Dataset.zip(window)))
        num_batches = -(-count // batch_size)
        dataset = dataset.apply(tf.data.experimental.assert_cardinality(num_batches))
    # TensorFlow's tuning has nothing to gain here, and some epochs waited a second for its end.
    options = tf.data.Options()
    options.autotune.enabled = False
    dataset = dataset.map(lambda columns: as_batch(columns, elmo))
    return dataset.prefetch(1).with_options(options)


def as_batch(columns, elmo):
    """A dict of padded columns as Keras takes a batch: inputs, targets, and perhaps weights.

    The inputs are `"lengths"`, int32 (batch,), `"words"`, int32 (batch, tokens), and `"vectors"`
    or, of tokens, `"ids"`, int32 (batch, tokens, ids_per_token).
    """
    if "tokens" in columns:
        tokens = tf.RaggedTensor.from_tensor(columns["tokens"], columns["lengths"])
        ids = elmo.token_encoder.scheme.ids(tokens.flat_values)
        columns["ids"] = tokens.with_flat_values(ids).to_tensor()
        columns["words"] = words_of(elmo, tokens).to_tensor()
    targets = columns.get("targets")
    are_tags = targets is not None and targets.dtype == tf.int32 and targets.shape.rank == 2
    of_tokens = {"ids", "vectors", "words", *(("targets", "weights") if are_tags else ())}
    for name in of_tokens & columns.keys():
        columns[name] = with_a_column(columns[name], _PADDING.get(name, 0))
    inputs = {name: columns[name] for name in _INPUTS if name in columns}
    return (inputs, *(columns[name] for name in ("targets", "weights") if name in columns))


def with_a_column(tensor, fill):
    """A tensor, (batch, tokens, ...), with at least one column, as an `Elmo` has."""
    missing = tf.maximum(1 - tf.shape(tensor)[1], 0)
    paddings = [[0, 0], [0, missing], *[[0, 0]] * (tensor.shape.rank - 2)]
    return tf.pad(tensor, paddings, constant_values=tf.constant(fill, tensor.dtype))
