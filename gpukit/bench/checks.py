"""Checks of results that the benchmarks share."""

from pathlib import Path

import numpy as np

from gpukit.errors import DataError


def require_data(folder, name):
    """Return the path of real data below a folder; raise DataError if it does not exist."""
    if folder is None or not (Path(folder) / name).exists():
        raise DataError(f"{name} is needed: set GPUKIT_DATA to the folder that holds it.")
    return Path(folder) / name


def to_host(array):
    """Copy an array of numba or cupy to the host."""
    for method in ("copy_to_host", "get"):
        if hasattr(array, method):
            return getattr(array, method)()
    return array


def relative_error(result, expected):
    """Return ||result - expected|| / ||expected||."""
    return float(np.linalg.norm(np.ravel(result - expected)) / np.linalg.norm(np.ravel(expected)))


def check_error(what, error, bound):
    """Raise DataError if an error is above a bound or not a number."""
    if not error <= bound:
        raise DataError(f"the benchmark's {what} has a relative error of {error:.3g}, more than {bound:.3g}.")


def check_near(what, result, expected, tolerance):
    """Raise DataError if a result is further from the expected one than a relative tolerance."""
    check_error(what, relative_error(result, expected), tolerance)


def check_learned(name, hit_rate, least):
    """Raise DataError if the HR@10 of a model is below that of any model that has learned."""
    if hit_rate < least:
        raise DataError(f"{name} has HR@10 {hit_rate:.3f}, below {least}: it has not learned.")
