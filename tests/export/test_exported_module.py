import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.export.exported_module import ExportedModule


def export(kernel, storage, path):
    """Writes a model of one layer, whose only signature is from `x` to `y`."""
    layer = keras.layers.Dense(3)
    layer.build((None, 2))
    layer.set_weights([kernel, np.zeros(3, np.float32)])
    module = ExportedModule(layer, storage)
    inputs = [tf.TensorSpec([None, 2], tf.float32, "x")]
    function = module.function(lambda x: {"y": layer(x)}, inputs).get_concrete_function()
    module.track([function])
    tf.saved_model.save(module, path, signatures=function)
    return path


def stored_dtypes(path):
    dtypes = tf.train.load_checkpoint(f"{path}/variables/variables").get_variable_to_dtype_map()
    return {dtype for name, dtype in dtypes.items() if name != "_CHECKPOINTABLE_OBJECT_GRAPH"}


@pytest.mark.parametrize("storage", [None, "float16"])
def test_models_that_a_process_loads_keep_their_own_weights(tmp_path, storage):
    kernels = [np.random.normal(size=(2, 3)).astype(np.float32) for _ in range(2)]
    paths = [export(kernel, storage, str(tmp_path / str(k))) for k, kernel in enumerate(kernels)]
    assert stored_dtypes(paths[0]) == {tf.as_dtype(storage or "float32")}
    loaded = [tf.saved_model.load(path) for path in paths]
    for model, kernel in zip(loaded, kernels, strict=True):
        expected = tf.cast(tf.cast(kernel, storage or "float32"), tf.float32)
        y = model.signatures["serving_default"](x=tf.eye(2))["y"]
        np.testing.assert_allclose(y, expected, rtol=1e-6)


def test_no_weight_is_stored_in_a_larger_dtype(tmp_path):
    layer = keras.layers.Dense(3, dtype="float16")
    layer.build((None, 2))
    module = ExportedModule(layer, "float32")
    assert module.cast_variables == [] and module.stored == []
