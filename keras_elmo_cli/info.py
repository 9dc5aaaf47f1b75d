"""Show a model's options, parameters and sizes.

Shows the options of a model, its parameters part by part, and its sizes.

    keras-elmo info tiny
    keras-elmo info my-elmo/options.json,my-elmo/weights.hdf5
"""

from keras_elmo_cli.inputs import model_source
from keras_elmo_cli.options import MODEL_HELP


def add_arguments(parser):
    parser.add_argument("model", metavar="MODEL", help=MODEL_HELP)


def run(options):
    from keras_elmo import sources

    config, weights = sources.find(model_source(options.model)).open()
    size = weights.num_bytes()
    weights.close()
    filters = ", ".join(f"{width}x{count}" for width, count in config.filters)
    projection = "" if config.has_projection else " (no projection)"
    rows = [
        ("LSTM layers", f"{config.num_layers} in each direction"),
        ("LSTM units", f"{config.units:,}"),
        ("projection", f"{config.projection_dim:,}{projection}"),
        ("output of a layer", f"{config.output_dim:,}"),
        ("skip connections", "yes" if config.use_skip_connections else "no"),
        ("clips", f"cell {config.cell_clip}, projection {config.projection_clip}"),
        ("characters", _characters(config)),
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
        (getattr(weights.kind, "NAME", "weight file"), f"{size / 1e6:,.1f} MB"),
    ]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}")


def _characters(config):
    """What the characters are, and whether there is a table of words."""
    if config.dictionary is None:
        return "bytes"
    has_words = config.num_words is not None
    words = f"{config.num_words:,} words of {config.word_dim}" if has_words else "no words"
    return f"code points, a dictionary of {config.num_characters:,}; {words}"
