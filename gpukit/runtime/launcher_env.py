"""Number of ranks and own rank, from the environment variables of gpukit's rendezvous, mpiexec and srun."""

import os

from gpukit.errors import ParameterError

RANK_VARIABLES = {  # {variable of the number of ranks: variable of the rank}
    "GPUKIT_RANKS": "GPUKIT_RANK",  # see parallel/rendezvous.py
    "OMPI_COMM_WORLD_SIZE": "OMPI_COMM_WORLD_RANK",
    "PMI_SIZE": "PMI_RANK",
    "PMIX_SIZE": "PMIX_RANK",
    "SLURM_STEP_NUM_TASKS": "SLURM_PROCID",
}
PARENT_VARIABLE = "GPUKIT_PARENT"  # process that has started the rank with its own options; the rank ends with it
ALONE_VARIABLE = "GPUKIT_ALONE"  # if set, each process computes independently
REMEDY = f"What starts the ranks sets it; unset it, or set {ALONE_VARIABLE}=1 for a process that works alone."
REPORT_SECONDS = 5.0  # that rank 0 has to report an error that all ranks detect


def launched_ranks(environment=os.environ):
    """Return (number of ranks, own rank) from the variables of the launcher.

    (1, 0) without a launcher or with GPUKIT_ALONE=1. Raises ParameterError for variables that are not such numbers.
    """
    if environment.get(ALONE_VARIABLE, "0") not in ("", "0", "no", "false"):
        return 1, 0
    for size_variable, rank_variable in RANK_VARIABLES.items():
        if (size := read_whole_number(environment, size_variable, 1)) > 1:
            rank = read_whole_number(environment, rank_variable, 0)
            if rank >= size:
                raise ParameterError(
                    f"{rank_variable}={rank} is not below {size_variable}={size}: ranks are numbered from 0. {REMEDY}"
                )
            return size, rank
    return 1, 0


def read_whole_number(environment, name, default):
    """Return the whole number of an environment variable, default if it is not set or empty.

    Raises ParameterError for anything else.
    """
    text = environment.get(name, "")
    if not (text.isascii() and text.isdigit() or text == ""):
        raise ParameterError(f"{name}={text!r} is not a whole number. {REMEDY}")
    return int(text or default)
