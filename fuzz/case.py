"""The kinds of cases, and what the cases share."""

import pathlib
import shutil

FOLDER = pathlib.Path(__file__).resolve().parent

# A kind and the seconds that a case may take. The module fuzz.KIND has `run(seed, folder)`.
KINDS = {"models": 300, "damage": 180, "kills": 600, "forms": 400, "crf": 120, "threads": 300}


class Finding(Exception):
    """What was expected, and what came."""


def expect(is_so, expected, received):
    """Raises a `Finding` where something is not so."""
    if not is_so:
        raise Finding(f"expected: {expected!s:.2000}\nreceived: {received!s:.2000}")


def made_once(folder, name, make):
    """A folder that the cases of a run share; `make(folder)` fills it, always alike."""
    path = folder.parent / "shared" / name
    if not path.exists():
        new = path.with_name(f"{name}.new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        make(new)
        new.rename(path)
    return path
