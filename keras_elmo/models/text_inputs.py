"""What models take as text, where Keras takes only tensors of strings."""

import keras
import tensorflow as tf

from keras_elmo import text
from keras_elmo.checks import stands_for_a_shape


def call_strings(inputs, tokenizer=None):
    """The inputs of a call: text as tensors. Symbolic inputs of strings stay as they are.

    A tensor that stands for a shape (see `stands_for_a_shape`) becomes one of strings; of tokens
    whose number is not known it becomes ragged, which models with and without a tokenizer take.
    """
    if isinstance(inputs, keras.KerasTensor):
        if inputs.dtype != "string":
            raise TypeError(
                'Text must be strings: make the input with keras.Input(shape=(), dtype="string"). '
                f"Received: an input of dtype {inputs.dtype}"
            )
        return inputs
    if tf.is_tensor(inputs) and inputs.dtype.is_floating and not tf.executing_eagerly():
        if not stands_for_a_shape(inputs):
            raise TypeError(
                "Text must be strings. (Keras's `Model.export` takes the inputs of a subclassed "
                "model for numbers: pass it input_signature=[tf.TensorSpec([None], tf.string)].) "
                f"Received: a tensor of dtype {inputs.dtype.name}"
            )
        inputs = tf.strings.as_string(inputs)
        if inputs.shape.rank == 2 and inputs.shape[1] is None:
            inputs = tf.RaggedTensor.from_tensor(inputs)
    return text.strings_for(inputs, tokenizer)


def fit_strings(inputs, tokenizer=None):
    """The inputs of `fit`: text as tensors. What holds batches already stays as it is.

    A column of raw strings, (batch, 1), becomes (batch,): Keras traces a graph for shapes of any
    rank once it has seen two ranks, and such a graph cannot tell raw strings from tokens.
    """
    if not (isinstance(inputs, str | bytes | list | tuple) or hasattr(inputs, "__array__")):
        return inputs
    tensor = text.strings_for(inputs, tokenizer)
    is_padded = tensor.shape.rank == 2 and not isinstance(tensor, tf.RaggedTensor)
    is_column = is_padded and tokenizer is not None and tensor.shape[1] == 1
    return tensor[:, 0] if is_column else tensor


def tokens_and_width(inputs, tokenizer, max_tokens):
    """The tokens of a call's inputs, and the width that its outputs have.

    Args:
        inputs: string tensor or RaggedTensor, as `Elmo` takes it.
        tokenizer: see `Elmo`.
        max_tokens: see `Elmo`.

    Returns:
        A pair: string RaggedTensor, (batch, None), of at most `max_tokens` tokens a sentence; and
        the width in tokens, an int where it is known, or else an int32 scalar. Texts have at least
        one column, which is padding where all are empty: Keras's recurrent layers fail on none.
    """
    tokens = text.to_tokens(inputs, tokenizer)
    if max_tokens is not None:
        return text.first_tokens(tokens, max_tokens), max_tokens
    is_padded = tokenizer is None and not isinstance(inputs, tf.RaggedTensor)
    if is_padded and inputs.shape.rank == 2:
        return tokens, num_columns(inputs)
    longest = tf.reduce_max(tokens.row_lengths())  # the smallest int64 if there is no row
    return tokens, tf.cast(tf.maximum(longest, 1), tf.int32)


def symbolic_width(inputs, tokenizer, max_tokens):
    """The width that the outputs of a symbolic call have: an int, or `None` where it varies.

    Raises:
        ValueError: without a tokenizer, the inputs are no tokens.
    """
    if tokenizer is not None or getattr(inputs, "ragged", False):
        return max_tokens
    if len(inputs.shape) != 2:
        raise ValueError(
            "With `tokenizer=None` the input must be tokens: make it with "
            'keras.Input(shape=(None,), dtype="string"). '
            f"Received: an input of shape {inputs.shape}"
        )
    return max_tokens or inputs.shape[1]


def num_columns(tensor):
    """The size of a tensor's second axis: an int where it is known, or else an int32 scalar."""
    return tf.shape(tensor)[1] if tensor.shape[1] is None else tensor.shape[1]
