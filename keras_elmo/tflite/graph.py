"""Models as graphs whose operations TFLite has: no strings, no hash tables."""

import keras
import tensorflow as tf

from keras_elmo import text
from keras_elmo.export.signatures import without_cudnn
from keras_elmo.layers.loops.padded import PaddedLoop


def concrete_functions(elmo, task, inputs, batch, max_tokens):
    """The concrete functions of a file by their signatures' names, see `export_tflite`.

    `task` is the `TextClassifier` or `Tagger` that has the `Elmo`, or `None`.
    """
    functions = {}
    if inputs == "text":
        functions["serving_default"] = _from_text(elmo, batch)
    elif inputs == "character_ids":
        functions["serving_default"] = _from_character_ids(elmo, batch, max_tokens)
    if max_tokens is None:
        functions |= {"words": _words(elmo), "steps": _steps(elmo)}
    if task is not None:
        functions["head"] = _head(task)
    return functions


def _traced(function, *specs):
    return tf.function(function, input_signature=specs, autograph=False).get_concrete_function()


def _words(elmo):
    ids_per_token = elmo.token_encoder.scheme.ids_per_token

    def words(character_ids):
        return {"token_embeddings": _encode(elmo, character_ids)}

    return _traced(words, tf.TensorSpec([None, ids_per_token], tf.int32, "character_ids"))


def _steps(elmo):
    sizes = elmo.bilm.state_sizes
    stream_shape = [None, None, elmo.config.projection_dim]

    def steps(forward, backward, state):
        layers, state = elmo.bilm.read_streams(forward, backward, tf.split(state, sizes, axis=1))
        outputs = {f"lstm_outputs{index}": layer for index, layer in enumerate(layers) if index}
        return {**outputs, "state": tf.concat(state, axis=1)}

    return _traced(
        steps,
        tf.TensorSpec(stream_shape, tf.float32, "forward"),
        tf.TensorSpec(stream_shape, tf.float32, "backward"),
        tf.TensorSpec([None, sum(sizes)], tf.float32, "state"),
    )


def _head(task):
    """Traces the head of a task for one text: the loops of TFLite need a fixed batch."""

    def head(vectors, words, sequence_len):
        mask = tf.range(tf.shape(words)[1]) < tf.expand_dims(sequence_len, -1)
        features = {"vectors": vectors, "words": words, "mask": mask}
        with without_cudnn(task.head):
            outputs = task.head({name: features[name] for name in task.head.input}, training=False)
        names = ["probabilities", *(["tags"] if is_tagger(task) else [])]
        return {name: task.decode(outputs, name) for name in names}

    return _traced(
        head,
        tf.TensorSpec([1, None, task.head.input["vectors"].shape[-1]], tf.float32, "vectors"),
        tf.TensorSpec([1, None], tf.int32, "words"),
        tf.TensorSpec([1], tf.int32, "sequence_len"),
    )


def is_tagger(task):
    """Whether a task is a `Tagger`, and not a `TextClassifier`."""
    return hasattr(task, "has_crf")


def _from_text(elmo, batch):
    def run(text):
        ids, row, first, end = elmo.token_encoder.scheme.bytes_to_ids(text)
        sentences = _Sentences(row, tf.shape(text)[0])
        outputs = _outputs(elmo, sentences.pad(_embed_tokens(elmo, ids)), sentences.mask, batch)
        return {**outputs, "starts": sentences.pad(first), "ends": sentences.pad(end)}

    return _traced(run, tf.TensorSpec([batch, None], tf.uint8, "text"))


def _from_character_ids(elmo, batch, max_tokens):
    def run(character_ids):
        is_token = tf.reduce_any(character_ids > 0, axis=-1)
        if max_tokens is not None:
            # Every shape is fixed, so padding is encoded too.
            tokens = _encode(elmo, character_ids, trim_characters=False)
            outputs = _outputs(elmo, tokens, is_token, batch)
            return {**outputs, "mask": tf.cast(outputs["mask"], tf.int32)}
        positions = tf.cast(tf.where(is_token), tf.int32)  # (N, 2)
        tokens = _embed_tokens(elmo, tf.gather_nd(character_ids, positions))
        # As many columns as the input has, even if the longest sentence has fewer tokens.
        count, columns = tf.unstack(tf.shape(character_ids)[:2])
        sentences = _Sentences(positions[:, 0], count, columns)
        return _outputs(elmo, sentences.pad(tokens), sentences.mask, batch)

    shape = [batch, max_tokens, elmo.token_encoder.scheme.ids_per_token]
    return _traced(run, tf.TensorSpec(shape, tf.int32, "character_ids"))


def _outputs(elmo, tokens, mask, batch):
    """The dict of an `Elmo` without `"tokens"`, of token embeddings that are padded."""
    tokens.set_shape([batch, None, elmo.config.projection_dim])
    mask.set_shape([batch, None])
    state = [tf.constant(tensor) for tensor in _state_after_boundaries(elmo)]
    if batch is None:
        state = [tf.repeat(tensor, tf.shape(tokens)[0], axis=0) for tensor in state]
    layers, _ = elmo.bilm.run_layers(PaddedLoop(mask), [tokens, tokens], state)
    return elmo.make_outputs(layers, mask)


def check(elmo, task, inputs):
    """Raises a `ValueError` if a model has settings that the graph cannot have."""
    faults = []
    if elmo.stateful:
        faults.append("it must not keep a state from batch to batch. Received: stateful=True")
    if elmo.keep_sentence_boundaries:
        faults.append(
            "it must leave the sentence boundaries out. Received: keep_sentence_boundaries=True"
        )
    if elmo.max_tokens is not None:
        faults.append(f"it must read whole sentences. Received: max_tokens={elmo.max_tokens}")
    dtypes = {elmo.compute_dtype, (task or elmo).compute_dtype}
    if (dtypes, elmo.matmul_dtype) != ({"float32"}, None):
        faults.append(
            "it must compute in float32 (the file may be quantized). "
            f"Received: dtype {' and '.join(sorted(dtypes))}, matmul_dtype {elmo.matmul_dtype}"
        )
    if inputs == "text" and elmo.token_encoder.scheme.bytes_to_ids is None:
        faults.append(
            'with inputs="text" its characters must be bytes; take inputs="character_ids". '
            "Received: a model with a dictionary"
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
    """Flat tokens and their padded grid: `row`, int32, (N,), is the sentence of each token.

    The grid has `count` sentences, and as many columns as the longest has tokens, or one.
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
    return _encode(elmo, ids)[:count]


def _encode(elmo, ids, **kwargs):
    """Runs the character encoder. What reads the characters stays float32 in int8 files.

    Their embeddings and the convolutions are small, and all that follows depends on them. The
    converter quantizes only constants, so something is added to them: the smallest id, if it is
    negative.
    """
    encoder = elmo.character_encoder
    nothing = tf.cast(tf.minimum(tf.reduce_min(ids), 0), tf.float32)
    weights = [encoder.character_embedding, *encoder.convolution_kernels]
    with keras.StatelessScope([(weight, weight.value + nothing) for weight in weights]):
        return encoder(ids, **kwargs)


def _state_after_boundaries(elmo):
    """The biLM's state after each direction's sentence boundary: arrays of one row."""
    with tf.init_scope():
        ids = elmo.token_encoder.scheme.boundaries
        boundaries = elmo.character_encoder(tf.constant(ids))  # begin of sentence, end of sentence
        nothing = tf.zeros((1, 1), tf.bool)
        _, state = elmo.bilm(boundaries[None, :1], mask=nothing, boundaries=tuple(boundaries))
        return [tensor.numpy() for tensor in state]
