"""Adds subcommands to the parser of their command."""


def add_commands(parser, metavar):
    """Makes a command take subcommands; without one, it shows its help, which lists them.

    Args:
        parser: the parser of a command.
        metavar: string. What the help calls the subcommands.
    """
    parser.set_defaults(run=lambda _: parser.exit(2, parser.format_help()))
    return parser.add_subparsers(metavar=metavar)


def add_subcommand(commands, module):
    """Adds the subcommand that a module describes.

    Args:
        commands: what `add_commands` gives.
        module: a module with `HELP`, `DESCRIPTION`, `add_arguments(parser)` and `run(options)`; it
            has the subcommand's name, with `_` for `-`. One whose `add_arguments` adds
            subcommands of its own has no `run`.
    """
    name = module.__name__.rpartition(".")[2].replace("_", "-")
    command = commands.add_parser(name, help=module.HELP, description=module.DESCRIPTION)
    module.add_arguments(command)
    if hasattr(module, "run"):
        typed = {x.dest: x.option_strings[-1] for x in command._actions if x.option_strings}
        command.set_defaults(run=module.run, typed=typed, prog=command.prog)
