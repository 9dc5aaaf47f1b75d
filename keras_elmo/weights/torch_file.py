"""Reads state dicts that PyTorch wrote (`torch.save`), without PyTorch.

Such a file holds pickles, and a pickle can run any code when it is unpickled. Here nothing is
unpickled: `_read_pickle` follows the few operations that a state dict is made of, and refuses every
other operation, and every name but those of `_NAMES`. It makes dicts, tuples and numbers, and calls
nothing but `_make_storage` and `_make_tensor`, which check what they are given.

There are two formats. The newer one is a zip file: `NAME/data.pkl` is a pickle of the state dict,
and `NAME/data/KEY` holds the numbers of one storage. The older one ("legacy") is five pickles: a
magic number, a version, facts of the system, the state dict, and the keys of the storages; then
follow the storages in the order of their keys, each as its length (int64) and its numbers.
"""

import contextlib
import math
import os
import pickletools
import zipfile
from typing import NamedTuple

import numpy as np

from keras_elmo.checks import is_integer, join_names, short_repr

_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_ZIP_START = b"PK\x03\x04"
# The pickles of the published models have about 10 kB. They are read one operation at a time, so
# this also bounds the time.
_MAX_PICKLE_BYTES = 1 << 20
_MAX_AXES = 8  # of a tensor: those of a model have 3 at most

_ORDERED_DICT = "collections.OrderedDict"
_REBUILD_TENSOR = ("torch._utils._rebuild_tensor", "torch._utils._rebuild_tensor_v2")
_DTYPES = {
    "torch.DoubleStorage": "f8",
    "torch.FloatStorage": "f4",
    "torch.HalfStorage": "f2",
    "torch.LongStorage": "i8",
    "torch.IntStorage": "i4",
    "torch.ShortStorage": "i2",
    "torch.CharStorage": "i1",
    "torch.ByteStorage": "u1",
    "torch.BoolStorage": "?",
}
_NAMES = {_ORDERED_DICT, *_REBUILD_TENSOR, *_DTYPES}


@contextlib.contextmanager
def open_state_dict(file):
    """Opens a file of `torch.save` that holds a state dict.

    Args:
        file: path, or a binary file object (error messages call it by its attribute `name`).

    Yields:
        A dict from names to tensors. These have a `shape` and a `dtype`, and can be sliced like
        NumPy's arrays, for which they are read from the file.

    Raises:
        ValueError: the file is of another format, is cut short, holds something else than tensors
            or names that no state dict has, or a storage or tensor does not fit into it. The
            message is one line. Nothing in the file is run, and sizes are checked before memory is
            taken.
        OSError: the file cannot be opened.
    """
    with contextlib.ExitStack() as stack:
        if isinstance(file, str | os.PathLike):
            where, file = os.fspath(file), stack.enter_context(open(file, "rb"))
        else:
            where = getattr(file, "name", "the file")
        rule = f"{where} must be a whole state dict of `torch.save`."
        try:
            file.seek(0)
            is_zip = file.read(len(_ZIP_START)) == _ZIP_START
            file.seek(0)
            tensors = _open_zip(file, stack) if is_zip else _open_legacy(file)
        except _RefusedError as error:
            raise ValueError(f"{rule} Received: {error}") from None
        except Exception as error:  # zipfile and pickletools raise many kinds for damaged files
            reason = " ".join(f"({type(error).__name__}: {error})".split())
            raise ValueError(f"{rule} It may be cut short, or of another kind {reason}") from None
        yield tensors


class _RefusedError(ValueError):
    """What a file holds in the place of a state dict."""


class _Storage(NamedTuple):
    """The numbers of one or more tensors, one after another."""

    key: str
    dtype: np.dtype
    count: int

    @property
    def num_bytes(self):
        return self.count * self.dtype.itemsize


class _Tensor(NamedTuple):
    """Where the numbers of a tensor are: `offset` and `strides` count numbers, not bytes."""

    storage: _Storage
    offset: int
    shape: tuple
    strides: tuple


class _FileTensor:
    """A tensor of a file, which can be sliced.

    A storage is read as a whole, and `assign_weights` asks for a tensor in pieces. Therefore the
    storage that was read last is kept in `last_read`, a dict that all tensors of a file share.

    Args:
        tensor: the `_Tensor`.
        read: function of a `_Storage` to its bytes.
        byte_order: `"<"` or `">"`.
        last_read: dict.
    """

    def __init__(self, tensor, read, byte_order, last_read):
        self._tensor, self._read, self._last_read = tensor, read, last_read
        self.shape = tensor.shape
        self.dtype = tensor.storage.dtype.newbyteorder(byte_order)

    def __getitem__(self, selection):
        storage = self._tensor.storage
        if storage.key not in self._last_read:
            self._last_read.clear()
            try:
                data = self._read(storage)
            except (EOFError, zipfile.BadZipFile) as error:
                raise ValueError(str(error)) from None
            if len(data) != storage.num_bytes:
                raise ValueError(f"{len(data):,} of {storage.num_bytes:,} bytes could be read")
            self._last_read[storage.key] = data
        numbers = np.frombuffer(self._last_read[storage.key], self.dtype)
        strides = [stride * self.dtype.itemsize for stride in self._tensor.strides]
        # `_make_tensor` made sure that all of it lies within the storage.
        array = np.lib.stride_tricks.as_strided(
            numbers[self._tensor.offset :], self.shape, strides, writeable=False
        )
        return array[selection]


def _open_legacy(file):
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    stream = _PickleStream(file)
    if _read_pickle(stream) != _LEGACY_MAGIC:
        raise _RefusedError("a pickle of another format")
    _read_pickle(stream)  # the version, which has been 1001 ever since
    system = _read_pickle(stream)
    is_little = not isinstance(system, dict) or system.get("little_endian", True)
    tensors, keys = _checked_tensors(_read_pickle(stream)), _read_pickle(stream)
    storages = {tensor.storage.key: tensor.storage for tensor in tensors.values()}
    if not isinstance(keys, list) or not all(type(key) is str for key in keys):
        raise _RefusedError("a file without the keys of its storages")
    if len(keys) != len(storages) or set(keys) != storages.keys():
        raise _RefusedError("a file whose list of storages is not that of its tensors")
    starts = {}
    for key in keys:
        storage = storages[key]
        length = file.read(8)
        starts[key] = file.tell()
        if len(length) < 8 or storage.num_bytes > size - starts[key]:
            raise _RefusedError(
                f"a storage of {storage.num_bytes:,} bytes, and {size - starts[key]:,} "
                "in the file, which may be cut short"
            )
        count = int.from_bytes(length, "little" if is_little else "big")
        if count != storage.count:
            raise _RefusedError(
                f"a storage of {storage.count:,} numbers, whose own length is {count:,}"
            )
        file.seek(starts[key] + storage.num_bytes)

    def read(storage):
        file.seek(starts[storage.key])
        return file.read(storage.num_bytes)

    return _file_tensors(tensors, read, "<" if is_little else ">")


def _open_zip(file, stack):
    size = file.seek(0, os.SEEK_END)
    archive = stack.enter_context(zipfile.ZipFile(file))
    members = {member.filename: member for member in archive.infolist()}
    pickles = [name for name in members if name.endswith("/data.pkl") and name.count("/") == 1]
    if len(pickles) != 1:
        raise _RefusedError(f"a zip file of another kind, with {join_names(members)}")
    folder = pickles[0].removesuffix("data.pkl")

    def member_of(name, limit=size):
        member = members.get(folder + name)
        if member is None:
            raise _RefusedError(f"a zip file without {short_repr(folder + name)}")
        # `torch.save` compresses nothing. What is not compressed cannot be larger than the file.
        if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
            raise _RefusedError(f"{short_repr(member.filename)}, compressed or with a password")
        if member.file_size > min(limit, size):
            raise _RefusedError(f"{short_repr(member.filename)} of {member.file_size:,} bytes")
        return member

    with archive.open(member_of("data.pkl", _MAX_PICKLE_BYTES)) as pickle:
        tensors = _checked_tensors(_read_pickle(_PickleStream(pickle)))
    is_big = False
    if folder + "byteorder" in members:  # since PyTorch 2.1
        is_big = archive.read(member_of("byteorder", 16)) == b"big"
    storages = {}
    for storage in {tensor.storage for tensor in tensors.values()}:
        storages[storage.key] = member_of(f"data/{storage.key}")
        if storages[storage.key].file_size != storage.num_bytes:
            raise _RefusedError(
                f"a storage of {storage.num_bytes:,} bytes, and "
                f"{storages[storage.key].file_size:,} in the file"
            )
    return _file_tensors(
        tensors, lambda storage: archive.read(storages[storage.key]), ">" if is_big else "<"
    )


def _file_tensors(tensors, read, byte_order):
    last_read = {}
    return {
        name: _FileTensor(tensor, read, byte_order, last_read) for name, tensor in tensors.items()
    }


def _checked_tensors(state):
    """A state dict as it was read, or a `ValueError` where it is something else."""
    if not isinstance(state, dict):
        raise _RefusedError(f"a pickle of a {type(state).__name__}, not of a dict")
    storages = {}
    for name, tensor in state.items():
        if not isinstance(tensor, _Tensor):
            raise _RefusedError(
                f"a dict of other things than tensors, {short_repr(name)}: {type(tensor).__name__}"
            )
        if storages.setdefault(tensor.storage.key, tensor.storage) != tensor.storage:
            raise _RefusedError(f"two storages of the key {short_repr(tensor.storage.key)}")
    return state


class _PickleStream:
    """The bytes of a file as pickles, of which only so many are read.

    Without it, `pickletools` would ask the file for as many bytes as the pickle says, and the file
    would take the memory for them.

    Args:
        file: binary file object.
    """

    def __init__(self, file):
        self._file, self._left = file, _MAX_PICKLE_BYTES

    def read(self, count):
        if not 0 <= count <= self._left:
            raise _RefusedError(f"a pickle of more than {_MAX_PICKLE_BYTES:,} bytes")
        self._left -= count
        return self._file.read(count)

    def readline(self):
        line = self._file.readline(self._left + 1)
        self._left -= len(line)
        if self._left < 0:
            raise _RefusedError(f"a pickle of more than {_MAX_PICKLE_BYTES:,} bytes")
        return line


class _Name(str):
    """A name of `_NAMES` that a pickle holds."""


_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_EMPTY = {"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple}
_VALUES = {"BININT", "BININT1", "BININT2", "LONG1", "BINUNICODE", "SHORT_BINUNICODE"}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


def _read_pickle(stream):
    """The object of one pickle, made of dicts, lists, tuples, strings, numbers and `_Tensor`s.

    The operations are those of the `pickle` module's protocols 2 to 5, which push objects to a
    stack and take them from it again.
    """
    stack, marks, memo = [], [], {}

    def items():
        """What was pushed since the last mark."""
        start = marks.pop()
        values = stack[start:]
        del stack[start:]
        return values

    for operation, argument, _ in pickletools.genops(stream):
        name = operation.name
        if name in _VALUES:
            stack.append(argument)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in _EMPTY:
            stack.append(_EMPTY[name]())
        elif name in _TUPLES:
            start = len(stack) - _TUPLES[name]
            stack[start:] = [_make_tuple(stack[start:])]
        elif name == "TUPLE":
            stack.append(_make_tuple(items()))
        elif name == "MARK":
            marks.append(len(stack))
        elif name in ("GLOBAL", "INST"):
            stack.append(_checked_name(*argument.split(" ", 1)))
        elif name == "STACK_GLOBAL":
            stack[-2:] = [_checked_name(*stack[-2:])]
        elif name == "BINPERSID":
            stack.append(_make_storage(stack.pop()))
        elif name == "REDUCE":
            arguments = stack.pop()
            stack.append(_call(stack.pop(), arguments))
        elif name == "SETITEM":
            value = stack.pop()
            _set_items(stack[-2], [stack.pop(), value])
        elif name == "SETITEMS":
            values = items()
            _set_items(stack[-1], values)
        elif name in ("APPEND", "APPENDS"):
            values = [stack.pop()] if name == "APPEND" else items()
            if type(stack[-1]) is not list:
                raise _RefusedError(f"{name} for a {type(stack[-1]).__name__}")
            stack[-1].extend(values)
        elif name == "BUILD":  # the attribute `_metadata` of a state dict, which is of no use here
            stack.pop()
        elif name in ("BINPUT", "LONG_BINPUT", "MEMOIZE"):
            memo[len(memo) if name == "MEMOIZE" else argument] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(memo[argument])
        elif name == "STOP":
            return stack.pop()
        elif name not in ("PROTO", "FRAME"):
            raise _RefusedError(f"a pickle with the operation {name}, which no state dict has")


def _make_tuple(values):
    # Tuples within tuples could hold one another so often that to hash one takes forever.
    if any(type(value) is tuple and any(type(v) is tuple for v in value) for value in values):
        raise _RefusedError("a pickle with tuples in tuples in tuples")
    return tuple(values)


def _checked_name(module, name):
    full = f"{module}.{name}" if type(module) is type(name) is str else _said(name)
    if full not in _NAMES:
        raise _RefusedError(
            f"a pickle with the name {short_repr(full)}, which no state dict has. It is "
            "refused, and nothing was run"
        )
    return _Name(full)


def _call(function, arguments):
    """What a function of `_NAMES` returns."""
    if not isinstance(function, _Name) or not isinstance(arguments, tuple):
        raise _RefusedError(f"a pickle that calls {_said(function)}")
    if function in _REBUILD_TENSOR:
        return _make_tensor(*arguments[:4])
    if function == _ORDERED_DICT and arguments == ():
        return {}
    raise _RefusedError(f"a pickle that calls {function} with {_said(arguments)}")


def _set_items(target, values):
    names = values[::2]
    if type(target) is not dict or not all(type(name) is str for name in names):
        raise _RefusedError("a pickle that sets other items than names of a dict")
    target.update(zip(names, values[1::2], strict=True))


def _said(value):
    """A value for an error message: simple ones are shown, and others could be without end."""
    simple = (str, int, type(None))
    if isinstance(value, simple) or type(value) is tuple and all(type(v) in simple for v in value):
        return short_repr(value)
    return f"a {type(value).__name__}"


def _make_storage(description):
    """The `_Storage` of what a pickle says of it."""
    kind, dtype, key, _, count, *view = description
    is_known = kind == "storage" and isinstance(dtype, _Name) and dtype in _DTYPES
    if not is_known or type(key) is not str or view not in ([], [None]):
        raise _RefusedError(f"a storage of another kind, {_said(description)}")
    if not is_integer(count) or not 0 <= count < 1 << 62:
        raise _RefusedError(f"a storage of {_said(count)} numbers")
    return _Storage(key, np.dtype(_DTYPES[dtype]), count)


def _make_tensor(storage, offset, shape, strides):
    """The `_Tensor` of the arguments of PyTorch's `_rebuild_tensor`."""
    numbers = [offset, *shape, *strides]
    if (
        not isinstance(storage, _Storage)
        or not isinstance(shape, tuple)
        or not isinstance(strides, tuple)
        or len(shape) != len(strides)
        or len(shape) > _MAX_AXES
        or not all(is_integer(number) and number >= 0 for number in numbers)
    ):
        raise _RefusedError(f"a tensor of another kind, of shape {_said(shape)}")
    last = offset + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
    count = math.prod(shape)
    is_outside = (
        offset > storage.count or count > storage.count or (count and last >= storage.count)
    )
    # NumPy bounds the axes of an array also where one of them is 0.
    if is_outside or math.prod(n or 1 for n in shape) >= 1 << 58:
        raise _RefusedError(
            f"a tensor outside its storage: shape {_said(shape)}, strides "
            f"{_said(strides)}, offset {_said(offset)}, in a storage of {storage.count:,} numbers"
        )
    # The stride of an axis of one number matters to nobody, and may be too large for NumPy.
    strides = tuple(s if count and n > 1 else 0 for n, s in zip(shape, strides, strict=True))
    return _Tensor(storage, offset, shape, strides)
