"""`Elmo` as a graph whose operations TFLite has: no strings, no hash tables."""

import tensorflow as tf

from keras_elmo import text


def concrete_function(elmo, inputs, batch):
    """A function of text or character ids, for the converter.

    Unlike in `Elmo`, every token is encoded, and not every distinct word. Outputs have at least one
    column of tokens, since TFLite does not return empty arrays.

    Args:
        elmo: an `Elmo`, as `check` lets it pass.
        inputs: `"text"` or `"character_ids"`.
        batch: 1, or `None` for any number of sentences, one at least.

    Returns:
        A concrete function of one named tensor, uint8 (batch, bytes) or int32 (batch, tokens,
        ids_per_token), to the dict of an `Elmo` without `"tokens"`; for text with `"starts"` and
        `"ends"`, int32, (batch, tokens): the bytes of each token.
    """
    start = _state_after_boundaries(elmo)
    scheme = elmo.token_encoder.scheme
    if inputs == "text":
        signature = tf.TensorSpec([batch, None], tf.uint8, name=inputs)
    else:
        signature = tf.TensorSpec([batch, None, scheme.ids_per_token], tf.int32, name=inputs)

    def run(data):
        if inputs == "text":
            ids, row, first, end = scheme.bytes_to_ids(data)
            sentences = _Sentences(row, tf.shape(data)[0])
            offsets = {"starts": sentences.pad(first), "ends": sentences.pad(end)}
        else:
            is_token = tf.reduce_any(data > 0, axis=-1)
            positions = tf.cast(tf.where(is_token), tf.int32)  # (N, 2)
            ids, row = tf.gather_nd(data, positions), positions[:, 0]
            # As many columns as the input has, even if the longest sentence has fewer tokens.
            sentences = _Sentences(row, tf.shape(data)[0], tf.shape(data)[1])
            offsets = {}
        tokens, mask = sentences.pad(_embed_tokens(elmo, ids)), sentences.mask
        tokens.set_shape([batch, None, elmo.config.projection_dim])
        mask.set_shape([batch, None])
        state = [tf.constant(tensor) for tensor in start]
        if batch is None:
            state = [tf.repeat(tensor, sentences.count, axis=0) for tensor in state]
        with elmo.bilm.using_loop("padded"):
            layers, _ = elmo.bilm(tokens, mask=mask, initial_state=state)
        return {**elmo.make_outputs(layers, mask), **offsets}

    function = tf.function(run, input_signature=[signature], autograph=False)
    return function.get_concrete_function()


def check(elmo, inputs):
    """Raises a `ValueError` if an `Elmo` has settings that the graph cannot have."""
    faults = []
    if elmo.stateful:
        faults.append("it must not keep a state from batch to batch. Received: stateful=True")
    if elmo.keep_sentence_boundaries:
        faults.append(
            "it must leave the sentence boundaries out. Received: keep_sentence_boundaries=True"
        )
    if elmo.max_tokens is not None:
        faults.append(f"it must read whole sentences. Received: max_tokens={elmo.max_tokens}")
    if (elmo.compute_dtype, elmo.matmul_dtype) != ("float32", None):
        faults.append(
            "it must compute in float32 (the file may be quantized). "
            f"Received: dtype {elmo.compute_dtype}, matmul_dtype {elmo.matmul_dtype}"
        )
    if inputs == "text" and elmo.token_encoder.scheme.bytes_to_ids is None:
        faults.append(
            'with inputs="text" its characters must be bytes; take inputs="character_ids", which '
            "`elmo.batch_to_ids` makes. Received: a model with a dictionary"
        )
    if inputs == "text" and type(elmo.tokenizer) is not text.WhitespaceTokenizer:
        name = None if elmo.tokenizer is None else type(elmo.tokenizer).__name__
        faults.append(
            'with inputs="text" its tokenizer must be "whitespace"; with another, tokenise first '
            f'and take inputs="character_ids". Received: tokenizer {name}'
        )
    if faults:
        raise ValueError("The model cannot become a TFLite file: " + "; ".join(faults))


class _Sentences:
    """Flat tokens, sentence by sentence, and the padded grid of them.

    Args:
        row: int32, (N,). The sentence of each token.
        count: int32 scalar. Sentences.
        columns: int32 scalar. Tokens of the padded form; `None`: those of the longest sentence,
            one at least.
    """

    def __init__(self, row, count, columns=None):
        self.count = count
        lengths = tf.scatter_nd(tf.expand_dims(row, -1), tf.ones_like(row), [count])
        column = tf.range(tf.size(row)) - tf.gather(tf.cumsum(lengths, exclusive=True), row)
        self.columns = tf.maximum(tf.reduce_max(lengths), 1) if columns is None else columns
        self.positions = tf.stack([row, column], axis=1)  # (N, 2)
        self.mask = tf.range(self.columns) < tf.expand_dims(lengths, -1)  # (batch, tokens)

    def pad(self, values):
        """Flat values (N, ...) in the padded form (batch, tokens, ...)."""
        shape = [self.count, self.columns, *values.shape[1:]]
        return tf.scatter_nd(self.positions, values, shape)


def _embed_tokens(elmo, ids):
    """Token embeddings of character ids, (N, ids_per_token); N may be 0."""
    count = tf.shape(ids)[0]
    ids = tf.pad(ids, [[0, tf.maximum(1 - count, 0)], [0, 0]])  # one at least
    ids.set_shape([None, elmo.token_encoder.scheme.ids_per_token])
    return elmo.character_encoder(ids)[:count]


def _state_after_boundaries(elmo):
    """The biLM's state after each direction's sentence boundary: arrays of one row."""
    ids = elmo.token_encoder.scheme.boundaries
    boundaries = elmo.character_encoder(tf.constant(ids))  # begin of sentence, end of sentence
    nothing = tf.zeros((1, 1), tf.bool)
    _, state = elmo.bilm(boundaries[None, :1], mask=nothing, boundaries=tuple(boundaries))
    return [tensor.numpy() for tensor in state]
