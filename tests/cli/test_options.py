import argparse
import inspect
import shlex

import hypothesis
import hypothesis.strategies as st
import pytest
from scripts import load_script

from keras_elmo import ElmoConfig, export_saved_model, export_tflite, training
from keras_elmo.corpora import run, shards
from keras_elmo.export import saved_model
from keras_elmo.files import records
from keras_elmo.models import kernel_rounding
from keras_elmo.sources.names import GROUPS, PRESETS, all_names
from keras_elmo.text import whitespace_tokenizer
from keras_elmo.text.tokenizers import TOKENIZERS
from keras_elmo.tflite import export as tflite
from keras_elmo.training import optimizer, options
from keras_elmo_cli import options as typed
from keras_elmo_cli import train
from keras_elmo_cli.main import make_parser
from keras_elmo_cli.options import as_typed

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
            assert callable(options.run) and options.parser.prog in line
        progs.append(parser.prog)
    assert {"keras-elmo", "keras-elmo embed", "keras-elmo tag", "keras-elmo tag label"} < {*progs}
    assert len(progs) == len(set(progs)) == 1 + 15 + 3 + 3 + 2 + 4
    page = load_script("docs/hooks.py").command_line()
    assert all(f"## {prog}\n" in page for prog in progs) and "--shard-size N" in page


def test_one_thing_is_one_option():
    decoding = {"--encoding", "--errors"}
    reading = {"--field", "--format", *decoding}
    # Their arguments name models, pictures, and files that keras-elmo wrote.
    without_text = "convert,export,info,tflite,plot mix,plot probe".split(",")
    for parser in parsers(make_parser()):
        options = {option for action in parser._actions for option in action.option_strings}
        name = parser.prog.removeprefix("keras-elmo").strip()
        has_steps = any(isinstance(a, argparse._SubParsersAction) for a in parser._actions)
        expected = set() if has_steps or name in without_text else decoding
        assert reading & options in (expected, reading), parser.prog
        if name.startswith(("embed", "similar")) or name.endswith((" label", " train")):
            assert reading | {"-m"} <= options


def test_the_choices():
    assert [*typed.MODELS] == [*all_names(), *all_names(GROUPS[1])]
    assert typed.TOKENIZERS == tuple(TOKENIZERS)
    assert typed.FORMATS == records.FORMATS
    found = {
        f"{parser.prog.removeprefix('keras-elmo ')} {action.option_strings[-1]}": action
        for parser in parsers(make_parser())
        for action in parser._actions
        if action.option_strings
    }
    for name, choices in {
        "embed --matmul-dtype": kernel_rounding.MATMUL_DTYPES[1:],
        "embed-corpus --dtype": shards.DTYPES,
        "export --ops": whitespace_tokenizer.OPS,
        "export --storage": saved_model.STORAGE,
        "tflite --inputs": [name.replace("_", "-") for name in tflite.INPUTS],
        "tflite --quantize": ["float32", *tflite.QUANTIZATIONS[1:]],
        "train --optimizer": optimizer.OPTIMIZERS,
        "train --schedule": optimizer.SCHEDULES,
    }.items():
        assert [*found[name].choices] == [*choices]
    for name in optimizer.OPTIMIZERS:
        rate = optimizer.OPTIMIZERS[name].LEARNING_RATE
        assert f"{name}: {rate}" in found["train --learning-rate"].help
    sizes = f"{run.SHARD_SIZE}, or {run.POOLED_SHARD_SIZE} with --pooled"
    assert sizes in found["embed-corpus --shard-size"].help
    assert f"({options.NUM_NEGATIVES}, " in found["train --num-negatives"].help
    size = 4 * sum(ElmoConfig(**train.SMALL).num_parameters().values())
    assert size == PRESETS["small"].weights.min_size


@pytest.mark.parametrize(
    "command, function",
    [
        ("export m d", export_saved_model),
        ("tflite m f", export_tflite),
        ("vocabulary f -o v", training.build_vocabulary),
        ("evaluate m f", training.BiLanguageModel.evaluate),
        ("embed-corpus f -o v -m m", run.embed_files),
    ],
)
def test_the_defaults(command, function):
    typed = vars(make_parser().parse_args(command.split()))
    typed = {name: x.replace("-", "_") if name == "inputs" else x for name, x in typed.items()}
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.default is not parameter.empty and name in typed
    }
    given = {"layers", "quantize", "batch"}  # "all", "float32" and 1, in other words
    assert len(defaults) > 1
    for name in defaults.keys() - given:
        value = tuple(typed[name]) if isinstance(typed[name], list) else typed[name]
        assert value in (defaults[name], defaults[name] or None), name


def test_the_settings_of_a_training_are_arguments_of_the_library():
    model, settings = training.BiLanguageModel, train.SETTINGS
    for function in model.compile, model.fit:
        parameters = inspect.signature(function).parameters
        known = {name: parameters[name].default for name in parameters.keys() & settings.keys()}
        known.pop("optimizer", None)
        known.pop("epochs", None)
        assert len(known) > 2 and known == {name: settings[name][1] for name in known}
