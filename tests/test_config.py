import copy
import dataclasses
import fractions
import functools
import json
import re

import numpy as np
import pytest

from keras_elmo import ElmoConfig
from keras_elmo.checks import short_repr
from keras_elmo.config import read_options_file

ORIGINAL = {
    "lstm": {
        "use_skip_connections": True, "projection_dim": 512, "cell_clip": 3, "proj_clip": 3,
        "dim": 4096, "n_layers": 2,
    },
    "char_cnn": {
        "activation": "relu", "n_highway": 2, "embedding": {"dim": 16},
        "filters": [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]],
        "n_characters": 262, "max_characters_per_token": 50,
    },
}  # fmt: skip


def changed(path, value):
    """The original's options with one key set, or removed where `value` is `...`."""
    options = copy.deepcopy(ORIGINAL)
    *sections, key = path.split(".")
    target = functools.reduce(dict.get, sections, options)
    target[key] = value
    if value is ...:
        del target[key]
    return options


# Reading


def test_options_round_trip_through_json():
    sizes = {"units": 40, "projection_dim": 30, "character_dim": 5, "max_characters": 12}
    clips = {"cell_clip": None, "projection_clip": 0.5}
    layers = {"num_layers": 3, "filters": [(2, 7), (1, 3)], "num_highway": 0, "activation": "tanh"}
    config = ElmoConfig(**sizes, **clips, **layers, use_skip_connections=False)
    assert ElmoConfig.from_options(json.loads(json.dumps(config.to_options()))) == config


def test_the_original_model_has_the_defaults():
    assert ElmoConfig() == ElmoConfig.from_options(ORIGINAL)
    assert ElmoConfig().to_options() == ORIGINAL
    training = {"bidirectional": True, "dropout": 0.1, "unroll_steps": 20, "sample_softmax": True}
    assert ElmoConfig.from_options({**training, **ORIGINAL}) == ElmoConfig()


@pytest.mark.parametrize(
    "path, values, attribute, expected",
    [
        ("char_cnn.n_characters", [261, ...], "num_characters", 261),
        ("char_cnn.n_highway", [...], "num_highway", 0),
        ("lstm.use_skip_connections", [..., "false"], "use_skip_connections", False),
        ("lstm.use_skip_connections", ["True"], "use_skip_connections", True),
        ("lstm.cell_clip", [..., None], "cell_clip", None),
        ("lstm.proj_clip", [..., None], "projection_clip", None),
        ("char_cnn.max_characters_per_token", [...], "max_characters", 50),
        # They say nothing new.
        ("char_cnn.projection_after_highway", [True], "projection_dim", 512),
        ("char_cnn.projection", [512, {"dim": 512}], "projection_dim", 512),
    ],
)
def test_other_and_missing_options_have_their_meaning(path, values, attribute, expected):
    for value in values:
        options = changed(path, value)
        before = copy.deepcopy(options)
        assert getattr(ElmoConfig.from_options(options), attribute) == expected
        assert options == before


# What follows from a config


def test_parameters_of_the_published_shapes():
    shapes = [(1024, 128, 1, 13_593_296), (2048, 256, 1, 28_027_728), (4096, 512, 2, 93_600_848)]
    for units, projection_dim, num_highway, total in shapes:
        config = ElmoConfig(units, projection_dim, num_highway=num_highway)
        assert sum(config.num_parameters().values()) == total


def test_sizes_that_are_equal_need_no_projection():
    config = ElmoConfig(units=64, projection_dim=32, filters=[(1, 16), (2, 16)])
    assert config.num_filters == 32
    assert config.num_parameters()["projection"] == 0
    config = ElmoConfig(units=32, projection_dim=32, num_layers=1)
    assert not config.has_projection
    assert config.num_parameters()["lstm"] == 2 * (2 * 32 * 4 * 32 + 4 * 32)
    assert config.output_dim == 64


def test_numpy_numbers_become_numbers_that_json_takes():
    filters = [(np.int64(1), np.uint8(4))]
    clips = {"cell_clip": np.float32(3), "projection_clip": fractions.Fraction(1, 2)}
    config = ElmoConfig(np.int64(24), np.int32(8), filters=filters, **clips)
    plain = ElmoConfig(units=24, projection_dim=8, projection_clip=0.5, filters=[(1, 4)])
    assert json.dumps(config.to_options()) == json.dumps(plain.to_options())


# Faults


@pytest.mark.parametrize(
    "argument, rule, values",
    [
        ("units", "an integer of at least 1", [0, -4, 4096.0, True, "4096", None]),
        ("projection_dim", "an integer of at least 1", [-1]),
        ("projection_dim", r"at most `units` \(4096\)", [4097]),
        ("num_layers", "an integer of at least 1", [0, True]),
        ("character_dim", "an integer of at least 1", [0]),
        ("num_highway", "an integer of at least 0", [-1, False]),
        ("max_characters", "an integer of at least 3", [2]),
        ("max_characters", r"at least the width of the widest filter \(7\)", [6]),
        ("cell_clip", "a positive number, or None", [0, -3, True, "3"]),
        ("projection_clip", "a positive number, or None", [0.0, float("nan"), float("inf")]),
        ("use_skip_connections", "True or False", [1, "true"]),
        ("activation", r"one of \['relu', 'tanh'\]", ["gelu", None, ["relu"]]),
        ("filters", "a non-empty list", [(), None, 7, "12", [[1, 2, 3]], [[0, 32]], [[1, -32]]]),
        ("filters", "a non-empty list", [[[1, True]], [[1, 32.0]], [1, 32]]),
        ("filters", "a non-empty list of at most 100 pairs", [[[1, 1]] * 101]),
    ],
)
def test_bad_argument_is_named_with_its_rule_and_value(argument, rule, values):
    for value in values:
        received = re.escape(f"Received: {argument}={short_repr(value)}")
        with pytest.raises(ValueError, match=rf"`{argument}` must be {rule}.*\. {received}"):
            ElmoConfig(**{argument: value})


@pytest.mark.parametrize(
    "path, value, message",
    [
        ("lstm.dim", 1e999, "`units` must be .* Received: units=inf"),
        ("lstm.dim", ..., "`lstm.dim` is missing"),
        ("lstm.units", 4096, r"unknown keys: lstm\.units"),
        ("lstm", ..., "`lstm` must be an object, .* Received: None"),
        ("char_cnn", 5, "`char_cnn` must be an object, .* Received: 5"),
        ("char_cnn.projection", 8, "`char_cnn.projection` must be .* 512. Received: 8"),
        ("lstm.use_skip_connections", "yes", "Received: use_skip_connections='yes'"),
        ("char_cnn.embedding", ..., r"`char_cnn\.embedding\.dim` is missing"),
        ("char_cnn.n_characters", 60, "must be 262 or 261. Received: 60"),
    ],
)
def test_bad_option_is_named_after_the_source(path, value, message):
    with pytest.raises(ValueError, match=f"(?s)^my options cannot be read:.*{message}"):
        ElmoConfig.from_options(changed(path, value), where="my options")


def test_faults_are_reported_together():
    with pytest.raises(ValueError, match="(?s)units=0.*cell_clip=-1.*activation='gelu'.*filters="):
        ElmoConfig(units=0, cell_clip=-1, activation="gelu", filters=[])
    options = changed("lstm.dim", ...)
    options["char_cnn"] |= {"n_characters": 1, "colour": "red"}
    del options["char_cnn"]["filters"]
    faults = r"(?s)char_cnn.colour.*`lstm.dim`.*`char_cnn.filters`.*n_characters.*Received: 1"
    with pytest.raises(ValueError, match=faults):
        ElmoConfig.from_options(options)


def test_options_of_another_type_are_refused():
    # 10**6: `open` takes a number for an open file, and closes that at the end.
    for options in (None, 10**6, b"options.json", [1] * 100_000):
        with pytest.raises(TypeError, match=r"a dict, or the path .* Received: .*\(") as caught:
            ElmoConfig.from_options(options)
        assert len(str(caught.value)) < 300


# Bounds


@pytest.mark.parametrize("size", [10**8, 10**400])
@pytest.mark.parametrize(
    "path, message",
    [
        ("char_cnn.max_characters_per_token", "`max_characters` must be .* at most 1,000. Rec"),
        ("lstm.n_layers", "`num_layers` must be .* at most 100. Received: num_layers="),
        ("char_cnn.n_highway", "`num_highway` must be .* at most 100. Received: num_highway="),
        ("lstm.dim", "all sizes together must make at most 1,000,000,000 parameters. Received: "),
        ("lstm.projection_dim", "`projection_dim` must be at most `units`"),
        ("char_cnn.filters", "all sizes together must make at most 1,000,000,000 parameters"),
    ],
)
def test_sizes_that_no_model_has_are_refused(path, message, size):
    options = changed(path, [[1, size]] if path.endswith("filters") else size)
    with pytest.raises(ValueError, match=message) as caught:
        ElmoConfig.from_options(options)
    assert len(str(caught.value)) < 500


def test_the_longest_message_is_bounded():
    long = "\n" * 100_000
    names = [field.name for field in dataclasses.fields(ElmoConfig)]
    with pytest.raises(ValueError) as caught:
        ElmoConfig(**dict.fromkeys(names, long))
    message = str(caught.value)
    assert all(f"Received: {name}='" in message for name in names)
    assert "(200,002 characters)" in message
    assert len(message) < 2200


# Files of options


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_object_in_a_file_is_read(tmp_path, encoding):
    file = tmp_path / "options.json"
    file.write_text(json.dumps(ORIGINAL), encoding=encoding)
    assert read_options_file(file) == read_options_file(str(file)) == ORIGINAL
    assert ElmoConfig.from_options(file) == ElmoConfig.from_options(str(file)) == ElmoConfig()
    with pytest.raises(FileNotFoundError, match="nothing.json"):
        read_options_file(tmp_path / "nothing.json")


def test_file_that_is_not_a_json_object_is_named(tmp_path):
    file = tmp_path / "options.json"
    for text in (b"{", b"\x89HDF\r\n\x1a\n", b"[" * 100_000, b"[1, 2]"):
        fault = "hold a JSON object. Received: list" if text == b"[1, 2]" else "JSON file"
        file.write_bytes(text)
        with pytest.raises(ValueError, match=f"{re.escape(str(file))} must .*{fault}"):
            ElmoConfig.from_options(file)
        with pytest.raises(ValueError, match=f"^here must .*{fault}"):
            read_options_file(file, "here")


def test_file_of_more_than_a_megabyte_is_refused(tmp_path):
    file = tmp_path / "options.json"
    file.write_bytes(json.dumps(ORIGINAL).encode().ljust(1 << 20))
    assert read_options_file(file) == ORIGINAL
    with open(file, "wb") as stream:
        stream.truncate(300 << 20)  # a file with a hole, which takes no space on the disk
    with pytest.raises(ValueError, match="at most 1,048,576 bytes. Received: 314,572,800"):
        read_options_file(file)
