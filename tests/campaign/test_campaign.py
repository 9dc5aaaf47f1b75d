"""The campaign itself: what is well, a finding, an error, a crash, a hang; and one real case."""

import shlex

import pytest
from campaign.case import KINDS
from campaign.supervisor import main


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


def test_a_real_case_is_well_and_leaves_nothing(planted, capsys):
    assert main(["--minutes", "0.0001", "--seed", "5", "--kinds", "crf"]) == 0
    out = capsys.readouterr().out
    assert "from seed 5" in out and out.splitlines()[-1].split()[::3] == ["crf", "0"]
    assert list(planted.iterdir()) == []


@pytest.mark.parametrize("arguments", [["--kinds", "no-kind"], ["--case", "no-kind:1"]])
def test_an_unknown_kind_is_an_error(arguments, capsys):
    with pytest.raises(SystemExit) as error:
        main(arguments)
    assert error.value.code == 2 and "no-kind" in capsys.readouterr().err
