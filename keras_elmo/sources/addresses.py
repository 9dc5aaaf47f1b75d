"""Models by address: `https://.../model.zip`, and `hf://user/model` of the Hugging Face Hub."""

import contextlib
import hashlib
import os
import re
import shutil
import tempfile

from keras_elmo.checks import check_library
from keras_elmo.files.atomic import replacing_file, sha256_of
from keras_elmo.process.signals import raising_signals
from keras_elmo.sources import names
from keras_elmo.sources.card import CARD_FILE, write_card
from keras_elmo.sources.download import RemoteFile, ensure_file, shown_address, without_secrets

HUB = "hf://"
# A repository may hold the weights of other libraries. A model's own files are these.
_HUB_FILES = ["*.json", "*.hdf5", "*.h5", "*.dic", "*.pkl", "checkpoint", "*.ckpt-*"]
_HUB_FILES += ["saved_model.pb", "variables/variables.*"]


def is_url(source):
    return isinstance(source, str) and source.startswith(("https://", "http://"))


def fetch_url(address, name, max_size, check):
    """The path in the cache of a file, `name`, which is downloaded if its SHA-256 is another.

    `check` gets the path of the download, and its address. After its error nothing is cached.
    """
    url, mark, fragment = address.partition("#")
    if mark and not re.fullmatch("sha256=[0-9a-fA-F]{64}", fragment):
        raise ValueError(
            "What follows # in the address of a model must be sha256= and 64 hexadecimal digits. "
            f"Received: {shown_address(url)}#..."
        )
    folder = hashlib.sha256(url.encode("utf-8")).hexdigest()[:32]
    path = os.path.join(names.cache_folder("addresses"), folder, name)
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

    ensure_file(RemoteFile(name, url, 1, max_size, wanted), path, check_and_record, is_damaged)
    return path


def fetch_hub(address, with_softmax=False):
    """The folder with the files of `hf://user/model` or `hf://user/model@revision`."""
    huggingface_hub = _import_hub(address)
    repository, _, revision = address.removeprefix(HUB).partition("@")
    revision = revision or "main"
    patterns = {
        "allow_patterns": _HUB_FILES + (["vocab*.txt"] if with_softmax else []),
        "ignore_patterns": None if with_softmax else ["*softmax*"],
    }
    try:
        with raising_signals():
            # No signal reaches the threads of `snapshot_download`, so it finds the files there.
            names = []
            with contextlib.suppress(Exception):
                info = huggingface_hub.HfApi().model_info(repository, revision=revision)
                names = [file.rfilename for file in info.siblings]
            for name in huggingface_hub.utils.filter_repo_objects(names, **patterns):
                huggingface_hub.hf_hub_download(repository, name, revision=info.sha)
            return huggingface_hub.snapshot_download(repository, revision=revision, **patterns)
    except Exception as error:  # its HTTP library and its checks of names have errors of their own
        raise OSError(f"{address} cannot be downloaded: {without_secrets(str(error))}") from None


def push_to_hub(model, repository, private):
    huggingface_hub = _import_hub(repository)
    try:  # before it becomes the name of a folder
        huggingface_hub.utils.validate_repo_id(repository)
    except ValueError as error:
        raise ValueError(f"A repository must be named user/name. Received: {error}") from None
    api = huggingface_hub.HfApi()
    with tempfile.TemporaryDirectory() as parent:
        folder = os.path.join(parent, repository.rpartition("/")[2])
        model.save_pretrained(folder)
        try:
            with raising_signals():
                repository = api.create_repo(repository, private=private, exist_ok=True).repo_id
                if api.file_exists(repository, CARD_FILE):
                    card = huggingface_hub.hf_hub_download(repository, CARD_FILE, cache_dir=parent)
                    shutil.copyfile(card, os.path.join(folder, CARD_FILE))
                write_card(folder, model, f"{HUB}{repository}")
                api.upload_folder(repo_id=repository, folder_path=folder)
        except Exception as error:  # see `fetch_hub`
            raise OSError(
                f"{repository} cannot be uploaded: {without_secrets(str(error))}. "
                "`hf auth login` says who you are."
            ) from None


def _import_hub(what):
    check_library("huggingface_hub", f"huggingface_hub, for {what},", "hub")
    import huggingface_hub.utils

    return huggingface_hub
