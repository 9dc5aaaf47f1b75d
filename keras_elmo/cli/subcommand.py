"""Adds a subcommand to the parser of its command."""


def add_subcommand(commands, module):
    """Adds the subcommand that a module describes.

    Args:
        commands: what `ArgumentParser.add_subparsers` gives.
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
