"""`keras-elmo plot`: pictures."""

from keras_elmo.cli.plot import cosines, mix, probe, training, word
from keras_elmo.cli.subcommand import add_commands, add_subcommand

HELP = "draw vectors, mixes, probes and trainings"
DESCRIPTION = "Draws a picture: PNG, 800 pixels wide, or SVG."


def add_arguments(parser):
    commands = add_commands(parser, "PICTURE")
    for module in (word, cosines, mix, probe, training):
        add_subcommand(commands, module)
