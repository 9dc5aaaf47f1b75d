"""Writes files as PyTorch's `torch.save` does, without PyTorch, also hostile ones."""

import collections
import io
import pickle
import sys
import types
import unittest.mock
import zipfile

import numpy as np

MAGIC = 0x1950A86A20F9469CFC6C
SYSTEM = {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2, "int": 4}}
STORAGES = {"f4": "Float", "f8": "Double", "f2": "Half", "i8": "Long"}

# Modules that the `pickle` module takes for PyTorch's, where it looks up what it names.
_TORCH, _UTILS = types.ModuleType("torch"), types.ModuleType("torch._utils")
_TORCH._utils = _UTILS
_UTILS._rebuild_tensor_v2 = type("_rebuild_tensor_v2", (), {"__module__": "torch._utils"})
for _name in STORAGES.values():
    setattr(_TORCH, f"{_name}Storage", type(f"{_name}Storage", (), {"__module__": "torch"}))


class Tensor:
    """What a pickle says of a tensor; it need not be true."""

    def __init__(self, key, array, count=None, offset=0, shape=None, strides=None):
        self.key, self.dtype = key, array.dtype
        self.count, self.offset = array.size if count is None else count, offset
        self.shape = array.shape if shape is None else shape
        own = tuple(stride // array.itemsize for stride in array.strides)
        self.strides = own if strides is None else strides


class _Storage(tuple):
    pass


class _Pickler(pickle.Pickler):
    has_views = False

    def persistent_id(self, item):
        return tuple(item) if isinstance(item, _Storage) else None

    def reducer_override(self, item):
        if not isinstance(item, Tensor):
            return NotImplemented
        kind = getattr(_TORCH, f"{STORAGES[item.dtype.str[1:]]}Storage")
        view = [None] * self.has_views
        storage = _Storage(("storage", kind, item.key, "cuda:0", item.count, *view))
        place = (storage, item.offset, item.shape, item.strides)
        return _UTILS._rebuild_tensor_v2, (*place, False, collections.OrderedDict())


def pickled(item, protocol=2, has_views=False):
    """A pickle as `torch.save` makes it, of a dict of `Tensor`s or of anything else."""
    file = io.BytesIO()
    pickler = _Pickler(file, protocol)
    pickler.has_views = has_views
    with unittest.mock.patch.dict(sys.modules, {"torch": _TORCH, "torch._utils": _UTILS}):
        pickler.dump(item)
    return file.getvalue()


def _as_state(arrays):
    """Arrays as what a pickle says of them, and by their keys."""
    state, storages = collections.OrderedDict(), {}
    state._metadata = collections.OrderedDict({"": {"version": 1}})  # as PyTorch's has
    for number, (name, value) in enumerate(arrays.items()):
        if isinstance(value, np.ndarray):
            storages[str(number)] = value
            value = Tensor(str(number), value)
        state[name] = value
    return state, storages


def legacy_bytes(arrays, state=None, storages=None, keys=None, system=SYSTEM, protocol=2):
    """A file of the older format. What is not `None` stands in the place of what `arrays` needs."""
    own_state, own_storages = _as_state(arrays)
    storages = own_storages if storages is None else storages
    items = [MAGIC, 1001, system, own_state if state is None else state]
    items.append(sorted(storages) if keys is None else keys)
    order = "little" if system["little_endian"] else "big"
    data = b"".join(pickled(item, protocol, has_views=True) for item in items)
    for key in sorted(storages):
        array = storages[key]
        data += array.size.to_bytes(8, order)
        data += array.astype(array.dtype.newbyteorder(order), order="C").tobytes()
    return data


def zip_bytes(arrays, state=None, storages=None, compression=zipfile.ZIP_STORED, extra=None):
    """A file of the newer format; see `legacy_bytes`. `extra`: further members of the zip."""
    own_state, own_storages = _as_state(arrays)
    storages = own_storages if storages is None else storages
    members = {"model/data.pkl": pickled(own_state if state is None else state)}
    members |= {"model/byteorder": b"little", "model/version": b"3\n"}
    members |= {f"model/data/{key}": array.tobytes() for key, array in storages.items()}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in (members | (extra or {})).items():
            archive.writestr(name, content)
    return file.getvalue()


FORMATS = {"legacy": legacy_bytes, "zip": zip_bytes}
