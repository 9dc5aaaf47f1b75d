"""Signals, and the progress of long work. It is imported before TensorFlow, which writes a log."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
