"""`open_model`: finds the options and weights by a name, in a folder, in a zip, or as a pair."""

import contextlib
import io
import os
import zipfile

from keras_elmo.checks import first_of, shown
from keras_elmo.config import ElmoConfig
from keras_elmo.options_file import check_options_size, parse_options
from keras_elmo.weights import presets

_OPTIONS = "options.json"
_ALLENNLP_OPTIONS = "_options.json"  # the end of the names that AllenNLP gives its options


@contextlib.contextmanager
def open_model(source):
    """Opens a model for reading.

    Args:
        source: `"tiny"`, the model in the package, or the name of a published one; a folder or a
            zip with `options.json`, or one `*_options.json`, and one `*.hdf5`; a folder with
            `options.json` and a TensorFlow checkpoint; or a pair `(options, weights)` of paths
            (the options may be a dict).

    Yields:
        `(config, weights)`: the `ElmoConfig`, and a path or a binary file object, which
        `load_weights` takes.

    Raises:
        ValueError: there is no such model, or its files are not what they must be.
        TypeError: the source is of another type.
        OSError: a file cannot be opened or downloaded.
    """
    if isinstance(source, list | tuple) and len(source) == 2:
        options, weights = source
        yield ElmoConfig.from_options(options), weights
        return
    if not isinstance(source, str | os.PathLike):
        raise TypeError(
            "A model is a name, a folder, a zip, or a pair (options, weights). "
            f"Received: {shown(source)}"
        )
    source = os.fspath(source)
    if source in presets.names() and not os.path.exists(source):
        options, weights = presets.fetch(source)
        yield ElmoConfig.from_options(options), weights
    elif os.path.isdir(source):
        names = os.listdir(source)
        if os.path.isfile(os.path.join(source, "checkpoint")) and _OPTIONS in names:
            yield ElmoConfig.from_options(os.path.join(source, _OPTIONS)), source
            return
        options, weights = (os.path.join(source, name) for name in _find_model_files(source, names))
        yield ElmoConfig.from_options(options), weights
    elif os.path.isfile(source):
        with _open_zip(source) as (config, weights):
            yield config, weights
    else:
        raise ValueError(
            f"There is no model {source!r}: it is no folder or zip, and none of the names. "
            f"Names: {', '.join(presets.names())}"
        )


def _find_model_files(where, names):
    """Finds the names of the options and of the only weight file among `names`."""
    names = [name for name in names if not os.path.basename(name).startswith(".")]
    weights = [name for name in names if name.endswith((".hdf5", ".h5"))]
    weights = [name for name in weights if "softmax" not in os.path.basename(name)]
    options = [name for name in names if os.path.basename(name) == _OPTIONS]
    options = sorted(options, key=lambda name: name.count("/"))[:1]
    if not options:
        options = [name for name in names if name.endswith(_ALLENNLP_OPTIONS)]
    if len(weights) != 1 or len(options) != 1:
        raise ValueError(
            f"{where} must hold {_OPTIONS} and one *.hdf5 file. "
            f"Received: {first_of(names) or 'nothing'}. "
            f"(One *{_ALLENNLP_OPTIONS} is taken too.) "
            "With other names, pass the pair (options, weights)."
        )
    return options[0], weights[0]


@contextlib.contextmanager
def _open_zip(path):
    try:
        archive = zipfile.ZipFile(path)
    except OSError:
        raise
    except Exception as error:  # a broken index raises other errors than BadZipFile, too
        raise ValueError(
            f"{path} must be a folder, or a whole zip file with {_OPTIONS} and one *.hdf5. "
            f"({error})"
        ) from None
    with archive:
        members = [member for member in archive.infolist() if member.filename[-1:] != "/"]
        unsafe = [m.filename for m in members if _leads_outside(m.filename)]
        if unsafe:
            raise ValueError(
                f"{path} must not hold names that lead out of it. Received: {first_of(unsafe)}"
            )
        by_name = {member.filename: member for member in members}
        options, weights = (by_name[name] for name in _find_model_files(path, by_name))
        where = f"{path}:{options.filename}"
        check_options_size(options.file_size, where)
        options = parse_options(_read_member(archive, options, path), where)
        config = ElmoConfig.from_options(options, where)
        # The weights of this shape as float64, and 16 MiB for what HDF5 adds.
        max_size = 8 * sum(config.num_parameters().values()) + (16 << 20)
        if weights.file_size > max_size:
            raise ValueError(
                f"{path}:{weights.filename} must be at most {max_size:,} bytes, with these "
                f"options. Received: {weights.file_size:,}"
            )
        file = io.BytesIO(_read_member(archive, weights, path))
        file.name = f"{path}:{weights.filename}"
        yield config, file


def _read_member(archive, member, path):
    try:
        return archive.read(member)
    except Exception as error:  # each kind of compression has its own errors
        raise ValueError(
            f"{path} cannot be read: {error}. Make the zip again, without a password."
        ) from None


def _leads_outside(name):
    parts = name.replace("\\", "/").split("/")
    return parts[0] == "" or ":" in parts[0] or ".." in parts
