"""`ExportedModule`: the contents of a SavedModel, whose weights may have a smaller dtype."""

import itertools
import secrets

import keras
import tensorflow as tf

from keras_elmo.layers.matmul import using_matmul_dtype


class ExportedModule(tf.Module):
    """The contents of a SavedModel: the functions, and the variables that they read, each once."""

    def __init__(self, model, storage):
        super().__init__()
        self.cast_variables, self.stored = [], []
        sources, rounded = {}, {}  # by the id of the Keras variable
        readers = []
        for variable in model.weights:
            dtype = tf.as_dtype(variable.dtype)
            if storage and dtype.is_floating and dtype.size > tf.as_dtype(storage).size:
                stored = tf.Variable(tf.cast(variable.value, storage), trainable=False)
                readers.append((variable, self._cast_variable(stored, dtype).value))
            else:
                stored = variable.value
                readers.append((variable, stored.read_value))
            sources[id(variable)] = stored
        # Weights are read once, outside of loops: a loop that reads variables would also run where
        # no output needs it. (A function, since the values of attributes would be saved, too.)
        self._weights = lambda: keras.StatelessScope([(v, read()) for v, read in readers])

        def round_kernel(variable, dtype):
            """A `TransposedKernel`'s tensor, which is made when the model is loaded."""
            if id(variable) not in rounded:
                with tf.init_scope():
                    source = sources[id(variable)]
                    rounded[id(variable)] = self._cast_variable(source, tf.as_dtype(dtype), True)
            return rounded[id(variable)].value()

        self._round_kernel = round_kernel

    def _cast_variable(self, stored, dtype, is_transposed=False):
        variable = CastVariable(stored, dtype, is_transposed)
        self.cast_variables.append(variable)
        self.stored.append(stored)
        return variable

    def function(self, model_function, inputs):
        """A `tf.function` that becomes a signature. Its outputs that are floats are float32."""

        def run(*tensors):
            with self._weights(), using_matmul_dtype(None, self._round_kernel):
                outputs = model_function(*tensors)
            return {
                name: tf.cast(value, tf.float32) if value.dtype.is_floating else value
                for name, value in outputs.items()
            }

        return tf.function(run, input_signature=inputs, autograph=False)

    def make_callable(self, signatures, inputs, main_output):
        """Lets the loaded module be called as TF Hub's modules are, see `export_saved_model`.

        A plain call returns the output of the name `main_output`, or the first one.
        """
        variables = {id(v): v for function in signatures.values() for v in function.variables}
        self.captured = list(variables.values())  # what is referred to is saved
        usual = "default" if "default" in signatures else "serving_default"

        def call(inputs_of_call, signature=usual, as_dict=False):
            is_dict = isinstance(inputs_of_call, dict)
            names = [spec.name for spec in inputs[signature]]
            tensors = [inputs_of_call[name] for name in names] if is_dict else [inputs_of_call]
            outputs = signatures[signature](*tensors)
            one = outputs.get(main_output, next(iter(outputs.values())))
            return outputs if as_dict else one

        # What is traced here is all that a program which loads the module can call.
        self.__call__ = tf.function(call, autograph=False)
        for name, specs in inputs.items():
            forms = [{spec.name: spec for spec in specs}]
            forms += [specs[0]] if len(specs) == 1 else []
            for form, as_dict in itertools.product(forms, (False, True)):
                self.__call__.get_concrete_function(form, signature=name, as_dict=as_dict)


class CastVariable(tf.saved_model.experimental.TrackableResource):
    """A variable that is stored in one dtype, and cast to another when the model is loaded."""

    def __init__(self, stored, dtype, is_transposed):
        super().__init__()
        self._stored, self._dtype, self._is_transposed = stored, dtype, is_transposed
        # No other variable of the program has it, which may load several exports.
        self._shared_name = f"cast_variable_{secrets.token_hex(8)}"
        self._shape = stored.shape[::-1] if is_transposed else stored.shape

    def _create_resource(self):
        name = self._shared_name
        return tf.raw_ops.VarHandleOp(dtype=self._dtype, shape=self._shape, shared_name=name)

    def _initialize(self):
        value = tf.cast(self._stored, self._dtype)
        value = tf.transpose(value) if self._is_transposed else value
        tf.raw_ops.AssignVariableOp(resource=self.resource_handle, value=value)

    def value(self):
        value = tf.raw_ops.ReadVariableOp(resource=self.resource_handle, dtype=self._dtype)
        return tf.ensure_shape(value, self._shape)
