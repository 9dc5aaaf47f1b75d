"""`python tests/campaign`: see `supervisor.py`."""

import pathlib
import sys

sys.path.pop(0)  # this folder, whose `models` is not that of the tests
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from campaign.supervisor import main

if __name__ == "__main__":
    sys.exit(main())
