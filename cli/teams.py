"""Verbs that ranks share: started here (--ranks, --gpus), or by mpiexec and srun."""

import os

import click

from gpukit.errors import ParameterError
from gpukit.io import sinks
from gpukit.io.sources import STANDARD_INPUT
from gpukit.parallel.devices import settings_of_ranks
from gpukit.parallel.joined import VARIABLE, check_alike, check_files, joined, told
from gpukit.parallel.launch import launch

READ = ("edges", "tensor", "coordinates", "distances", "validation", "test", "given")  # options, beside all arguments


def run_as_team(ctx, ask, sources=()):
    """The parallel.Team of this process. Where --ranks or --gpus asks for several, this process starts them, waits, and
    leaves by their exit code. sources: the files that every rank opens for itself."""
    if ask.ranks and ask.gpus:
        raise ParameterError("--ranks and --gpus exclude each other: processes on the CPU, or on GPUs.")
    wanted = ask.ranks or ask.gpus or 1
    if wanted > 1 and VARIABLE not in os.environ:
        check_sources(sources)
        ctx.exit(started(ctx, wanted, bool(ask.gpus)))
    by_others = VARIABLE not in os.environ
    team = joined(hush() if by_others and told()[1] else None)
    if team.rank:
        hush()
    if by_others and team.size > 1:
        check_alike(team)
        check_files(team, sources)
        check_standard_input(ctx)
    return team


def hush():
    """Say nothing from now on: the first rank tells for all. A descriptor of what was standard error."""
    before, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)
    return before


def started(ctx, size, gpus):
    """The exit code of ranks that run the same command line."""
    return launch(ctx.find_root().meta["gpukit.arguments"], size, settings_of_ranks(size, gpus))


def check_standard_input(ctx):
    """ParameterError for data on standard input where mpiexec has started the ranks: Open MPI's does not end once a
    rank has read all of it, and may hand on more than there was."""
    for parameter in ctx.command.params:
        if ctx.params.get(parameter.name) in STANDARD_INPUT and is_read(parameter):
            raise ParameterError(
                f"mpiexec does not hand standard input ({ctx.params[parameter.name]}) on reliably. Give a file, or "
                "start the ranks by --ranks or --gpus, which read a pipe."
            )


def is_read(parameter):
    """Whether a parameter of a command names a file that is read."""
    return isinstance(parameter, click.Argument) or parameter.name in READ


def check_sources(sources):
    """ParameterError for a file that can be read only once."""
    for source in sources:
        if sinks.is_stream(source):
            raise ParameterError(f"Several ranks each read {source}, which can be read once. Give them a file.")
