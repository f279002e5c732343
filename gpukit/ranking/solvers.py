"""Which solver, which device, how many threads."""

from typing import NamedTuple

from gpukit import device as devices
from gpukit.base import check_choice
from gpukit.errors import ParameterError

SOLVERS = ("auto", "scan", "p-swx", "dcm", "ost")
CPU_ONLY = ("dcm", "ost")
FOR_THE_CPU = 4_000_000  # stored features up to which the CPU is done before the GPU has the data
FOR_ONE_THREAD = 1_000_000  # stored features up to which threads cost more than they do


class Choice(NamedTuple):
    """solver: of SOLVERS but auto; device: a device.Device; threads: for the CPU's part, None for all."""

    solver: str
    device: object
    threads: int | None


def check(solver, device):
    """ParameterError for a solver that is unknown, or that the device asked for does not have."""
    check_choice("solver", solver, SOLVERS)
    kind = device.kind if isinstance(device, devices.Device) else str(device).partition(":")[0]
    if solver in CPU_ONLY and kind == "cuda":
        raise ParameterError(f"solver {solver!r} runs on the CPU alone. Use device='cpu' (--device cpu), or solver "
                             "'scan' or 'p-swx' on a GPU.")


def choose(solver, device, stored):
    """Choice for X with so many stored values.

    "auto" is scan on every device: it was the fastest, or as fast as any, wherever it was measured.
    """
    check(solver, device)
    if device == "auto" and (solver in CPU_ONLY or stored < FOR_THE_CPU):
        device = "cpu"
    return Choice("scan" if solver == "auto" else solver, devices.resolve(device), threads(stored))


def threads(stored):
    """Threads for work on so many stored values; None for all."""
    return 1 if stored < FOR_ONE_THREAD else None


def stored_values(X):
    """How many numbers a matrix keeps."""
    return int(X.nnz if hasattr(X, "indptr") else X.size)
