"""The model `biomedical` of keras_elmo: its options and weights lie beside this file."""
