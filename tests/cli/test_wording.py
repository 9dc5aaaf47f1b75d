import dataclasses

import pytest

from keras_elmo.cli.wording import as_typed, counted, defaults_of


def test_defaults_of_functions_and_classes():
    def function(a, b=2, *, c="c"):
        pass

    @dataclasses.dataclass
    class Options:
        size: int
        rate: float | None = None

    assert defaults_of(function) == {"b": 2, "c": "c"}
    assert defaults_of(Options) == {"rate": None}


@pytest.mark.parametrize(
    "message, typed",
    [
        ("pass `overwrite=True` to replace it", "pass --overwrite to replace it"),
        ("`batch_size` must be 1. Received: batch_size=0", "--size must be 1. Received: --size 0"),
        ("pass `vocabulary`, a file", "pass --vocab, a file"),
        ("Make `batch_size` or `unroll_steps` smaller", "Make --size or `unroll_steps` smaller"),
        ("Received: layers='x', k=3; `k`", "Received: layers='x', k=3; `k`"),
    ],
)
def test_messages_name_options_as_they_are_typed(message, typed):
    options = {"overwrite": "--overwrite", "batch_size": "--size", "vocabulary": "--vocab"}
    assert as_typed(message, options) == typed


def test_numbers_of_things():
    assert [counted(n, "word") for n in (0, 1, 2000)] == ["0 words", "1 word", "2,000 words"]
