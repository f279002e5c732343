"""Estimate the computation of a verb from file sizes, for --gpus auto."""

import contextlib
import zipfile
from pathlib import Path

from gpukit.errors import ParameterError
from gpukit.io import sinks
from gpukit.parallel import cost_model

PACKED = (".gz", ".bz2", ".xz", ".zip", ".zst")
A_RATING = {".gkr": 12, ".npz": 12, ".parquet": 5, "packed": 5, "text": 20}  # bytes of a typical file
A_FEATURE = {".gkl": 4, ".npz": 4, ".parquet": 4, "packed": 2.5, "text": 10}
A_NUMBER = {".npz": 8, ".npy": 8, ".parquet": 4, "packed": 2.5, "text": 7}
PRODUCTS = 20  # with the Hessian, of a training


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


def of_ratings(path, estimator):
    """Return the cost_model.Workload of a training on a file.

    None if it is unknown or ranks are not supported.
    """
    from gpukit.factorization.shared.begin import check_parameters

    settings, count = estimator.check(), entries([path], A_RATING)
    with contextlib.suppress(ParameterError):
        check_parameters(estimator, settings, on_gpus=True)
        if count is not None and settings.solver == "sgd":
            return cost_model.factorization_workload(count, settings.epochs, settings.n_factors, settings.n_neighbors)
    return None


def of_documents(paths, grid):
    """Return the cost_model.Workload of RankSVMs on training files.

    It includes all weights of a grid (None: one weight).
    """
    values = entries(paths, A_FEATURE)
    return None if values is None else cost_model.ranksvm_workload(values, PRODUCTS * len(grid or [1]))


def of_tensor(path, method, steps):
    """Return the cost_model.Workload of an imputation; None if it is not distributed."""
    numbers = entries([path], A_NUMBER) if method in ("auto", "spectral") else None
    return None if numbers is None else cost_model.imputation_workload(numbers, steps)
