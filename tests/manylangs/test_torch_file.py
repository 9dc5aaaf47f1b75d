"""State dicts without PyTorch: what is read, and what is refused."""

import contextlib
import functools
import os
import pickle
import re
import struct
import tempfile
import tracemalloc
import zipfile

import numpy as np
import pytest
from manylangs.torch_files import FORMATS, MAGIC, SYSTEM, Tensor, legacy_bytes, pickled, zip_bytes

from keras_elmo.manylangs.torch_file import open_state_dict

ARRAYS = {
    "layer.weight": np.arange(12, dtype="f4").reshape(3, 4) / 7,
    "layer.bias": np.arange(3, dtype="f8"),
    "half": np.array([0.5, -2.0], "f2"),
    "count": np.array(3, "i8"),
    "nothing": np.zeros((0, 4), "f4"),
}
WEIGHT = ARRAYS["layer.weight"]

each_format = pytest.mark.parametrize("make", FORMATS.values(), ids=FORMATS)


@contextlib.contextmanager
def opened(data):
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        with open_state_dict(file.name, "the file") as tensors:
            yield tensors


def read(data):
    with opened(data) as tensors:
        return {name: tensor[()] for name, tensor in tensors.items()}


def refused(data):
    """The message with which a file is refused, in little memory."""
    tracemalloc.start()
    try:
        with pytest.raises(ValueError) as caught:
            read(data)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    message = str(caught.value)
    assert message.startswith("the file must be a whole state dict of `torch.save`.")
    assert "\n" not in message and len(message) < 400
    return message


# What is read


@pytest.mark.parametrize("make", [*FORMATS.values(), functools.partial(legacy_bytes, protocol=5)])
def test_every_tensor_is_read(make):
    with opened(make(ARRAYS)) as tensors:
        assert list(tensors) == list(ARRAYS)
        for name, array in ARRAYS.items():
            assert tensors[name].shape == array.shape and tensors[name].dtype == array.dtype
            np.testing.assert_array_equal(tensors[name][()], array)
        np.testing.assert_array_equal(tensors["layer.weight"][1:, ::2], WEIGHT[1:, ::2])


@each_format
def test_tensors_may_share_a_storage_and_be_transposed(make):
    state = {
        "rows": Tensor("0", WEIGHT, offset=4, shape=(2, 4), strides=(4, 1)),
        "transposed": Tensor("0", WEIGHT, shape=(4, 3), strides=(1, 4)),
        "number": Tensor("0", WEIGHT, offset=11, shape=(), strides=()),
        # Strides of axes without steps do not matter.
        "empty": Tensor("0", WEIGHT, shape=(0, 4), strides=(1 << 80, 1 << 80)),
        "row": Tensor("0", WEIGHT, offset=4, shape=(1, 3), strides=(1 << 80, 1)),
    }
    tensors = read(make({}, state, {"0": WEIGHT}))
    np.testing.assert_array_equal(tensors["rows"], WEIGHT[1:])
    np.testing.assert_array_equal(tensors["transposed"], WEIGHT.T)
    np.testing.assert_array_equal(tensors["row"], WEIGHT[1:2, :3])
    assert tensors["number"] == WEIGHT[2, 3] and tensors["empty"].shape == (0, 4)


def test_files_of_other_byte_order():
    swapped = {name: array.byteswap() for name, array in ARRAYS.items()}
    for data in (
        legacy_bytes(ARRAYS, system={**SYSTEM, "little_endian": False}),
        zip_bytes(swapped, extra={"model/byteorder": b"big"}),
    ):
        for name, array in read(data).items():
            np.testing.assert_array_equal(array, ARRAYS[name])


# What is refused


class Evil:
    """Its pickle makes a folder when it is unpickled."""

    def __init__(self, path, function=os.mkdir):
        self.path, self.function = path, function

    def __reduce__(self):
        return self.function, (str(self.path),)


@each_format
def test_a_pickle_that_would_run_code_is_refused_by_name(make, tmp_path):
    trap = tmp_path / "trap"
    mkdir = f"{os.mkdir.__module__}.mkdir"
    for item, name in [
        (Evil(trap), mkdir),
        ({"layer.weight": Tensor("0", WEIGHT), "other": Evil(trap)}, mkdir),
        (Evil("1 + 1", eval), "__builtin__.eval"),
    ]:
        assert f"the name '{name}', which no state" in refused(make({}, item, {"0": WEIGHT}))
    assert not trap.exists()
    pickle.loads(pickle.dumps(Evil(trap)))
    assert trap.is_dir()


@pytest.mark.parametrize("protocol", [0, 2])
def test_every_pickle_of_a_file_is_read_with_care(protocol, tmp_path):
    trap = tmp_path / "trap"
    parts = [pickled(item) for item in (MAGIC, 1001, SYSTEM, {}, [])]
    assert read(b"".join(parts)) == {}
    for number in range(5):
        evil = pickle.dumps(Evil(trap), protocol)
        message = refused(b"".join([*parts[:number], evil, *parts[number + 1 :]]))
        assert ("mkdir" if protocol else "PUT") in message
    assert not trap.exists()


@pytest.mark.parametrize(
    "data, message",
    [
        (b"(S'true'\nios\nsystem\n.", "STRING, an operation"),
        (b"\x80\x05\x96" + struct.pack("<Q", 1 << 40) + b".", "BYTEARRAY8|ValueError"),
        (b"\x80\x02ctorch._utils\n_rebuild_parameter\n.", "_rebuild_parameter"),
        (b"\x80\x02ccollections\nOrderedDict\nK\x01\x85R.", "TypeError"),
        (b"\x80\x04\x8d" + b"\xff" * 7 + b"\x0f.", "It may be cut short"),
        (b"\x80\x02Nr\xff\xff\xff\x7f.", "2,147,483,647"),
        (b"\x80\x02K\x01.", "a pickle of another format"),
        (b"\x80\x02" + b"N" * 5_000_000, "more than 262,144 bytes"),
        (b"\x80\x02c" + b"N" * 5_000_000, "more than 262,144 bytes"),
        (b"", "It may be cut short"),
        (b"\x89HDF\r\n\x1a\n", "It may be cut short, or of another kind"),
        (b"PK\x03\x04", "BadZipFile"),
    ],
)
def test_other_pickles_and_formats(data, message):
    assert re.search(message, refused(data))


@pytest.mark.parametrize("store, again", [(b"q\x00", b"h\x00"), (b"r\0\0\0\0", b"j\0\0\0\0")])
def test_tuples_within_tuples_take_no_time_and_no_stack(store, again):
    doubling = b"K\x01\x85" + store + (again + again + b"\x86" + store) * 100
    assert "one tuple in two places" in refused(b"\x80\x02}" + doubling + b"K\x01s.")
    assert "one tuple in two places" in refused(b"\x80\x04}K\x01\x85\x94h\x00K\x01s.")
    for depth, message in [(250_000, "more than 8,192 tuples"), (8_000, "another format")]:
        assert message in refused(b"\x80\x02})" + b"\x85" * depth + b"Ns.")


SLOTS = b"N}X\x05\x00\x00\x00countK\x01s\x86b"  # a state for slots: `count` becomes 1


@pytest.mark.parametrize("made", [b"ctorch._utils\n_rebuild_tensor_v2\n", b"ctorch\nHalfStorage\n"])
def test_a_pickle_changes_no_attribute(made):
    refused(b"\x80\x02" + made + SLOTS + b".")
    assert read(legacy_bytes(ARRAYS))["layer.bias"].shape == (3,)
    state = pickled({"layer.weight": Tensor("0", WEIGHT)}, has_views=True)
    persistent_id = state.index(b"Q") + 1
    state = state[:persistent_id] + SLOTS + state[persistent_id:]
    data = b"".join([*map(pickled, (MAGIC, 1001, SYSTEM)), state, pickled(["0"])])
    data += WEIGHT.size.to_bytes(8, "little") + WEIGHT.tobytes()
    np.testing.assert_array_equal(read(data)["layer.weight"], WEIGHT)


@each_format
@pytest.mark.parametrize(
    "tensor, message",
    [
        ({"count": 1 << 60}, "a storage of 4,611,686,018,427,387,904 bytes"),
        ({"count": 1 << 62}, "a storage of another kind"),
        ({"count": 11}, "a tensor outside its storage"),
        ({"count": 13}, "a storage of 5?[123],?"),
        ({"shape": (4, 4), "strides": (4, 1)}, r"outside its storage.* shape \(4, 4\)"),
        ({"offset": 1}, "outside its storage"),
        ({"offset": -1}, "a tensor of another kind"),
        ({"strides": (5, 1)}, "outside its storage"),
        ({"shape": (1 << 40, 1 << 40), "strides": (0, 0)}, "outside its storage"),
        ({"shape": (3, 4, 1), "strides": (4, 1)}, "a tensor of another kind"),
        ({"shape": (1,) * 70, "strides": (1,) * 69 + (2,)}, "a tensor of another kind"),
        ({"shape": ("3", 4), "strides": (4, 1)}, "a tensor of another kind"),
        ({"shape": (0, 4), "strides": (4, 1), "offset": 99}, "outside its storage"),
        ({"shape": (1 << 31, 0, 1 << 31), "strides": (1, 1, 1)}, "outside its storage"),
    ],
)
def test_a_tensor_or_storage_that_does_not_fit(make, tensor, message):
    state = {"layer.weight": Tensor("0", WEIGHT, **tensor)}
    assert re.search(message, refused(make({}, state, {"0": WEIGHT})))


@each_format
def test_other_things_than_a_state_dict(make):
    tensor = Tensor("0", WEIGHT)
    for state, message in [
        ({"epoch": 3}, "a dict with other things than tensors, 'epoch': int"),
        ({"model": {"layer.weight": tensor}}, "other things than tensors, 'model': dict"),
        ({3: tensor}, "a pickle of a dict, not of a dict of tensors"),
        ([tensor], "a pickle of a list"),
        ({"one": tensor, "two": Tensor("0", WEIGHT, count=13)}, "two storages of the key '0'"),
    ]:
        assert message in refused(make({}, state, {"0": WEIGHT}))


def test_storages_that_are_missing_or_too_many():
    state = {"layer.weight": Tensor("0", WEIGHT)}
    message = "list of storages is not that of its tensors"
    assert message in refused(legacy_bytes({}, state, {}, []))
    assert message in refused(legacy_bytes({}, state, {"0": WEIGHT, "1": WEIGHT}))
    assert message in refused(legacy_bytes({}, state, {"0": WEIGHT}, ["0", "0"]))
    assert message in refused(legacy_bytes({}, state, {}, [7]))
    assert "without 'model/data/0'" in refused(zip_bytes({}, state, {}))
    outside = {"layer.weight": Tensor("../../etc/passwd", WEIGHT)}
    assert "without 'model/data/../../etc/passwd'" in refused(zip_bytes({}, outside, {}))


def test_zip_files_of_other_kinds():
    assert "compressed" in refused(zip_bytes(ARRAYS, compression=zipfile.ZIP_DEFLATED))
    assert "of another kind, with" in refused(zip_bytes(ARRAYS, extra={"two/data.pkl": b"."}))
    assert "bytes" in refused(zip_bytes(ARRAYS, extra={"model/byteorder": bytes(17)}))


@each_format
def test_a_file_cut_short_is_refused(make):
    data = make(ARRAYS)
    for length in [*range(0, len(data) - 1, 31), len(data) - 1]:
        refused(data[:length])


@each_format
def test_a_damaged_file_gives_one_kind_of_error(make):
    """A byte changed anywhere: other numbers, or a `ValueError`, and never another error."""
    data = make(ARRAYS)
    rng = np.random.default_rng(0)
    for position in rng.permutation(len(data))[:200]:
        damaged = bytearray(data)
        damaged[position] ^= int(rng.integers(1, 256))
        try:
            read(bytes(damaged))
        except ValueError as error:
            assert "\n" not in str(error)


def test_a_storage_with_a_wrong_checksum_is_an_error_when_it_is_read():
    data = zip_bytes(ARRAYS)
    position = data.index(WEIGHT.tobytes())
    damaged = data[:position] + b"\xff" + data[position + 1 :]
    with opened(damaged) as tensors:
        np.testing.assert_array_equal(tensors["layer.bias"][()], ARRAYS["layer.bias"])
        with pytest.raises(ValueError, match="Bad CRC-32"):
            tensors["layer.weight"][()]
