"""The versions, the workflows of GitHub, and what a release builds."""

import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest
import yaml

import keras_elmo

ROOT = pathlib.Path(__file__).resolve().parent.parent
VERSION = keras_elmo.__version__


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


JOBS = {
    (path.stem, name): job
    for path in sorted((ROOT / ".github/workflows").glob("*.yml"))
    for name, job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].items()
}
BUILD_STEPS = [step for step in JOBS["release", "build"]["steps"] if "run" in step]


def combinations(job):
    """What the matrix of a job stands for: a dict for each run of the job."""
    matrix = dict(job.get("strategy", {}).get("matrix", {}))
    include = matrix.pop("include", [])
    rows = itertools.product(*matrix.values())
    return [dict(zip(matrix, row, strict=True)) for row in rows] + include


def test_the_version_is_the_same_everywhere():
    for name, pattern in [
        ("lite/keras_elmo_lite/__init__.py", '__version__ = "(.+)"'),
        ("CITATION.cff", r"(?m)^version: (\S+)"),
        ("CHANGELOG.md", r"(?m)^## (\S+)"),
    ]:
        assert re.search(pattern, read(name))[1] == VERSION, name


def test_the_workflows_run_the_python_versions_that_are_declared():
    declared = re.findall('"Programming Language :: Python :: (3[.].+)"', read("pyproject.toml"))
    assert f'requires-python = ">={declared[0]}"' in read("pyproject.toml")
    for page in ("README.md", "docs/tutorial.md"):
        assert f"Python {declared[0]} to {declared[-1]}" in read(page)
    runs = combinations(JOBS["tests", "test"])
    linux = [run for run in runs if (run["os"], run["target"]) == ("ubuntu-latest", "test")]
    assert [run["python"] for run in linux] == declared
    steps = [step for job in JOBS.values() for step in job.get("steps", [])]
    setups = [step["with"] for step in steps if "setup-python" in step.get("uses", "")]
    others = {run["python"] for run in runs} | {setup["python-version"] for setup in setups}
    assert others - {"${{ matrix.python }}"} <= set(declared)


def test_the_targets_of_make_exist():
    (targets,) = re.findall(r"^\.PHONY: (.+)$", read("Makefile"), re.MULTILINE)
    used = {
        re.sub(r"\$\{\{ matrix\.(\w+) \}\}", lambda match, run=run: run[match[1]], target)
        for job in JOBS.values()
        for step in job.get("steps", [])
        for target in re.findall(r"\bmake (\$\{\{.+?\}\}|\S+)", step.get("run", ""))
        for run in combinations(job)
    }
    assert {"test", "docs"} <= used <= set(targets.split())


def run_step(step, folder, tag):
    path = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-e", "-c", step["run"]],
        cwd=folder,
        env={**os.environ, "PATH": path, "GITHUB_REF_NAME": tag},
        timeout=600,
    )


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the repository in which the job `build` of release.yml has run."""
    tree = tmp_path_factory.mktemp("release") / "tree"
    leftovers = ("*.egg-info", "__pycache__", "build", "dist")
    for folder in ("keras_elmo", "lite", "tests"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns(*leftovers))
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    for package in (tree / "build/lib/keras_elmo", tree / "lite/build/lib/keras_elmo_lite"):
        package.mkdir(parents=True)
        (package / "gone.py").write_text("# of an earlier build\n")
    _, *steps = BUILD_STEPS
    for step in steps:  # without the first one, which installs the tools
        assert run_step(step, tree, f"v{VERSION}").returncode == 0, step["name"]
    return tree


@pytest.mark.slow
@pytest.mark.parametrize(
    "project, folder, others",
    [("keras-elmo", ".", {"MANIFEST.in", "setup.py"}), ("keras-elmo-lite", "lite", set())],
)
def test_a_release_holds_the_package_and_its_licence(tree, project, folder, others):
    package = project.replace("-", "_")
    release = f"{package}-{VERSION}"
    files = tree / "dist" / project
    wheel_name = f"{release}-py3-none-any.whl"
    assert {file.name for file in files.iterdir()} == {f"{release}.tar.gz", wheel_name}

    found = (tree / folder / package).rglob("*")
    sources = {file.relative_to(tree / folder).as_posix() for file in found if file.is_file()}
    with zipfile.ZipFile(files / wheel_name) as wheel:
        names = set(wheel.namelist())
    info = {name for name in names if name.startswith(f"{release}.dist-info/")}
    assert names - info == sources
    assert f"{release}.dist-info/licenses/LICENSE" in info

    with tarfile.open(files / f"{release}.tar.gz") as archive:
        parts = [pathlib.PurePosixPath(name).parts[1:] for name in archive.getnames()]
    metadata = {"PKG-INFO", "setup.cfg", f"{package}.egg-info"}
    expected = {"LICENSE", "README.md", "pyproject.toml", package} | metadata | others
    assert {part[0] for part in parts if part} == expected


@pytest.mark.parametrize(
    "tag, lite, accepted",
    [("v1.2.3", "1.2.3", True), ("v1.2.3", "1.2.2", False), ("v1.2.4", "1.2.3", False)],
)
def test_the_tag_must_be_the_version_of_both(tmp_path, tag, lite, accepted):
    for name in ("keras-elmo/keras_elmo-1.2.3", f"keras-elmo-lite/keras_elmo_lite-{lite}"):
        path = tmp_path / f"dist/{name}.tar.gz"
        path.parent.mkdir(parents=True)
        path.touch()
    assert (run_step(BUILD_STEPS[-1], tmp_path, tag).returncode == 0) is accepted


def test_the_licences_are_the_same():
    assert read("lite/LICENSE") == read("LICENSE")
