"""`open_model`: finds the options and weights of a model, whatever names it."""

import contextlib
import io
import os
import posixpath
import zipfile

from keras_elmo.checks import join_names, short_repr
from keras_elmo.config import (
    DICTIONARY_FILE,
    MAX_DICTIONARY_BYTES,
    MAX_OPTIONS_BYTES,
    MAX_PARAMETERS,
    OPTIONS_FILE,
    ElmoConfig,
    check_size,
    parse_options,
    read_bounded,
    read_options_file,
    with_dictionary,
)
from keras_elmo.weights import addresses, hdf5, presets, tf_checkpoint
from keras_elmo.weights.download import max_weights_size, shown_address
from keras_elmo.weights.model_files import FORMATS, WEIGHTS_FILE

_UNCHECKED_BYTES = 2**26  # of a file in a zip, however well it is compressed
_MAX_COMPRESSION = 100
_ALLENNLP_OPTIONS = "_options.json"  # the end of the names that AllenNLP gives its options


@contextlib.contextmanager
def open_model(source):
    """Opens a model for reading.

    Args:
        source: `"tiny"`, the model in the package, or the name of a published one; a folder or a
            zip with `options.json`, or one `*_options.json`, and one `*.hdf5`; a folder with
            `options.json` and a TensorFlow checkpoint; the folder of a module of TensorFlow Hub; a
            folder or a zip of ELMoForManyLangs, see
            `keras_elmo.manylangs`; the address of a zip (`https://...`), or of a repository of the
            Hugging Face Hub (`hf://user/model`), see `addresses.py`; or a pair `(options, weights)`
            of paths or addresses of files (the options may be a dict).

    Yields:
        `(config, weights)`: the `ElmoConfig`, and what `load_weights` takes: a path, a binary file
        object, or a tuple of these.

    Raises:
        ValueError: there is no such model, or its files are not what they must be.
        TypeError: the source is of another type.
        OSError: a file cannot be opened or downloaded.
        ImportError: an address of the Hugging Face Hub needs huggingface_hub.
    """
    if isinstance(source, list | tuple) and len(source) == 2:
        options, weights = source
        if addresses.is_url(options):
            options = addresses.fetch_url(options, OPTIONS_FILE, MAX_OPTIONS_BYTES, _check_options)
        config = ElmoConfig.from_options(options)
        if addresses.is_url(weights):
            max_size = max_weights_size(sum(config.num_parameters().values()))
            weights = addresses.fetch_url(weights, WEIGHTS_FILE, max_size, hdf5.check_file)
        yield config, weights
        return
    if not isinstance(source, str | os.PathLike):
        raise TypeError(
            "A model must be a name, a folder, a zip, an address, or a pair (options, weights). "
            f"Received: {short_repr(source)}"
        )
    source = os.fspath(source)
    if addresses.is_url(source):
        max_size = max_weights_size(MAX_PARAMETERS)
        path = addresses.fetch_url(source, "model.zip", max_size, _check_zip)
        with _open_zip(path) as (config, weights):
            yield config, weights
        return
    if addresses.is_hub_address(source):
        source = addresses.fetch_hub(source)
    if _is_preset(source):
        options, weights = presets.fetch(source)
        yield ElmoConfig.from_options(options), weights
    elif os.path.isdir(source):
        names = os.listdir(source)
        has_checkpoint = "checkpoint" in names or tf_checkpoint.find_checkpoint(source)
        if has_checkpoint and OPTIONS_FILE in names:
            yield ElmoConfig.from_options(os.path.join(source, OPTIONS_FILE)), source
            return
        if has_checkpoint and tf_checkpoint.is_module(source):
            yield tf_checkpoint.read_config(source), source
            return
        if other := _other_format(names):
            yield _read_folder(other, source), source
            return
        options, weights = (os.path.join(source, name) for name in _find_model_files(source, names))
        yield ElmoConfig.from_options(options), weights
    elif os.path.isfile(source):
        with _open_zip(source) as (config, weights):
            yield config, weights
    else:
        shown = shown_source(source)
        raise ValueError(
            f"There is no model {shown!r}. It must be a folder, a zip, an address (https://..., "
            f"hf://user/model) or one of the names: {', '.join(presets.names())}. "
            f"Received: {shown!r}"
        )


def find_folder(source, with_softmax):
    """Finds the folder of a language model, in which its softmax and its vocabulary may be, too.

    Args:
        source: see `open_model`.
        with_softmax: bool. Whether to download the softmax and the vocabulary, if the source is the
            name of a published model that has them, or an address of the Hugging Face Hub.

    Returns:
        The path of a folder, a str; or `None` if the model is in none, such as that of a zip, or
        is published without a softmax.

    Raises:
        See `open_model`.
    """
    if addresses.is_hub_address(source):
        return addresses.fetch_hub(source, with_softmax)
    if not isinstance(source, str | os.PathLike):
        return None
    source = os.fspath(source)
    if _is_preset(source) and with_softmax and presets.has_softmax(source):
        options, _ = presets.fetch(source, with_softmax)
        return os.path.dirname(options)
    return source if os.path.isdir(source) else None


def shown_source(source):
    """A path, a name or an address for messages and `repr`: an address without its secrets."""
    source = os.fspath(source)
    return shown_address(source) if "://" in source else source


def _is_preset(source):
    return source in presets.names() and not os.path.exists(source)


def _check_options(path, where):
    ElmoConfig.from_options(read_options_file(path, where), where)


def _check_zip(path, where):
    with _open_zip(path, where):
        pass


def _find_model_files(where, names):
    """Finds the names of the options and of the only weight file among `names`."""
    names = [name for name in names if not os.path.basename(name).startswith(".")]
    weights = [name for name in names if name.endswith((".hdf5", ".h5"))]
    weights = [name for name in weights if "softmax" not in os.path.basename(name)]
    options = [name for name in names if os.path.basename(name) == OPTIONS_FILE]
    options = sorted(options, key=lambda name: name.count("/"))[:1]
    if not options:
        options = [name for name in names if name.endswith(_ALLENNLP_OPTIONS)]
    if len(weights) != 1 or len(options) != 1:
        raise ValueError(
            f"{where} must hold {OPTIONS_FILE} and one *.hdf5 file. "
            f"Received: {join_names(names) or 'nothing'}. "
            f"(One *{_ALLENNLP_OPTIONS} is taken too.) "
            "With other names, pass the pair (options, weights)."
        )
    return options[0], weights[0]


@contextlib.contextmanager
def _open_zip(file, path=None):
    """Opens the zip `file`, which errors call `path`."""
    path = file if path is None else path
    try:
        archive = zipfile.ZipFile(file)
    except OSError:
        raise
    except Exception as error:  # a broken index raises other errors than BadZipFile, too
        raise ValueError(
            f"{path} must be a folder, or a whole zip file with {OPTIONS_FILE} and one *.hdf5. "
            f"Received: a file with an error ({error})"
        ) from None
    with archive:
        members = [member for member in archive.infolist() if member.filename[-1:] != "/"]
        unsafe = [m.filename for m in members if _leads_outside(m.filename)]
        if unsafe:
            raise ValueError(
                f"{path} must not hold names that lead out of it. Received: {join_names(unsafe)}"
            )
        by_name = {member.filename: member for member in members}
        if other := _other_format(map(posixpath.basename, by_name)):
            yield _open_other(other, archive, by_name, path)
            return
        options, weights = (by_name[name] for name in _find_model_files(path, by_name))
        where = f"{path}:{options.filename}"
        check_size(options.file_size, where)
        folder = posixpath.dirname(options.filename)

        def read_dictionary():
            name = posixpath.join(folder, DICTIONARY_FILE)
            if name not in by_name:
                raise ValueError(
                    f"The zip must hold {name}, which {where} needs. Received: a zip without it"
                )
            check_size(by_name[name].file_size, f"{path}:{name}", MAX_DICTIONARY_BYTES)
            return _read_member(archive, by_name[name], path)

        options = parse_options(_read_member(archive, options, path), where)
        config = ElmoConfig.from_options(with_dictionary(options, read_dictionary, where), where)
        yield config, _open_weights(archive, weights, path, config)


def _open_weights(archive, member, path, config):
    """A file of weights in a zip, in memory."""
    max_size = max_weights_size(sum(config.num_parameters().values()))
    if member.file_size > max_size:
        raise ValueError(
            f"{path}:{member.filename} must be at most {max_size:,} bytes, with these "
            f"options. Received: {member.file_size:,}"
        )
    file = io.BytesIO(_read_member(archive, member, path))
    file.name = f"{path}:{member.filename}"
    return file


def _other_format(names):
    """The one of `FORMATS` of which the names of files are, or `None`: options are beside them."""
    names = set(names)
    found = [] if OPTIONS_FILE in names else [other for other in FORMATS if other.is_model(names)]
    return found[0] if found else None


def _read_folder(other, folder):
    """The config of a folder of another format."""

    def has(name):
        return os.path.isfile(os.path.join(folder, name))

    def read(name, limit):
        return read_bounded(os.path.join(folder, name), limit)

    return other.read_config(folder, has, read)


def _open_other(other, archive, members, path):
    """The config and the weights of a model of another format in a zip.

    Args:
        other: one of `FORMATS`.
        archive: the open zip.
        members: dict of its members by their names.
        path: of the zip.
    """
    names = sorted(members, key=lambda name: name.count("/"))
    file = next(name for name in names if other.is_model([posixpath.basename(name)]))
    folder = posixpath.dirname(file)

    def member_of(name):
        return members.get(posixpath.normpath(posixpath.join(folder, name)))

    def read(name, limit):
        check_size(member_of(name).file_size, f"{path}:{member_of(name).filename}", limit)
        return _read_member(archive, member_of(name), path)

    config = other.read_config(f"{path}:{folder}".rstrip(":"), member_of, read)
    files = (_open_weights(archive, member_of(name), path, config) for name in other.WEIGHT_FILES)
    return config, tuple(files)


def _read_member(archive, member, path):
    # Both the sizes and the config come from the zip, so neither bounds the other.
    if member.file_size > max(_UNCHECKED_BYTES, _MAX_COMPRESSION * member.compress_size):
        raise ValueError(
            f"{path}:{member.filename} must be compressed at most {_MAX_COMPRESSION} times, as "
            f"weights are. Received: {member.file_size:,} bytes in {member.compress_size:,}"
        )
    try:
        return archive.read(member)
    except Exception as error:  # each kind of compression has its own errors
        raise ValueError(
            f"{path} must be a zip that can be read; make it again, without a password. "
            f"Received: a zip with an error ({error})"
        ) from None


def _leads_outside(name):
    parts = name.replace("\\", "/").split("/")
    return parts[0] == "" or ":" in parts[0] or ".." in parts
