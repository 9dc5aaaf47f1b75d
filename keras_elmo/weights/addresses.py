"""Models by address: `https://.../model.zip`, and `hf://user/model` of the Hugging Face Hub."""

import contextlib
import hashlib
import os
import re
import tempfile

from keras_elmo.files.atomic import replacing_file, sha256_of
from keras_elmo.process.signals import raising_signals
from keras_elmo.weights import presets
from keras_elmo.weights.card import CARD_FILE
from keras_elmo.weights.download import RemoteFile, ensure_file, printable, shown_address

_HUB = "hf://"
# A repository may hold the weights of other libraries. A model's own files are these.
_HUB_FILES = ["*.json", "*.hdf5", "*.h5", "*.dic", "*.pkl", "checkpoint", "*.ckpt-*"]
_HUB_FILES += ["saved_model.pb", "variables/variables.*"]
_HUB_SOFTMAX_FILES = ["vocab*.txt"]


def is_url(source):
    """Whether a model or a file is named by the address of a file on a server."""
    return isinstance(source, str) and source.startswith(("https://", "http://"))


def is_hub_address(source):
    """Whether a model is named by its repository on the Hugging Face Hub."""
    return isinstance(source, str) and source.startswith(_HUB)


def fetch_url(address, name, max_size, check):
    """Downloads a file once, and keeps it in the cache beside its SHA-256.

    A file in the cache that has another checksum is damaged, and is downloaded again.

    Args:
        address: str, `http(s)://...`. It may end with `#sha256=` and the checksum that the file
            must have.
        name: str, the file's name in the cache.
        max_size: int, the largest size in bytes that it can have.
        check: function of the path of the downloaded file and of its address. It raises a
            `ValueError` if the file is not what it must be. Then it does not reach the cache.

    Returns:
        The path of the file.

    Raises:
        ValueError: the address ends with something else; or see `check`.
        OSError: the download failed, or the file has another checksum.
    """
    url, mark, fragment = address.partition("#")
    if mark and not re.fullmatch("sha256=[0-9a-fA-F]{64}", fragment):
        raise ValueError(
            "What follows # in the address of a model must be sha256= and 64 hexadecimal digits. "
            f"Received: {shown_address(url)}#..."
        )
    folder = os.path.join(
        presets.cache_folder("addresses"), hashlib.sha256(url.encode("utf-8")).hexdigest()[:32]
    )
    path = os.path.join(folder, name)
    record = f"{path}.sha256"  # as sha256sum writes and checks it
    wanted = fragment.removeprefix("sha256=").lower() or None

    def check_and_record(downloaded):
        check(downloaded, shown_address(url))
        with replacing_file(record) as temporary, open(temporary, "w") as target:
            target.write(f"{sha256_of(downloaded)}  {name}\n")

    def is_damaged():
        if wanted is not None or not os.path.isfile(record):
            return False
        with open(record, encoding="utf-8", errors="replace") as file:
            return file.read(64) != sha256_of(path)

    file = RemoteFile(name, url, sha256=wanted, limit=max_size)
    ensure_file(file, path, check_and_record, is_damaged)
    return path


def fetch_hub(address, with_softmax=False):
    """Downloads a model of the Hugging Face Hub, which `huggingface_hub` keeps in its own cache.

    The library finds files in its cache by their checksums, and tokens of private models by itself.

    Args:
        address: str, `hf://user/model`, and `@` and a branch, tag or commit if it is not to be the
            newest version.
        with_softmax: bool. Whether to download the softmax and the vocabulary, too.

    Returns:
        The path of a folder with the files.

    Raises:
        ImportError: huggingface_hub is not installed.
        OSError: there is no such model, or it cannot be downloaded.
    """
    huggingface_hub = _import_hub(address)
    repository, _, revision = address.removeprefix(_HUB).partition("@")
    revision = revision or "main"
    patterns = {
        "allow_patterns": _HUB_FILES + (_HUB_SOFTMAX_FILES if with_softmax else []),
        "ignore_patterns": None if with_softmax else ["*softmax*"],
    }
    try:
        with raising_signals():
            # `snapshot_download` downloads in threads, which a signal does not reach. So each file
            # is downloaded here before, if the Hub can be reached.
            names = []
            with contextlib.suppress(Exception):
                info = huggingface_hub.HfApi().model_info(repository, revision=revision)
                names = [file.rfilename for file in info.siblings]
            for name in huggingface_hub.utils.filter_repo_objects(names, **patterns):
                huggingface_hub.hf_hub_download(repository, name, revision=info.sha)
            return huggingface_hub.snapshot_download(repository, revision=revision, **patterns)
    except Exception as error:  # its HTTP library and its checks of names have errors of their own
        raise OSError(f"{address} cannot be downloaded: {printable(str(error))}") from None


def push_to_hub(save, repository, private):
    """Uploads a folder to the Hugging Face Hub.

    Args:
        save: function that writes the files into a folder with a given path.
        repository: str, `user/name`. It is made if there is none. A card that it has stays.
        private: bool. Whether a new one is private.

    Raises:
        ImportError: huggingface_hub is not installed.
        OSError: the files cannot be uploaded.
    """
    huggingface_hub = _import_hub(repository)
    api = huggingface_hub.HfApi()
    with tempfile.TemporaryDirectory() as parent:
        folder = os.path.join(parent, repository.rpartition("/")[2])
        save(folder)
        try:
            with raising_signals():
                api.create_repo(repository, private=private, exist_ok=True)
                has_card = api.file_exists(repository, CARD_FILE)
                api.upload_folder(
                    repo_id=repository,
                    folder_path=folder,
                    ignore_patterns=[CARD_FILE] if has_card else None,
                )
        except Exception as error:  # see `fetch_hub`
            raise OSError(
                f"{repository} cannot be uploaded: {printable(str(error))}. `hf auth login` says "
                "who you are."
            ) from None


def _import_hub(what):
    try:
        import huggingface_hub
    except ImportError:
        raise ImportError(
            f'{what} needs the package huggingface_hub: pip install "keras-elmo[hub]"'
        ) from None
    return huggingface_hub
