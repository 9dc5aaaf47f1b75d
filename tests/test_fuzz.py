"""`fuzz/`: one case of every kind; what is well, a finding, an error, a crash, a hang."""

import importlib
import shlex
import sys

import pytest
from scripts import ROOT

sys.path.append(str(ROOT))  # at the end: an installed package comes before the checkout

from fuzz.case import KINDS  # noqa: E402
from fuzz.supervisor import main  # noqa: E402

# A seed for each kind, of a case that takes little time.
SEEDS = {"models": 1, "damage": 2, "crf": 2}
SLOW = {"forms": 1, "threads": 2, "kills": 6}  # the default tests check the same in one case


@pytest.fixture
def planted(monkeypatch, tmp_path):
    monkeypatch.setitem(KINDS, "planted", 3)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_findings_are_kept_and_repeated_by_their_seeds(planted, capsys):
    assert main(["--case", *(f"planted:{seed}" for seed in range(5))]) == 1
    out = capsys.readouterr().out
    for seed, what in enumerate(
        ["", "expected: no planted", "KeyError: 'planted'", "exit status -11", "an end within 3 s"]
    ):
        found = out.partition(f"FOUND planted:{seed},")[2].partition("\nFOUND ")[0]
        assert (seed > 0) == bool(found) and what in found
    assert "in run" in out.partition("FOUND planted:4")[2]  # where it hangs
    (kind,) = [line.split() for line in out.splitlines() if line.startswith("planted ")]
    assert (kind[1], kind[3]) == ("5", "4")
    (root,) = planted.iterdir()
    assert sorted(path.name for path in root.iterdir()) == [f"planted-{k}" for k in range(1, 5)]
    assert (root / "planted-3" / "file").exists()
    command = next(line for line in out.splitlines() if "--case planted:1" in line)
    assert main(shlex.split(command, comments=True)[2:]) == 1
    assert "expected: no planted finding" in capsys.readouterr().out


def test_a_run_ends_without_findings_or_after_three_alike(planted, capsys):
    assert main(["--minutes", "0.0001", "--seed", "5", "--kinds", "planted"]) == 0
    out = capsys.readouterr().out
    assert "from seed 5" in out and out.splitlines()[-1].split()[::3] == ["planted", "0"]
    assert list(planted.iterdir()) == []
    assert main(["--minutes", "5", "--seed", "10", "--kinds", "planted"]) == 1
    (kind,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("planted ")]
    assert kind.split()[1::2] == ["3", "3", "3"] and kind.endswith("ended: 3 alike")


def test_every_kind_has_a_case_here():
    assert {*SEEDS, *SLOW} == set(KINDS)


@pytest.mark.parametrize("kind", [*SEEDS, *(pytest.param(k, marks=pytest.mark.slow) for k in SLOW)])
def test_a_case_is_well(kind, tmp_path):
    folder = tmp_path / "case"
    folder.mkdir()
    importlib.import_module(f"fuzz.{kind}").run((SEEDS | SLOW)[kind], folder)


@pytest.mark.parametrize("arguments", [["--kinds", "no-kind"], ["--case", "no-kind:1"]])
def test_an_unknown_kind_is_an_error(capsys, arguments):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert "no-kind" in capsys.readouterr().err
