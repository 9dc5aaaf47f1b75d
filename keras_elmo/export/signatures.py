"""The signatures of a SavedModel: the inputs and outputs of each."""

import contextlib
import keyword

import keras
import tensorflow as tf

TEXT_INPUT = tf.TensorSpec([None], tf.string, "text")
TOKENS_INPUT = tf.TensorSpec([None, None], tf.string, "tokens")


def input_specs(model, takes_tokens):
    """The inputs of a Keras model, as a list of `tf.TensorSpec`s.

    A single input of strings is called `text`, or `tokens` if it has a token axis or every `Elmo`
    in the model `takes_tokens`. Other inputs have their key in the model's dict of inputs, or else
    the name of their `keras.Input`.
    """
    structure = _symbolic_inputs(model)
    if structure is None:
        _refuse_several_inputs(model)
        return [TOKENS_INPUT if takes_tokens else TEXT_INPUT]
    inputs = keras.tree.flatten(structure)
    if len(inputs) == 1 and inputs[0].dtype == "string":
        if not (takes_tokens or has_token_axis(inputs[0])):
            return [TEXT_INPUT]
        return [tf.TensorSpec([None, *inputs[0].shape[1:]], tf.string, "tokens")]
    names = [tensor.name for tensor in inputs]
    if isinstance(structure, dict) and len(structure) == len(inputs):
        names = keras.tree.flatten({key: key for key in structure})  # in the order of the inputs
    if wrong := [name for name in names if not _is_argument_name(name)]:
        raise ValueError(
            "The names of a model's inputs must be ASCII letters, digits and `_`, a letter first, "
            'and neither `self` nor a keyword of Python: keras.Input(..., name="text"). '
            f"Received: {wrong}"
        )
    return [
        tf.TensorSpec([None, *tensor.shape[1:]], tensor.dtype, name)
        for tensor, name in zip(inputs, names, strict=True)
    ]


def _symbolic_inputs(model):
    """A Keras model's inputs, in the structure in which it takes them; `None` if unknown."""
    if getattr(model, "inputs", None) is None:
        return None
    return model.inputs[0] if isinstance(model, keras.Sequential) else model.input


def _is_argument_name(name):
    """Whether a signature of TensorFlow can have an argument of this name, without renaming it."""
    is_plain = name.isascii() and name.isidentifier() and name[0] != "_"
    return is_plain and name != "self" and not keyword.iskeyword(name)


def _refuse_several_inputs(model):
    config = model.get_build_config() or {}
    shapes = config.get("shapes_dict", config.get("input_shape", ()))
    if isinstance(shapes, dict) or any(isinstance(shape, list | tuple) for shape in shapes):
        raise ValueError(
            "A subclassed model of several inputs does not know their dtypes, and must be exported "
            "as keras.Model(inputs, model(inputs)), where each of the inputs is a keras.Input with "
            f"a name and a dtype. Received: {type(model).__name__} with inputs of shapes {shapes}"
        )


def has_token_axis(tensor):
    """Whether an input is tokens, string (batch, tokens), and not raw strings."""
    return tensor.dtype == "string" and len(tensor.shape) == 2 and tensor.shape[1] != 1


def named_outputs(outputs):
    """The outputs of a Keras model as a dict."""
    if isinstance(outputs, dict):
        return outputs
    return {f"output_{index}": value for index, value in enumerate(keras.tree.flatten(outputs))}


def calling(model, select_outputs=named_outputs):
    """A function that calls the model with a tensor for each input, to a dict of tensors."""

    def call(*tensors):
        structure = _symbolic_inputs(model)
        if structure is None:
            return select_outputs(model(*tensors))
        return select_outputs(model(keras.tree.pack_sequence_as(structure, tensors)))

    return call


def elmo_signatures(elmo, inputs, pooled_only):
    """What every signature of an `Elmo` runs and takes, by name; see `export_saved_model`.

    Each is a pair: a function of tensors to a dict of tensors, and a list of `tf.TensorSpec`s.
    """

    def returning(select):
        return calling(elmo, select), inputs

    def only_with_lengths(name):
        return returning(lambda outputs: {key: outputs[key] for key in (name, "sequence_len")})

    if pooled_only:
        return dict.fromkeys(("default", "serving_default"), only_with_lengths("default"))

    def from_tokens(tokens, sequence_len):
        lengths = tf.cast(sequence_len, tf.int64)
        columns = tf.shape(tokens, out_type=tf.int64)[1]
        fits = tf.reduce_all((lengths >= 0) & (lengths <= columns))
        fits &= tf.size(lengths) == tf.shape(tokens)[0]
        message = (
            "`sequence_len` must have a number for each row of `tokens`, from 0 to its columns."
        )
        received = ["Received:", sequence_len, "shape of `tokens`:", tf.shape(tokens)]
        check = tf.debugging.Assert(fits, [message, *received])
        with tf.control_dependencies([check]):
            return elmo(tf.RaggedTensor.from_tensor(tokens, tf.identity(lengths)))

    tokens_inputs = [TOKENS_INPUT, tf.TensorSpec([None], tf.int32, "sequence_len")]
    return {
        **dict.fromkeys(("default", "serving_default"), returning(dict)),
        **{name: only_with_lengths(name) for name in elmo.output_keys.sequences},
        "tokens": (from_tokens, tokens_inputs),
    }


@contextlib.contextmanager
def without_cudnn(model):
    """A context in which Keras's LSTM takes no operation that only GPUs run."""
    before = {x: x.use_cudnn for x in model._flatten_layers() if hasattr(x, "use_cudnn")}
    try:
        for layer in before:
            layer.use_cudnn = False
        yield
    finally:
        for layer, value in before.items():
            layer.use_cudnn = value
