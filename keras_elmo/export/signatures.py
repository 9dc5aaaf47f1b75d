"""The signatures of a SavedModel: what each takes and returns."""

import keras
import tensorflow as tf

from keras_elmo import text

TEXT_INPUTS = [tf.TensorSpec([None], tf.string, "text")]


def from_padded_tokens(model, columns, max_tokens):
    """A function that calls the model with padded tokens.

    Args:
        model: the Keras model.
        columns: int or `None`. The width of the input.
        max_tokens: int or `None`. A longer sentence is refused.

    Returns:
        A pair: the function, and its inputs as a list of `tf.TensorSpec`s.
    """

    def call(tokens):
        if max_tokens is None:
            return model(tokens)
        lengths = text.to_tokens(tokens, None).row_lengths()
        with tf.control_dependencies([check_lengths(lengths, max_tokens)]):
            return model(tf.identity(tokens))

    return call, [tf.TensorSpec([None, columns], tf.string, "tokens")]


def elmo_signatures(module, elmo, model_function, inputs, pooled_only, max_tokens):
    """The functions of every signature of an `Elmo`, by name; see `export_saved_model`.

    Args:
        module: the `ExportedModule`.
        elmo: the `Elmo`.
        model_function: the function that calls the `Elmo` in every signature but `tokens`.
        inputs: list of `tf.TensorSpec`s. What that function takes.
        pooled_only: see `export_saved_model`.
        max_tokens: see `export_saved_model`.
    """

    def only_with_lengths(name):
        return lambda outputs: {key: outputs[key] for key in (name, "sequence_len")}

    if pooled_only:
        default = module.function(model_function, inputs, only_with_lengths("default"))
        return {"default": default, "serving_default": default}

    def from_tokens(tokens, sequence_len):
        lengths = tf.cast(sequence_len, tf.int64)
        columns = tf.shape(tokens, out_type=tf.int64)[1]
        fits = tf.reduce_all((lengths >= 0) & (lengths <= columns))
        message = "`sequence_len` must be from 0 to the number of columns of `tokens`. Received:"
        check = tf.debugging.Assert(fits, [message, sequence_len, "columns:", columns])
        with tf.control_dependencies([check]):
            ragged = tf.RaggedTensor.from_tensor(tokens, tf.identity(lengths))
        return elmo(ragged if max_tokens is None else refuse_longer(ragged, max_tokens))

    tokens_inputs = [
        tf.TensorSpec([None, None], tf.string, "tokens"),
        tf.TensorSpec([None], tf.int32, "sequence_len"),
    ]
    default = module.function(model_function, inputs, dict)
    return {
        "default": default,
        "serving_default": default,
        **{
            name: module.function(model_function, inputs, only_with_lengths(name))
            for name in elmo._output_names.sequences
        },
        "tokens": module.function(from_tokens, tokens_inputs, dict),
    }


def named_outputs(outputs):
    """The outputs of a Keras model as a dict."""
    if isinstance(outputs, dict):
        return outputs
    return {f"output_{index}": value for index, value in enumerate(keras.tree.flatten(outputs))}


def refuse_longer(tokens, max_tokens):
    """A RaggedTensor as it is; its graph fails where a sentence has more than `max_tokens`."""
    with tf.control_dependencies([check_lengths(tokens.row_lengths(), max_tokens)]):
        return tokens.with_flat_values(tf.identity(tokens.flat_values))


def check_lengths(lengths, max_tokens):
    """An operation that fails where a sentence has more than `max_tokens` tokens."""
    longest = tf.reduce_max(tf.concat([lengths, [0]], 0))
    message = f"A sentence must have at most {max_tokens} tokens. Received: one of"
    return tf.debugging.Assert(longest <= max_tokens, [message, longest])
