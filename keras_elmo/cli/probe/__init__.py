"""`keras-elmo probe`: what each layer of a model knows."""

from keras_elmo.cli.probe import senses, tags
from keras_elmo.cli.subcommand import add_commands, add_subcommand

HELP = "measure what each layer of a model knows of tags or word senses"
DESCRIPTION = (
    "Probes the layers of a model: a simple classifier reads the vectors of each layer, and its "
    "score says how plainly they hold the information."
)


def add_arguments(parser):
    commands = add_commands(parser, "TASK")
    for module in (tags, senses):
        add_subcommand(commands, module)
