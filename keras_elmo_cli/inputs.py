"""What is typed stands for: models, records, layers, words and files; and what is reported."""

import glob
import importlib.metadata
import importlib.util
import os
import re
import sys

from keras_elmo_cli.options import MODELS


def check_files(options):
    """Raises the errors of what is typed that need no import of TensorFlow, which takes seconds."""
    parser, model = options.parser, getattr(options, "model", None) or ""
    typed = [getattr(options, name) or [] for name in parser.input_names]
    typed = [path for paths in typed for path in ([paths] if isinstance(paths, str) else paths)]
    for path in typed:
        if path != "-" and glob.escape(path) == path:  # and is not a pattern
            os.stat(path)  # Python's own error
    for name in filter(None, (model, getattr(options, "init", None))):
        is_known = os.path.exists(name) or "," in name or "://" in name or name in MODELS
        if not is_known and not importlib.metadata.entry_points(name=name):
            raise ValueError(
                f"There is no model {name}. It must be a folder, a file, an address (https://..., "
                f"hf://user/model) or one of the names: {', '.join(MODELS)}. Received: {name}"
            )
    if parser.output_name is not None:
        _check_output(options, [*typed, model, *model.split(",")])
    for module, name, extra in parser.libraries:
        if importlib.util.find_spec(module) is None:
            raise ImportError(f'{name} is needed: pip install "keras-elmo[{extra}]"')


def _check_output(options, inputs):
    output, suffixes = getattr(options, options.parser.output_name), options.parser.output_suffixes
    if not output.endswith(suffixes or ""):
        raise ValueError(
            f"The name of the output must end with {' or '.join(suffixes)}. Received: {output}"
        )
    folder = os.path.dirname(os.path.abspath(output))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{folder} must be an existing folder. Received: {output}")
    files = [file for path in inputs for file in (path, *glob.iglob(path)) if os.path.exists(file)]
    if output.endswith((".hdf5", ".h5")) and any(os.path.samefile(x, folder) for x in files):
        raise ValueError(
            "Vectors must not lie in a model's folder, where they could replace its weights. "
            f"Received: {output}"
        )
    if not os.path.isfile(output):
        return
    if any(os.path.samefile(file, output) for file in files):
        raise ValueError(f"The output must not be the input. Received: {output} for both")
    if not options.overwrite:
        raise FileExistsError(
            f"{output} exists already; give --overwrite to replace it, or name another file"
        )


def report(options, line):
    """Writes a line to standard error, unless `--quiet` is typed."""
    if not getattr(options, "quiet", False):
        print(line, file=sys.stderr, flush=True)


def pluralize(number, noun):
    """A number and what it counts: `pluralize(1, "sentence")` is "1 sentence"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def reading_bar(options, files):
    """A `ProgressBar` of the bytes of some files that are read."""
    from keras_elmo.process.progress import ProgressBar

    total = sum(map(os.path.getsize, files))
    return ProgressBar("reading", total, "B", not options.quiet, leave=False)


def chosen(options, *names):
    """The values of some options: a dict by their names."""
    return {name: getattr(options, name) for name in names}


def read_records(options, path, **kwargs):
    """The `Records` of a file, `*.gz` too, or of standard input (`-`), as the options say."""
    from keras_elmo.files.records import Fields, Records

    fields = Fields(options.field, getattr(options, "keep", ()), options.format)
    return Records([path], options.encoding, options.errors, fields, **kwargs)


def read_corpus(options, files):
    """The `Corpus` of text files."""
    from keras_elmo.training import Corpus

    return Corpus(files, **chosen(options, "encoding", "errors", "tokenizer"))


def model_source(name):
    """What `from_pretrained` takes for a model as it is typed: the name, or a pair of paths."""
    options, comma, weights = name.partition(",")
    # The comma may be within an address. Of a pair that begins with one, the other is one, too.
    is_one_address = "://" in options and "://" not in weights
    if not comma or is_one_address or os.path.exists(name):
        return name
    return options, weights


def load_elmo(options, **kwargs):
    """The `Elmo` that `--model` names. `kwargs` are those of `Elmo`."""
    from keras_elmo.models import Elmo

    return Elmo.from_pretrained(model_source(options.model), **typed_arguments(options) | kwargs)


def load_any_model(options, classes=None):
    """An `Elmo`, or the model of a *.keras file or a task, of one of some classes (`None`: any)."""
    import keras

    from keras_elmo import sources
    from keras_elmo.models import Elmo
    from keras_elmo.tasks.pretrained import load_task

    found, arguments = sources.find(model_source(options.model)), typed_arguments(options)
    if not found.is_task:
        return Elmo.from_pretrained(found, **arguments)
    model = load_task(found, *(classes or (keras.Model,)))
    elmo = model if isinstance(model, Elmo) else getattr(model, "elmo", None)
    for name, value in arguments.items():
        if not isinstance(elmo, Elmo):
            raise ValueError(
                f"With a model of Keras, `{name}` must not be given: the model has its own. "
                f"Received: {name}={value}"
            )
        setattr(elmo, name, value)
    return model


def typed_arguments(options):
    """The arguments of an `Elmo` that were typed: a dict."""
    typed = {name: getattr(options, name, None) for name in ("tokenizer", "matmul_dtype")}
    return {name: value for name, value in typed.items() if value is not None}


def typed_layers(typed):
    """The argument `layers` of `Elmo.embed` for what was typed: numbers are ints."""
    typed = typed.strip()
    return int(typed) if re.fullmatch(r"-?[0-9]+", typed) else typed


def layer_numbers(typed, config):
    """The numbers of the layers in `--layers`, from 0: a list. `None`: all but layer 0."""
    last = config.num_layers
    if typed is None:
        return list(range(1, last + 1))
    layers = [typed_layers(part) for part in typed.split(",")]
    if not all(layer in range(-last - 1, last + 1) for layer in layers):
        raise ValueError(
            f"`layers` must be numbers from {-last - 1} to {last} with commas between them. "
            f"Received: layers={typed}"
        )
    return list(dict.fromkeys(layer % (last + 1) for layer in layers))


def find_words(options, words):
    """The `Occurrences` of words in the text, the layers to show, and the senses (or `None`)."""
    from keras_elmo.analysis.occurrences import find_occurrences

    sentences, senses = _read_sentences_and_senses(options)
    elmo = load_elmo(options)
    layers = layer_numbers(options.layers, elmo.config)
    found = find_occurrences(
        elmo, sentences, words, options.ignore_case, options.limit, not options.quiet
    )
    labels = None if senses is None else [senses[number - 1] for number in found.line_numbers]
    return found, layers, labels


def _read_sentences_and_senses(options):
    """The sentences of a text or of a folder, and a sense for each of them or `None`."""
    from keras_elmo.files.labelled_files import read_gold, read_senses

    senses_file, decoding = getattr(options, "senses", None), (options.encoding, options.errors)
    if os.path.isdir(options.file):
        if senses_file or options.field:
            raise ValueError(
                "With --senses or --field, FILE must be a text file. Received: a folder"
            )
        sentences, _, senses = read_senses(options.file, "test", *decoding)
        prefix = os.path.basename(os.path.abspath(options.file)) + "_"
        # CoarseWSD-20's java_java_(programming_language), as people write it
        return sentences, [sense.removeprefix(prefix).replace("_", " ") for sense in senses]
    sentences = list(read_records(options, options.file))
    if not senses_file:
        return sentences, None
    return sentences, read_gold(senses_file, options.file, len(sentences), *decoding)
