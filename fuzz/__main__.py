"""`python fuzz`: see `supervisor.py`."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT / "tests")  # and not this folder, whose `models` is not that of the tests
sys.path.append(str(ROOT))  # at the end: an installed package comes before the checkout

from fuzz.supervisor import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
