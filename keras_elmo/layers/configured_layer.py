import inspect

import keras


class ConfiguredLayer(keras.layers.Layer):
    """A layer whose config is the arguments of its constructor, each of which is an attribute."""

    def add_kernel(self, name, *shape):
        """A weight that an initializer of its own, like `kernel_initializer`, draws."""
        return self.add_weight(shape, self.kernel_initializer.clone(), name=name)

    def get_config(self):
        parameters = inspect.signature(type(self).__init__).parameters.values()
        names = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
        values = {name: getattr(self, name) for name in names if name != "self"}
        return {**super().get_config(), **keras.saving.serialize_keras_object(values)}
