"""What the parsers know without the library is what the library says."""

import dataclasses
import inspect

import pytest

from keras_elmo import ElmoConfig, export_saved_model, export_tflite, training
from keras_elmo.corpora import run, shards
from keras_elmo.export import saved_model
from keras_elmo.files import labelled_files, records
from keras_elmo.models import kernel_rounding
from keras_elmo.text import whitespace_tokenizer
from keras_elmo.text.tokenizers import TOKENIZERS
from keras_elmo.tflite import export as tflite
from keras_elmo.training import optimizer, options
from keras_elmo.weights.presets import PRESETS
from keras_elmo_cli import choices, train
from keras_elmo_cli.main import make_parser


def test_the_choices():
    assert choices.TOKENIZERS == tuple(TOKENIZERS)
    assert (None, *choices.MATMUL_DTYPES) == kernel_rounding.MATMUL_DTYPES
    assert choices.FORMATS == records.FORMATS
    assert choices.TAG_COLUMNS == tuple(labelled_files.TAG_COLUMNS)
    assert choices.VECTOR_DTYPES == tuple(shards.DTYPES)
    assert choices.SHARD_SIZE == run.SHARD_SIZE
    assert choices.POOLED_SHARD_SIZE == run.POOLED_SHARD_SIZE
    assert choices.OPS == whitespace_tokenizer.OPS and choices.STORAGE == saved_model.STORAGE
    assert choices.INPUTS == tflite.INPUTS
    assert choices.QUANTIZATIONS == tuple(name or "float32" for name in tflite.QUANTIZATIONS)
    assert choices.OPTIMIZERS.keys() == optimizer.OPTIMIZERS.keys()
    for name, rate in choices.OPTIMIZERS.items():
        assert training.TrainingOptions(optimizer=name).learning_rate == rate
    assert choices.SCHEDULES == options.SCHEDULES and choices.DTYPES == options.DTYPES
    assert choices.NUM_NEGATIVES == options.NUM_NEGATIVES
    size = 4 * sum(ElmoConfig(**train.SMALL).num_parameters().values())
    assert size == PRESETS["small"].weights.min_size


@pytest.mark.parametrize(
    "command, function",
    [
        ("export m d", export_saved_model),
        ("tflite m f", export_tflite),
        ("vocabulary f -o v", training.build_vocabulary),
        ("evaluate m f", training.evaluate),
        ("train --train f -o m", training.Trainer),
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


def test_the_options_of_a_training():
    fields = {field.name: field.default for field in dataclasses.fields(training.TrainingOptions)}
    del fields["matmul_dtype"]
    assert {name: default for name, (_, default, _) in train.TRAINING_OPTIONS.items()} == fields
