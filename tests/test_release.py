"""The versions and the workflows of GitHub."""

import itertools
import os
import re
import subprocess

import pytest
import yaml
from scripts import ROOT

import keras_elmo

VERSION = keras_elmo.__version__


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


JOBS = {
    (path.stem, name): job
    for path in sorted((ROOT / ".github/workflows").glob("*.yml"))
    for name, job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].items()
}


def combinations(job):
    """What the matrix of a job stands for: a dict for each run of the job."""
    matrix = dict(job.get("strategy", {}).get("matrix", {}))
    include = matrix.pop("include", [])
    rows = itertools.product(*matrix.values())
    return [dict(zip(matrix, row, strict=True)) for row in rows] + include


def test_the_version_is_the_same_everywhere():
    for name, pattern in [
        ("lite/keras_elmo_lite/__init__.py", '__version__ = "(.+)"'),
        ("saved_models/biomedical/pyproject.toml", 'version = "(.+)"'),
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


@pytest.mark.parametrize(
    "tag, lite, accepted",
    [("v1.2.3", "1.2.3", True), ("v1.2.3", "1.2.2", False), ("v1.2.4", "1.2.3", False)],
)
def test_the_tag_must_be_the_version_of_all(tmp_path, tag, lite, accepted):
    versions = {"keras_elmo": "1.2.3", "keras_elmo_lite": lite, "keras_elmo_biomedical": "1.2.3"}
    for name, version in versions.items():
        path = tmp_path / f"dist/{name}/{name}-{version}.tar.gz"
        path.parent.mkdir(parents=True)
        path.touch()
    steps = JOBS["release", "build"]["steps"]
    (script,) = (step["run"] for step in steps if "tag" in step.get("name", ""))
    environment = {**os.environ, "GITHUB_REF_NAME": tag}
    result = subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, env=environment)
    assert (result.returncode == 0) is accepted


def test_the_licences_are_the_same():
    for folder in ("lite", "saved_models/biomedical"):
        assert read(f"{folder}/LICENSE") == read("LICENSE")
