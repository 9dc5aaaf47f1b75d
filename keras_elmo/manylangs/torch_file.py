"""Reads state dicts that PyTorch wrote (`torch.save`), without PyTorch.

Such a file holds pickles, and a pickle can call any function that it names. `_Unpickler` knows the
few names that a state dict has, and they stand for classes of this file, which check what they are
given. Every other name is refused before anything is called.

There are two formats. The newer one is a zip file: `NAME/data.pkl` is a pickle of the state dict,
and `NAME/data/KEY` holds the numbers of one storage. The older one ("legacy") is five pickles: a
magic number, a version, facts of the system, the state dict, and the keys of the storages; then
follow the storages in the order of their keys, each as its length (int64) and its numbers.
"""

import contextlib
import io
import math
import os
import pickle
import pickletools
import zipfile

import numpy as np

from keras_elmo.checks import first_lines, is_integer, join_names, short_repr

_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_ZIP_START = b"PK\x03\x04"
# The pickles of the published models have about 10 kB. This bounds time and memory, too.
_MAX_PICKLE_BYTES = 1 << 18
_MAX_TUPLES = 1 << 13  # a tensor has four
_MAX_AXES = 8  # of a tensor: those of a model have 3 at most
_DTYPES = dict(Double="f8", Float="f4", Half="f2", Long="i8", Int="i4", Short="i2", Char="i1")
_DTYPES |= dict(Byte="u1", Bool="?")
_TUPLES = {"TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"}
# What the pickle of a state dict is made of. Some other operations take memory as the file demands.
_OPERATIONS = _TUPLES | set(
    "PROTO FRAME STOP MARK NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 BINUNICODE "
    "SHORT_BINUNICODE EMPTY_DICT EMPTY_LIST EMPTY_TUPLE GLOBAL STACK_GLOBAL BINPERSID REDUCE BUILD "
    "SETITEM SETITEMS APPEND APPENDS BINPUT LONG_BINPUT MEMOIZE BINGET LONG_BINGET".split()
)


@contextlib.contextmanager
def open_state_dict(path, where):
    """Yields the tensors of a state dict by their names; slices of them are read from the file.

    Errors call the file `where`. The `ValueError` for anything else than a whole state dict is one
    line. Nothing in the file is run, and sizes are checked before memory is taken.
    """
    rule = f"{where} must be a whole state dict of `torch.save`."
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(open(path, "rb"))
        try:
            is_zip = file.read(len(_ZIP_START)) == _ZIP_START
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            tensors = _open_zip(file, size, stack) if is_zip else _open_legacy(file, size)
        except _RefusedError as error:
            raise ValueError(f"{rule} Received: {error}") from None
        except Exception as error:  # zipfile and pickle raise many kinds for damaged files
            reason = first_lines([f"({type(error).__name__}: {error})"])
            raise ValueError(f"{rule} It may be cut short, or of another kind {reason}") from None
        yield tensors


class _RefusedError(ValueError):
    """What a file holds in the place of a state dict."""


def _open_legacy(file, size):
    if _Unpickler(file).load() != _LEGACY_MAGIC:
        raise _RefusedError("a pickle of another format")
    _Unpickler(file).load()  # the version, which has been 1001 ever since
    system = _Unpickler(file).load()
    is_big = isinstance(system, dict) and not system.get("little_endian", True)
    order = "big" if is_big else "little"
    unpickler = _Unpickler(file, order)
    tensors, storages = unpickler.load_tensors(), unpickler.storages
    keys = _Unpickler(file).load()
    are_names = isinstance(keys, list) and all(type(key) is str for key in keys)
    if not are_names or sorted(keys) != sorted(storages):
        raise _RefusedError("a file whose list of storages is not that of its tensors")
    starts = {}
    for key in keys:
        storage, length = storages[key], file.read(8)
        starts[key] = file.tell()
        storage.check_size(min(size - starts[key], storage.num_bytes))
        if length != storage.count.to_bytes(8, order):
            raise _RefusedError(f"a storage of {storage.count:,} numbers, of another length")
        file.seek(storage.num_bytes, os.SEEK_CUR)

    def read(storage):
        file.seek(starts[storage.key])
        return file.read(storage.num_bytes)

    unpickler.read = read
    return tensors


def _open_zip(file, size, stack):
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

    order = "little"
    if folder + "byteorder" in members:  # since PyTorch 2.1
        order = archive.read(member_of("byteorder", 16)).decode()
    data = archive.read(member_of("data.pkl", _MAX_PICKLE_BYTES))
    unpickler = _Unpickler(io.BytesIO(data), order)
    tensors = unpickler.load_tensors()
    for storage in unpickler.storages.values():
        storage.check_size(member_of(f"data/{storage.key}").file_size)
    unpickler.read = lambda storage: archive.read(member_of(f"data/{storage.key}"))
    return tensors


def _read_pickle(file):
    """Reads one pickle, and returns a stream of it if it has the operations of a state dict."""
    start = file.tell()
    stream = io.BytesIO(file.read(_MAX_PICKLE_BYTES))
    before, num_stored, num_tuples, tuples = None, 0, 0, set()
    try:
        for operation, argument, _ in pickletools.genops(stream):
            name = operation.name
            if name not in _OPERATIONS:
                raise _RefusedError(f"a pickle with {name}, an operation that no state dict has")
            if name in ("BINPUT", "LONG_BINPUT", "MEMOIZE"):
                index = num_stored if name == "MEMOIZE" else argument
                num_stored += 1
                if index >= _MAX_PICKLE_BYTES:  # `pickle` makes a list of that length
                    raise _RefusedError(f"a pickle whose objects have numbers such as {index:,}")
                if before in _TUPLES:
                    tuples.add(index)
            # Tuples could hold one another so often that to hash one takes forever, or so deeply
            # that it ends the process.
            num_tuples += name in _TUPLES
            if name in ("BINGET", "LONG_BINGET") and argument in tuples:
                raise _RefusedError("a pickle with one tuple in two places")
            if num_tuples > _MAX_TUPLES:
                raise _RefusedError(f"a pickle of more than {_MAX_TUPLES:,} tuples")
            before = name
    except ValueError:
        if stream.tell() == _MAX_PICKLE_BYTES:
            raise _RefusedError(f"a pickle of more than {_MAX_PICKLE_BYTES:,} bytes") from None
        raise
    file.seek(start + stream.tell())
    stream.seek(0)
    return stream


class _Unpickler(pickle.Unpickler):
    """Makes dicts, lists, tuples, strings, numbers and `_Tensor`s of a pickle, and nothing else.

    `byte_order`, `"little"` or `"big"`, is that of the storages.
    """

    def __init__(self, file, byte_order="little"):
        super().__init__(_read_pickle(file))
        self.storages = {}  # by their keys
        self.read = None  # to be set: a function of a `_Storage` to its bytes
        self._byte_order, self._last_read = byte_order, {}

    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return _StateDict
        if module == "torch._utils" and name in ("_rebuild_tensor", "_rebuild_tensor_v2"):
            return _Tensor
        if module == "torch" and name.endswith("Storage") and name[:-7] in _DTYPES:
            return _DTYPES[name[:-7]]
        name = short_repr(f"{module}.{name}")
        raise _RefusedError(f"a pickle with the name {name}, which no state dict has")

    def persistent_load(self, description):
        kind, dtype, key, _, count, *view = description
        is_known = kind == "storage" and dtype in _DTYPES.values() and view in ([], [None])
        is_count = is_integer(count) and 0 <= count < 1 << 62
        if not is_known or type(key) is not str or not is_count:
            raise _RefusedError("a storage of another kind")
        dtype = np.dtype(dtype).newbyteorder(self._byte_order)
        storage = self.storages.setdefault(key, _Storage(self, key, dtype, count))
        if (storage.dtype, storage.count) != (dtype, count):
            raise _RefusedError(f"two storages of the key {short_repr(key)}")
        return storage

    def load_tensors(self):
        state = self.load()
        if not isinstance(state, dict) or not all(type(name) is str for name in state):
            raise _RefusedError(f"a pickle of a {type(state).__name__}, not of a dict of tensors")
        for name, tensor in state.items():
            if not isinstance(tensor, _Tensor):
                what = f"{short_repr(name)}: {type(tensor).__name__}"
                raise _RefusedError(f"a dict with other things than tensors, {what}")
        return state

    def numbers(self, storage):
        """The array of a storage's numbers. That of the last storage is kept."""
        if storage.key not in self._last_read:
            self._last_read.clear()
            try:
                data = self.read(storage)
            except (EOFError, RuntimeError, zipfile.BadZipFile) as error:
                raise ValueError(str(error)) from None
            storage.check_size(len(data))
            self._last_read[storage.key] = np.frombuffer(data, storage.dtype)
        return self._last_read[storage.key]


class _Sealed:
    """A class that a pickle can change as little as its objects."""

    def __setstate__(self, state):
        """Ignores what a pickle sets, such as the attribute `_metadata` of a state dict."""


class _StateDict(_Sealed, dict):
    def __init__(self):
        super().__init__()


class _Storage(_Sealed):
    """The numbers of one or more tensors, one after another."""

    def __init__(self, unpickler, key, dtype, count):
        self.unpickler, self.key, self.dtype, self.count = unpickler, key, dtype, count
        self.num_bytes = count * dtype.itemsize

    def check_size(self, size):
        if size != self.num_bytes:
            sizes = f"{self.num_bytes:,} bytes, and {size:,} in the file"
            raise _RefusedError(f"a storage of {sizes}, which may be cut short")


class _Tensor(_Sealed):
    """A tensor of a file, which can be sliced. The arguments are those of `_rebuild_tensor_v2`."""

    def __init__(self, storage, offset, shape, strides, *_):
        if (
            not isinstance(storage, _Storage)
            or not isinstance(shape, tuple)
            or not isinstance(strides, tuple)
            or not len(shape) == len(strides) <= _MAX_AXES
            or not all(is_integer(n) and n >= 0 for n in (offset, *shape, *strides))
        ):
            raise _RefusedError("a tensor of another kind")
        axes, count = list(zip(shape, strides, strict=True)), math.prod(shape)
        last = offset + sum((n - 1) * stride for n, stride in axes)
        num_needed = max(offset, count, last + 1 if count else 0)
        # NumPy bounds the axes of an array also where one of them is 0.
        if num_needed > storage.count or math.prod(n or 1 for n in shape) >= 1 << 58:
            raise _RefusedError(
                f"a tensor outside its storage of {storage.count:,} numbers: shape "
                f"{short_repr(shape)}, strides {short_repr(strides)}, offset {short_repr(offset)}"
            )
        self.shape, self.dtype, self._storage, self._offset = shape, storage.dtype, storage, offset
        # The stride of an axis of one number matters to nobody, and may be too large for NumPy.
        self._strides = [stride * self.dtype.itemsize * (n > 1 and count > 0) for n, stride in axes]

    def __getitem__(self, selection):
        numbers = self._storage.unpickler.numbers(self._storage)[self._offset :]
        # `__init__` made sure that all of it lies within the storage.
        array = np.lib.stride_tricks.as_strided(numbers, self.shape, self._strides, writeable=False)
        return array[selection]
