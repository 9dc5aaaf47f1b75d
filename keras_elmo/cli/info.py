"""`keras-elmo info`: what a model is made of."""

from keras_elmo.cli import model
from keras_elmo.quiet import hide_tensorflow_log

HELP = "show a model's options, parameters and sizes"
DESCRIPTION = "Shows the options of a model, its parameters part by part, and its sizes."


def add_arguments(parser):
    parser.add_argument("model", metavar="MODEL", help=model.MODEL)


def run(options):
    import contextlib
    import os
    import sys

    from keras_elmo.weights import presets
    from keras_elmo.weights.sources import open_source

    if options.model in presets.PRESETS and not os.path.exists(options.model):
        with hide_tensorflow_log():
            import keras  # noqa: F401, to download with

    # A download tells of its progress on standard output.
    with contextlib.redirect_stdout(sys.stderr), open_source(options.model) as (config, weights):
        if hasattr(weights, "getbuffer"):
            size = weights.getbuffer().nbytes
        else:
            size = os.path.getsize(weights)
    filters = ", ".join(f"{width}x{count}" for width, count in config.filters)
    projection = "" if config.has_projection else " (no projection)"
    rows = [
        ("LSTM layers", f"{config.num_layers} in each direction"),
        ("LSTM units", f"{config.units:,}"),
        ("projection", f"{config.projection_dim:,}{projection}"),
        ("output of a layer", f"{config.output_dim:,}"),
        ("skip connections", "yes" if config.use_skip_connections else "no"),
        ("clips", f"cell {config.cell_clip}, projection {config.projection_clip}"),
        ("characters of a word", f"{config.max_characters}"),
        ("character embedding", f"{config.character_dim}"),
        ("filters (width x count)", f"{filters}; {config.activation}"),
        ("highway layers", f"{config.num_highway}"),
    ]
    parameters = config.num_parameters()
    total = sum(parameters.values())
    rows += [(f"parameters: {part}", f"{count:>13,}") for part, count in parameters.items()]
    rows += [
        ("parameters: all", f"{total:>13,}"),
        ("memory as float32", f"{4 * total / 1e6:,.1f} MB"),
        ("weight file", f"{size / 1e6:,.1f} MB"),
    ]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}")
