import dataclasses

from keras_elmo.models.output_names import OutputNames

OTHERS = {"default", "mask", "sequence_len", "tokens"}


def test_names_and_shapes(small_config):
    names = OutputNames(small_config, num_mixes=2, num_boundaries=2)
    assert names.mixes == ["elmo", "elmo_2"]
    assert names.sequences == ["word_emb", "lstm_outputs1", "lstm_outputs2", "elmo", "elmo_2"]
    shapes = names.shapes(4, 9)
    assert set(shapes) == {*names.sequences, *OTHERS}
    assert shapes["word_emb"] == (4, 11, 8) and shapes["elmo_2"] == (4, 11, 16)
    assert shapes["default"] == (4, 16) and shapes["sequence_len"] == (4,)
    assert names.shapes(None, None)["mask"] == (None, None)


def test_only_outputs_of_tokens_have_a_mask(small_config):
    config = dataclasses.replace(small_config, num_layers=1)
    masks = OutputNames(config, num_mixes=1, num_boundaries=0).masks("mask")
    assert {name for name, mask in masks.items() if mask} == {"word_emb", "lstm_outputs1", "elmo"}
    assert {name for name, mask in masks.items() if mask is None} == OTHERS
