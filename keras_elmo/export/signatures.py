"""The signatures of a SavedModel: what each takes and returns."""

import keras
import tensorflow as tf

from keras_elmo import text


def text_entrance(model):
    """A function of raw strings that calls the model, and its input signature."""
    return model, [tf.TensorSpec([None], tf.string, "text")]


def tokens_entrance(model, columns, max_tokens):
    """A function of padded tokens that calls the model, and its input signature.

    Args:
        model: the Keras model.
        columns: int or `None`. The width of the input.
        max_tokens: int or `None`. A longer sentence is refused.
    """

    def call(tokens):
        if max_tokens is None:
            return model(tokens)
        lengths = text.to_tokens(tokens, None).row_lengths()
        with tf.control_dependencies([check_lengths(lengths, max_tokens)]):
            return model(tf.identity(tokens))

    return call, [tf.TensorSpec([None, columns], tf.string, "tokens")]


def elmo_signatures(module, elmo, entrance, pooled_only, max_tokens):
    """The functions of every signature of an `Elmo`, by name; see `export_saved_model`."""

    def only(*names):
        return lambda outputs: {name: outputs[name] for name in (*names, "sequence_len")}

    if pooled_only:
        default = module.function(*entrance, only("default"))
        return {"default": default, "serving_default": default}

    def from_tokens(tokens, sequence_len):
        lengths = tf.cast(sequence_len, tf.int64)
        columns = tf.shape(tokens, out_type=tf.int64)[1]
        fits = tf.reduce_all((lengths >= 0) & (lengths <= columns))
        message = "`sequence_len` must be from 0 to the number of columns of `tokens`. Received:"
        check = tf.debugging.Assert(fits, [message, sequence_len, "columns:", columns])
        with tf.control_dependencies([check]):
            ragged = tf.RaggedTensor.from_tensor(tokens, tf.identity(lengths))
        return elmo(ragged if max_tokens is None else limit(ragged, max_tokens))

    tokens = [tf.TensorSpec([None, None], tf.string, "tokens")]
    tokens += [tf.TensorSpec([None], tf.int32, "sequence_len")]
    default = module.function(*entrance, dict)
    return {
        "default": default,
        "serving_default": default,
        **{name: module.function(*entrance, only(name)) for name in elmo._output_names.sequences},
        "tokens": module.function(from_tokens, tokens, dict),
    }


def named_outputs(outputs):
    """The outputs of a Keras model as a dict."""
    if isinstance(outputs, dict):
        return outputs
    return {f"output_{index}": value for index, value in enumerate(keras.tree.flatten(outputs))}


def limit(ragged, max_tokens):
    """Tokens as they are, where the graph has checked that no sentence has more than allowed."""
    with tf.control_dependencies([check_lengths(ragged.row_lengths(), max_tokens)]):
        return ragged.with_flat_values(tf.identity(ragged.flat_values))


def check_lengths(lengths, max_tokens):
    """An operation that fails where a sentence has more than `max_tokens` tokens."""
    longest = tf.reduce_max(tf.concat([lengths, [0]], 0))
    message = f"A sentence must have at most {max_tokens} tokens. Received: one of"
    return tf.debugging.Assert(longest <= max_tokens, [message, longest])
