"""Who has started this process: mpiexec, srun or gpukit itself, with others, or somebody else. Told by the environment
alone."""

import os

from gpukit.errors import ParameterError

STARTED_BY = {  # how many ranks, and which one this is, as mpiexec and srun say
    "OMPI_COMM_WORLD_SIZE": "OMPI_COMM_WORLD_RANK",
    "PMI_SIZE": "PMI_RANK",
    "PMIX_SIZE": "PMIX_RANK",
    "SLURM_STEP_NUM_TASKS": "SLURM_PROCID",
}
VARIABLE = "GPUKIT_TEAM"  # rank, process that starts it, then rank:descriptor ..., set by parallel/launch.py
APART = "GPUKIT_ALONE"  # set: each of them has work of its own
REMEDY = f"mpiexec and srun set it; unset it, or set {APART}=1 for a process that works alone."
AFTER = 5.0  # seconds that the first of them has to say what is wrong with a request that all find so


def told(environment=os.environ):
    """(how many ranks mpiexec or srun have started, the number of this one); (1, 0) where they have not, or where each
    is told by APART to be by itself."""
    if environment.get(APART, "0") not in ("", "0", "no", "false"):
        return 1, 0
    for size, rank in STARTED_BY.items():
        if (count := whole_number(environment, size, 1)) > 1:
            number = whole_number(environment, rank, 0)
            if number >= count:
                raise ParameterError(f"{rank}={number}, where {size}={count} ranks are numbered from 0. {REMEDY}")
            return count, number
    return 1, 0


def whole_number(environment, name, default):
    """Return the whole number of an environment variable, default where it is not set or empty.

    Raises ParameterError for anything else.
    """
    text = environment.get(name, "")
    if not (text.isascii() and text.isdigit() or text == ""):
        raise ParameterError(f"{name}={text!r} is not a whole number. {REMEDY}")
    return int(text or default)
