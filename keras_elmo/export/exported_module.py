"""`ExportedModule`: the contents of a SavedModel, whose weights may have a smaller dtype."""

import keras
import tensorflow as tf


class ExportedModule(tf.Module):
    """The contents of a SavedModel: the functions, and the variables that they read, each once.

    Args:
        model: the Keras model.
        storage: the dtype in which weights of larger dtypes are stored, or `None`: as the model has
            them.
    """

    def __init__(self, model, storage):
        super().__init__()
        self.cast_variables = []
        readers = []
        for variable in model.weights:
            dtype = tf.as_dtype(variable.dtype)
            if storage and dtype.is_floating and dtype.size > tf.as_dtype(storage).size:
                self.cast_variables.append(
                    CastVariable(variable.value, storage, len(self.cast_variables))
                )
                readers.append((variable, self.cast_variables[-1].value))
            else:
                readers.append((variable, variable.value.read_value))
        self.stored = [variable.stored for variable in self.cast_variables]
        # Weights are read once, outside of loops: a loop that reads variables would also run where
        # no output needs it. (A function, since the values of attributes would be saved, too.)
        self._weights = lambda: keras.StatelessScope([(v, read()) for v, read in readers])

    def function(self, model_function, inputs, select_outputs):
        """A `tf.function` that becomes a signature. Its outputs that are floats are float32.

        Args:
            model_function: a function of tensors that calls the model.
            inputs: list of `tf.TensorSpec`s with names. What it takes.
            select_outputs: a function of the model's outputs to a dict of tensors.
        """

        def run(*tensors):
            with self._weights():
                outputs = select_outputs(model_function(*tensors))
            return {
                name: tf.cast(value, tf.float32) if value.dtype.is_floating else value
                for name, value in outputs.items()
            }

        return tf.function(run, input_signature=inputs, autograph=False)

    def track(self, functions):
        """Keeps references to the variables that the functions read."""
        variables = {id(v): v for function in functions for v in function.variables}
        self.captured = list(variables.values())


class CastVariable(tf.saved_model.experimental.TrackableResource):
    """A variable that is stored in a smaller dtype, and cast back when the model is loaded.

    Args:
        variable: the `tf.Variable`.
        storage: dtype in which it is stored.
        index: int. Which of the module's cast variables it is, for its name.
    """

    def __init__(self, variable, storage, index):
        super().__init__()
        self._dtype, self._shape, self._index = variable.dtype, variable.shape, index
        self.stored = tf.Variable(tf.cast(variable, storage), trainable=False)

    def _create_resource(self):
        return tf.raw_ops.VarHandleOp(
            dtype=self._dtype, shape=self._shape, shared_name=f"cast_variable_{self._index}"
        )

    def _initialize(self):
        value = tf.cast(self.stored, self._dtype)
        tf.raw_ops.AssignVariableOp(resource=self.resource_handle, value=value)

    def value(self):
        handle = self.resource_handle
        return tf.ensure_shape(
            tf.raw_ops.ReadVariableOp(resource=handle, dtype=self._dtype), self._shape
        )
