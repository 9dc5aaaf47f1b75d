"""What the installed distribution holds and declares."""

import importlib.metadata
import os
import pathlib
import re

import pytest

import keras_elmo

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = {"keras_elmo", "keras_elmo_cli"}


@pytest.fixture(scope="module")
def distribution():
    if ROOT in pathlib.Path(keras_elmo.__file__).resolve().parents:
        if "site-packages" not in keras_elmo.__file__:
            if os.environ.get("CI"):
                pytest.fail("CI must test the installed wheel, and the checkout is imported")
            pytest.skip("the checkout itself is imported; install the wheel to test it")
    try:
        return importlib.metadata.distribution("keras-elmo")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the distribution keras-elmo is not installed")


def test_wheel_holds_every_file_of_the_package_and_no_other(distribution):
    in_checkout = {
        path.relative_to(ROOT).as_posix()
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith(".")
    }
    assert "keras_elmo_cli/main.py" in in_checkout
    installed = {
        file.as_posix()
        for file in distribution.files
        if file.parts[0] != ".." and "__pycache__" not in file.parts
    }
    assert {name for name in installed if ".dist-info/" not in name} == in_checkout


def test_version_is_that_of_the_package(distribution):
    assert distribution.version == keras_elmo.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", keras_elmo.__version__)


def test_description_has_no_link_that_leads_nowhere(distribution):
    text = distribution.metadata.get_payload()
    assert text.startswith("# keras_elmo") and "## Beside the others" in text
    assert "](https://" in text and not re.search(r"\]\((?!https://)|!\[|<!--", text)


def test_five_libraries_are_needed_and_a_few_small_ones(distribution):
    needed = [name for name in distribution.requires if "extra ==" not in name]
    large = {"tensorflow", "tensorflow-text", "keras", "numpy", "h5py"}
    small = {"tqdm", "requests", "filelock"}
    assert {re.match(r"[\w.-]+", name).group() for name in needed} == large | small


def test_command_is_declared(distribution):
    (command,) = distribution.entry_points.select(group="console_scripts")
    assert (command.name, command.value) == ("keras-elmo", "keras_elmo_cli.main:main")
    from keras_elmo_cli.main import main

    assert command.load() is main
