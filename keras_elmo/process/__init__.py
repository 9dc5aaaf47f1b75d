"""Living in a process: signals, and the progress of long work.

It is imported before TensorFlow, whose import takes seconds, and writes a log.
"""

import os

from keras_elmo.process import signals

signals.end_command_at_once()
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
