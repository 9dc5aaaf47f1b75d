"""The command line: `keras-elmo`, or `python -m keras_elmo`."""
