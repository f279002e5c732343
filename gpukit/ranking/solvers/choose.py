"""Choice of the device and the solver."""

import importlib.util
from typing import Literal, get_args

from gpukit import device as devices
from gpukit.base import check_choice
from gpukit.errors import ParameterError

Solver = Literal["auto", "scan", "p-swx", "dcm", "ost"]
SOLVERS = get_args(Solver)
CPU_ONLY = ("dcm", "ost")
FOR_THE_CPU = 4_000_000  # stored features up to which the CPU ends before a GPU begins
DEEP = 6  # planes of a level tree; on the CPU, more cost more than they save in a few CG steps


def check(solver, device):
    """Raise ParameterError for an unknown solver, or one that the requested device does not have."""
    check_choice("solver", solver, SOLVERS)
    if solver in CPU_ONLY and is_cuda(device):
        raise ParameterError(
            f"solver {solver!r} runs on the CPU alone. Use device='cpu' (--device cpu), or solver "
            "'scan' or 'p-swx' on a GPU."
        )


def check_features(features, device, choices):
    """Return features; ParameterError if they are not one of choices, or if a GPU is requested without cupy."""
    check_choice("features", features, choices)
    if features not in ("linear", "auto") and is_cuda(device) and not has_cupy():
        raise ParameterError(
            f"features={features!r} needs cupy on a GPU, and it is not installed. Install gpukit[cuda] or "
            "gpukit[cuda12], or use device='cpu' (--device cpu) or features='linear' (--features linear)."
        )
    return features


def has_cupy():
    """Return True if cupy is installed."""
    return importlib.util.find_spec("cupy") is not None


def is_cuda(device):
    """Return True if a GPU is requested."""
    return (device.kind if isinstance(device, devices.Device) else str(device).partition(":")[0]) == "cuda"


def choose_device(solver, device, stored, features="linear"):
    """Return the device.Device for X with this number of stored values.

    'auto': the CPU for small problems, for its solvers, and for a feature map without cupy.
    """
    check(solver, device)
    is_lacking = features != "linear" and not has_cupy()
    if device == "auto" and (solver in CPU_ONLY or stored < FOR_THE_CPU or is_lacking):
        device = "cpu"
    return devices.resolve(device)


def choose_solver(solver, device, planes, preconditioned, is_weighted=False):
    """Return the solver on a device.Device for a level tree with this number of planes.

    'auto' is scan: the level tree costs more to make than a tree of sums, and each product costs less. Only on the CPU
    with many levels and few products this does not pay off: docs/ranking.md has the times. Direct counting and P-SWX
    are not faster than both for any measured data. is_weighted: pairs have weights, which the level tree does not add
    up.
    """
    if is_weighted and solver == "scan":
        raise ParameterError("solver 'scan' takes no weights of documents or pairs. Use 'auto'.")
    if is_weighted and solver == "auto":
        return "p-swx" if device.is_cuda else "ost"
    if solver != "auto":
        return solver
    return "ost" if not device.is_cuda and preconditioned and planes > DEEP else "scan"


def stored_values(X):
    """Return the number of stored values of a matrix."""
    return int(X.nnz if hasattr(X, "indptr") else X.size)
