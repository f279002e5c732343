"""Completion of command lines in bash, zsh and fish: click's, with names of files."""

import click
from click.shell_completion import CompletionItem, shell_complete

from gpukit.cli.main import COMPLETING

FILES = ("FILE", "MODEL", "IDS")  # metavars of options that may name a file


def complete(group, instruction):
    """Print the script of a shell or the completions of a command line; return an exit code.

    instruction: bash_source, bash_complete, and the same of zsh and fish.
    """
    return shell_complete(group, {}, "gpukit", COMPLETING, instruction)


def verb_items(verbs, incomplete):
    """Return the verbs of a table that begin so, with their help lines."""
    return [CompletionItem(name, help=line) for name, (line, _) in verbs.items() if name.startswith(incomplete)]


def name_files(command):
    """Let parameters of a command (None: an unknown one) that take the name of a file be completed as such."""
    for parameter in command.params if command else ():
        names_file = isinstance(parameter, click.Argument) or parameter.metavar in FILES
        if names_file and parameter.type is click.STRING:
            parameter.type = click.Path(readable=False)  # completed as the name of a file, and not checked
    for below in command.commands.values() if isinstance(command, click.Group) else ():
        name_files(below)
