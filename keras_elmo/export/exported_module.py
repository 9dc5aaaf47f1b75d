"""`ExportedModule`: what a SavedModel saves, with its weights in half size where asked."""

import keras
import tensorflow as tf


class ExportedModule(tf.Module):
    """What a SavedModel saves: the functions, and the variables that they read, each once.

    Args:
        model: the Keras model.
        storage: dtype of the stored weights, or `None`: as the model has them.
    """

    def __init__(self, model, storage):
        super().__init__()
        self.widened = []
        readers = []
        for variable in model.weights:
            dtype = tf.as_dtype(variable.dtype)
            if storage and dtype.is_floating and dtype.size > tf.as_dtype(storage).size:
                self.widened.append(WidenedVariable(variable.value, storage, len(self.widened)))
                readers.append((variable, self.widened[-1].value))
            else:
                readers.append((variable, variable.value.read_value))
        self.stored = [widened.stored for widened in self.widened]
        # Weights are read once, outside of loops: a loop that reads variables would run also where
        # no output needs it. (In a function: what an attribute holds is saved, too.)
        self._weights = lambda: keras.StatelessScope([(v, read()) for v, read in readers])

    def function(self, call, signature, outputs):
        """A `tf.function` of named inputs: `outputs(call(inputs))`, floats as float32."""

        def run(*inputs):
            with self._weights():
                result = outputs(call(*inputs))
            return {
                name: tf.cast(value, tf.float32) if value.dtype.is_floating else value
                for name, value in result.items()
            }

        return tf.function(run, input_signature=signature, autograph=False)

    def track(self, functions):
        """Holds on to the variables that the functions read."""
        variables = {id(v): v for function in functions for v in function.variables}
        self.captured = list(variables.values())


class WidenedVariable(tf.saved_model.experimental.TrackableResource):
    """A variable that is stored in half its size, and whole again when the model is loaded.

    Args:
        variable: the `tf.Variable`.
        storage: dtype in which it is stored.
        index: int. Which of the module's widened variables it is, for its name.
    """

    def __init__(self, variable, storage, index):
        super().__init__()
        self._dtype, self._shape, self._index = variable.dtype, variable.shape, index
        self.stored = tf.Variable(tf.cast(variable, storage), trainable=False)

    def _create_resource(self):
        return tf.raw_ops.VarHandleOp(
            dtype=self._dtype, shape=self._shape, shared_name=f"widened_{self._index}"
        )

    def _initialize(self):
        value = tf.cast(self.stored, self._dtype)
        tf.raw_ops.AssignVariableOp(resource=self.resource_handle, value=value)

    def value(self):
        handle = self.resource_handle
        return tf.ensure_shape(
            tf.raw_ops.ReadVariableOp(resource=handle, dtype=self._dtype), self._shape
        )
