import os

import pytest

from keras_elmo.cli.quiet import quiet_import


def test_what_an_import_writes_is_kept_back(capfd):
    with quiet_import():
        os.write(2, b"noise of a library\n")
    os.write(2, b"an error\n")
    assert capfd.readouterr() == ("", "an error\n")


def test_failed_import_shows_what_it_wrote(capfd):
    with pytest.raises(ImportError, match="no such library"), quiet_import():
        os.write(2, b"the reason\n")
        raise ImportError("no such library")
    assert capfd.readouterr().err == "the reason\n"


def test_interrupted_import_shows_nothing(capfd):
    with pytest.raises(KeyboardInterrupt), quiet_import():
        os.write(2, b"noise of a library\n")
        raise KeyboardInterrupt
    os.write(2, b"interrupted\n")
    assert capfd.readouterr().err == "interrupted\n"


def test_no_file_stays_open():
    before = os.dup(2)
    for _ in range(3):
        with quiet_import():
            pass
    after = os.dup(2)
    os.close(before)
    os.close(after)
    assert after == before + 1
