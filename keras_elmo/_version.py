"""The version, where setup tools can read it without importing TensorFlow."""

__version__ = "0.2.0"
