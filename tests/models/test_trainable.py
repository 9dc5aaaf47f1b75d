import json

import pytest

from keras_elmo import Elmo, ElmoEmbedding
from keras_elmo.models.trainable import translate_0_1_config


def parts_of(elmo):
    """The variables of each part, by their identities."""
    mix = {id(v) for layer in elmo.mixes for v in layer.weights}
    bilm = mix | {id(v) for v in elmo.bilm.weights}
    return {"mix": mix, "bilm": bilm, "all": bilm | {id(v) for v in elmo.character_encoder.weights}}


@pytest.mark.parametrize("part", ["mix", "bilm", "all"])
def test_what_trains(small_folder, part):
    elmo = Elmo.from_pretrained(small_folder, trainable_part=part)
    chosen = parts_of(elmo)[part]
    assert elmo.trainable is True and elmo.trainable_part == part
    assert {id(v) for v in elmo.trainable_variables} == chosen
    elmo.trainable = False
    assert elmo.trainable is False and elmo.trainable_variables == []
    elmo.trainable_part = "all"  # still frozen
    assert elmo.trainable_variables == []
    elmo.trainable_part = part
    elmo.trainable = True  # the part that was chosen, not everything
    assert elmo.trainable is True and {id(v) for v in elmo.trainable_variables} == chosen
    with pytest.raises(ValueError, match=f'pass trainable_part="{part}"'):
        elmo.trainable = part
    frozen = Elmo.from_pretrained(small_folder, trainable=False, trainable_part=part)
    assert frozen.trainable_variables == [] and frozen.trainable_part == part


@pytest.mark.parametrize("old", ["mix", "bilm", "all", False, True])
def test_configs_of_version_0_1_0(small_config, old):
    elmo = Elmo(small_config)
    config = elmo.get_config()
    for today in (config, ElmoEmbedding(elmo).get_config()):
        assert translate_0_1_config(today) is today
    del config["trainable_part"], config["max_tokens"]
    again = Elmo.from_config({**config, "trainable": old})
    assert again.trainable is (old is not False)
    assert again.trainable_part == {False: "mix", True: "all"}.get(old, old)
    layer = ElmoEmbedding(elmo).get_config()
    layer["elmo"]["config"] = {**config, "trainable": old}
    again = ElmoEmbedding.from_config(json.loads(json.dumps({**layer, "trainable": old})))
    assert again.trainable is (old is not False)
    assert again.trainable_part == {False: "mix", True: "all"}.get(old, old)
