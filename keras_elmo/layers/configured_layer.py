import inspect

import keras


class ConfiguredLayer(keras.layers.Layer):
    """A layer whose config is the arguments of its constructor, each of which is an attribute.

    What derives from such a layer, with arguments of its own, adds these in its `get_config`.
    """

    def add_kernel(self, name, *shape):
        """A weight that an initializer of its own, like `kernel_initializer`, draws."""
        return self.add_weight(shape, self.kernel_initializer.clone(), name=name)

    def get_config(self):
        kinds = type(self).__mro__
        own = kinds[kinds.index(ConfiguredLayer) - 1]
        names = [name for name in inspect.signature(own).parameters if name != "kwargs"]
        values = {name: getattr(self, name) for name in names}
        return {**super().get_config(), **keras.saving.serialize_keras_object(values)}
