import pytest

from keras_elmo.cli.layers_argument import parse_layer


@pytest.mark.parametrize(
    "typed, layer", [("all", "all"), ("lstm_outputs2", "lstm_outputs2"), ("2", 2), ("-3", -3)]
)
def test_layers_as_they_are_typed(small_config, typed, layer):
    assert parse_layer(typed, small_config) == layer


@pytest.mark.parametrize("typed", ["", "3", "-4", "1.5", "lstm_outputs3", "top,elmo"])
def test_what_names_no_layer(small_config, typed):
    with pytest.raises(ValueError, match=f"from -3 to 2. Received: --layers {typed}"):
        parse_layer(typed, small_config)
