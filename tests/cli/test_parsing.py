import argparse
import shlex

import hypothesis
import hypothesis.strategies as st
import pytest
from scripts import load_script

from keras_elmo_cli.main import make_parser
from keras_elmo_cli.parsing import as_typed

OPTIONS = {
    "overwrite": "--overwrite",
    "batch_size": "--size",
    "vocabulary": "--vocab",
    "seed": "--seed",
    "dropout": "--dropout",
    "encoding": "--encoding",
    "errors": "--errors",
}


@pytest.mark.parametrize(
    "message, typed",
    [
        ("pass `overwrite=True` to replace it", "pass --overwrite to replace it"),
        ("`batch_size` must be 1. Received: batch_size=0", "--size must be 1. Received: --size 0"),
        ("pass `vocabulary`, a file", "pass --vocab, a file"),
        ("Make `batch_size` or `unroll_steps` smaller", "Make --size or `unroll_steps` smaller"),
        ("Received: layers='x', k=3; `k`", "Received: layers='x', k=3; `k`"),
        ('pass `overwrite="x"`, (`overwrite`)', 'pass --overwrite "x", (--overwrite)'),
        ("No `vocabulary` in batch_size=1. Received: batch_size=1", None),
        ("/`overwrite` and `overwrite`/a and a`overwrite`", None),
    ],
)
def test_messages_name_options_as_they_are_typed(message, typed):
    assert as_typed(message, OPTIONS) == (typed or message.replace("`vocabulary`", "--vocab"))


# Messages of the library, and how the command line shows them. {} is a path.
SAME = ("Received: {} and {}, which are one file", "No such file or directory: '{}'")
MESSAGES = {
    **dict(zip(SAME, SAME, strict=True)),
    "{}, line 3, is not text; name `encoding` or `errors=replace`": (
        "{}, line 3, is not text; name --encoding or --errors replace"
    ),
    "`seed` must be at least 0. Received: seed=-1, in {}": (
        "--seed must be at least 0. Received: --seed -1, in {}"
    ),
}
PARTS = st.tuples(st.sampled_from([*OPTIONS, "x"]), st.text("ab1=,;.- `", min_size=1, max_size=4))
PATHS = st.lists(PARTS.map("=".join), min_size=1, max_size=3).map("/".join)


@pytest.mark.parametrize("message", MESSAGES)
@hypothesis.settings(deadline=None)
@hypothesis.given(path=PATHS)
def test_a_path_with_names_of_options_is_not_changed(message, path):
    assert as_typed(message.replace("{}", path), OPTIONS) == MESSAGES[message].replace("{}", path)


def parsers(parser):
    """A parser, and those of its subcommands and their steps."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from parsers(command)


def test_every_help_ends_with_two_examples_that_can_be_typed(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    main_parser, progs = make_parser(), []
    for parser in parsers(main_parser):
        *_, title, first, second = parser.format_help().splitlines()
        assert title == "examples:"
        for line in (first, second):
            assert line.startswith(f"  {parser.prog} ") and len(line) <= 80
            options = main_parser.parse_args(shlex.split(line)[1:])
            assert callable(options.run) and options.prog in line
        progs.append(parser.prog)
    assert {"keras-elmo", "keras-elmo embed", "keras-elmo tag", "keras-elmo tag label"} < {*progs}
    assert len(progs) == len(set(progs)) == 1 + 15 + 2 + 2 + 2 + 5
    page = load_script("docs/hooks.py").command_line()
    assert all(f"## {prog}\n" in page for prog in progs) and "--shard-size N" in page


def test_one_thing_is_one_option():
    decoding = {"--encoding", "--errors"}
    reading = {"--field", "--format", *decoding}
    # Their arguments name models, pictures, and files that keras-elmo wrote.
    without_text = "convert,export,info,tflite,plot mix,plot probe,plot training".split(",")
    for parser in parsers(make_parser()):
        options = {option for action in parser._actions for option in action.option_strings}
        name = parser.prog.removeprefix("keras-elmo").strip()
        has_steps = any(isinstance(a, argparse._SubParsersAction) for a in parser._actions)
        expected = set() if has_steps or name in without_text else decoding
        assert reading & options in (expected, reading), parser.prog
        if name.startswith(("embed", "similar")) or name.endswith((" label", " train")):
            assert reading | {"-m"} <= options
