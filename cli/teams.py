"""Verbs over several ranks, started here (--ranks, --gpus) or by mpiexec and srun; the computation they need."""

import contextlib
import os
import sys
import time
import zipfile
from pathlib import Path

import click

from gpukit import interrupt
from gpukit.cli import report, standard
from gpukit.cli.options import AUTO
from gpukit.device import gpu_count
from gpukit.errors import ParameterError
from gpukit.io import sinks
from gpukit.io.sources import STANDARD_INPUT
from gpukit.parallel import dask_cluster
from gpukit.parallel.current_team import check_same_files, join_team
from gpukit.parallel.launch import (
    choose_gpu_count,
    factorization_seconds,
    launch,
    make_rank_settings,
    pass_seconds,
)
from gpukit.parallel.rendezvous import UnreachableError
from gpukit.runtime.launcher_env import PARENT_VARIABLE, REPORT_SECONDS, launched_ranks

hushed = []  # not empty once this process discards its output
GIVEN = "/dev/fd/", "/proc/self/fd/"  # descriptors, which differ or are missing in other ranks
READ = (  # options that name input files, in addition to all arguments
    *("edges", "tensor", "coordinates", "distances", "validation", "test", "given"),
    *("without", "only", "categories", "titles"),
)
PACKED = (".gz", ".bz2", ".xz", ".zip", ".zst")
A_RATING = {".gkr": 12, ".npz": 12, ".parquet": 5, "packed": 5, "text": 20}  # bytes of a typical file
A_FEATURE = {".gkl": 4, ".npz": 4, ".parquet": 4, "packed": 2.5, "text": 10}
A_NUMBER = {".npz": 8, ".npy": 8, ".parquet": 4, "packed": 2.5, "text": 7}


@contextlib.contextmanager
def run_as_team(ask, sources=(), seconds=lambda: None):
    """Yield the parallel.Team of this process.

    With --ranks, --gpus or --dask, this process starts the ranks, waits, and exits with their code. sources: the files
    that every rank opens; seconds(): on one GPU, for auto.
    """
    ctx = click.get_current_context()
    if ask.ranks and ask.gpus:
        raise ParameterError("--ranks and --gpus exclude each other: processes on the CPU, or on GPUs.")
    by_others = PARENT_VARIABLE not in os.environ
    if by_others and (address := getattr(ask, "dask", None)):
        ctx.exit(run_on_dask(ctx, ask, address, sources))
    wanted = choose_team_size(ask, seconds) if by_others and launched_ranks()[0] == 1 else 1
    if wanted > 1:
        check_sources(sources)
        settings = make_rank_settings(wanted, bool(ask.gpus))
        ctx.exit(launch(ctx.find_root().meta["gpukit.arguments"], wanted, settings))
    with contextlib.ExitStack() as left:
        errors = hush() if launched_ranks()[1] else None
        by_mpi = "GPUKIT_RANKS" not in os.environ
        try:
            # MPI's start cannot be interrupted on one rank alone; a rendezvous reports the request itself.
            with interrupt.defer() if by_mpi else contextlib.nullcontext():
                team = left.enter_context(join_team(errors))
        except UnreachableError as error:
            if errors is not None:
                os.write(errors, f"Error: {error}\n".encode())
            raise
        if by_others and team.size > 1:
            check_launched_once(ask)
            check_standard_input(ctx)
            check_sources(sources)
        if team.size > 1:
            check_same_files(team, sources)
        yield team


def run_on_dask(ctx, ask, address, sources):
    """Run the command on the workers of a Dask cluster, print what rank 0 prints, and return its exit code."""
    if ask.ranks or ask.gpus or launched_ranks()[0] > 1:
        raise ParameterError("--dask starts a rank per worker: leave --ranks and --gpus out, and start it by itself.")
    check_standard_input(ctx, "Dask workers do not read the standard input of this process")
    check_sources(sources)
    code, out, errors = dask_cluster.run_command(address, ctx.find_root().meta["gpukit.arguments"])
    sys.stderr.write(errors)
    sys.stdout.write(out)
    return code


def choose_team_size(ask, seconds):
    """Return the number of ranks of --ranks or --gpus.

    The choice of auto is printed.
    """
    if ask.gpus != AUTO:
        return ask.gpus or ask.ranks or 1
    if ask.device in ("auto", "cuda"):
        count = gpu_count()
        size, why = choose_gpu_count(seconds() if count > 1 else None, count)
    else:
        size, why = 1, f"--device {ask.device} names one place"
    report.remark(f"--gpus auto: {f'{size} GPUs' if size > 1 else 'one process'} ({why}).", ask.silent)
    return size


def check_launched_once(ask):
    """Raise ParameterError on all ranks if both mpiexec and an option start ranks."""
    count = ask.ranks or ask.gpus
    if count not in (None, 1, AUTO):
        name = "--ranks" if ask.ranks else "--gpus"
        raise ParameterError(f"mpiexec or srun has started the ranks: leave {name} {count}, which starts some, out.")


def let_first_speak():
    """Delay an error message of a later rank of mpiexec.

    The first rank prints the same error and exits, and mpiexec then ends all. Other processes return at once.
    """
    if launched_ranks()[1] and not hushed and PARENT_VARIABLE not in os.environ:
        time.sleep(REPORT_SECONDS)


def hush():
    """Discard output; return a descriptor of standard error.

    The first rank reports for all.
    """
    hushed.append(True)
    before = os.dup(2)
    standard.discard(1, 2)
    return before


def check_standard_input(ctx, reason="mpiexec does not hand standard input on reliably"):
    """Raise ParameterError for standard input if other programs started the ranks.

    Under Open MPI it does not end after a rank has read all, and may contain additional data.
    """
    for parameter in filter(is_read, ctx.command.params):
        value = ctx.params.get(parameter.name)
        for name in value if isinstance(value, tuple) else (value,):
            if name in STANDARD_INPUT:
                raise ParameterError(f"{reason} ({name}). Give a file, or use --ranks or --gpus, which read a pipe.")


def is_read(parameter):
    """Return True if a parameter names an input file."""
    return isinstance(parameter, click.Argument) or parameter.name in READ


def check_sources(sources):
    """Raise ParameterError for a file that can be read only once."""
    for source in sources:
        if str(source) in STANDARD_INPUT or str(source).startswith(GIVEN) or sinks.is_stream(source):
            raise ParameterError(f"Several ranks each read {source}, which can be read once. Give them a file.")


def entries(paths, each):
    """Estimate the number of entries in files or folders; None for a pipe.

    each: bytes per entry by suffix.
    """
    total = 0.0
    for path in map(Path, paths):
        if sinks.is_stream(path):
            return None
        files = [path] if path.is_file() else path.rglob("*")
        total += sum(size(file) / each[kind(file, each)] for file in files if file.is_file())
    return total


def kind(file, each):
    """Return the key of `each` for a file."""
    suffix = file.suffix.lower()
    return suffix if suffix in each else "packed" if suffix in PACKED else "text"


def size(file):
    """Return the bytes of a file, or of the largest array in an archive."""
    with contextlib.suppress(zipfile.BadZipFile, NotImplementedError, ValueError):  # reading reports these errors
        if file.suffix.lower() == ".npz":
            with zipfile.ZipFile(file) as archive:
                return max(member.file_size for member in archive.infolist())
    return file.stat().st_size


def seconds_of_ratings(path, estimator):
    """Return the seconds of a training on a file on one GPU.

    None if they are unknown or ranks are not supported.
    """
    from gpukit.factorization.shared.training import check_parameters

    settings, count = estimator.check(), entries([path], A_RATING)
    with contextlib.suppress(ParameterError):
        check_parameters(estimator, settings, on_gpus=True)
        if count is not None and settings.solver == "sgd":
            return factorization_seconds(count, settings.epochs, settings.n_factors, settings.n_neighbors)
    return None


def seconds_of_documents(paths, grid):
    """Return the seconds of RankSVMs on training files on one GPU.

    They include all weights of a grid (None: one weight).
    """
    values, products = entries(paths, A_FEATURE), 20  # with the Hessian, of a training
    return None if values is None else pass_seconds("features", values, products * len(grid or [1]))


def seconds_of_tensor(path, method, steps):
    """Return the seconds of an imputation on one GPU; None if it is not distributed."""
    numbers = entries([path], A_NUMBER) if method in ("auto", "spectral") else None
    return None if numbers is None else pass_seconds("tensor", numbers, steps)
