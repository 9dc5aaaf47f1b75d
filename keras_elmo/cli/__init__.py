"""The command line: `keras-elmo`, or `python -m keras_elmo`."""

from keras_elmo.quiet import hide_tensorflow_log

# On another backend of Keras, `import keras_elmo` did not import TensorFlow.
with hide_tensorflow_log():
    import tensorflow  # noqa: F401
