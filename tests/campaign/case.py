"""The kinds of cases, and what the cases share."""

import pathlib
import shutil
from typing import NamedTuple

TESTS = pathlib.Path(__file__).resolve().parent.parent


class Kind(NamedTuple):
    """A kind of cases: the module of its function `run(seed, folder)`, and a case's seconds."""

    module: str
    seconds: int


KINDS = {
    "models": Kind("campaign.models", 300),
    "texts": Kind("campaign.texts", 120),
    "damage": Kind("campaign.damage", 180),
    "kills": Kind("campaign.kills", 600),
    "forms": Kind("campaign.forms", 400),
    "crf": Kind("campaign.crf", 120),
    "threads": Kind("campaign.threads", 300),
}


class Finding(Exception):
    """Something that is not as it must be: what was expected, and what came."""


def expect(is_so, expected, received):
    """Raises a `Finding` where something is not so."""
    if not is_so:
        raise Finding(f"expected: {expected}\nreceived: {received}")


def made_once(folder, name, make):
    """A folder that the cases of a campaign share; `make(folder)` fills it, always alike."""
    path = folder.parent / "shared" / name
    if not path.exists():
        new = path.with_name(f"{name}.new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        make(new)
        new.rename(path)
    return path
