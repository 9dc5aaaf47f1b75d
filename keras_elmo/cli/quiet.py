"""Imports TensorFlow without what its libraries write to standard error as they load."""

import contextlib
import os
import sys
import tempfile


@contextlib.contextmanager
def quiet_import():
    """Keeps standard error, also that of C++, back; shows it after all if an import fails."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 2)
        try:
            yield
        except Exception:
            log.seek(0)
            os.write(kept, log.read())
            raise
        finally:
            sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)
