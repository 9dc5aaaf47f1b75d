"""`python -m keras_elmo`: the command line."""

import sys

from keras_elmo_cli.main import main

sys.exit(main())
