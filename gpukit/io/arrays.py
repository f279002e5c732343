"""Arrays of other libraries, columns of data frames -> plain numpy arrays on the host."""

import numpy as np

from gpukit.errors import DataError


def on_host(array):
    """A numpy array of what another library keeps, copied from a GPU where it lies there; other things as they are.

    Taken: torch tensors (without their gradients), cupy and numba device arrays, whatever offers __dlpack__. numpy's
    own arrays, masked ones too, lists, tuples and scalars come back themselves.
    """
    if isinstance(array, (np.ndarray, np.generic, list, tuple)) or not _is_foreign(array):
        return array
    for name in ("detach", "cpu"):  # torch: off the graph, off the GPU
        array = getattr(array, name)() if hasattr(array, name) else array
    for name in ("get", "copy_to_host"):  # cupy, numba
        if hasattr(array, "__cuda_array_interface__") and hasattr(array, name):
            return np.asarray(getattr(array, name)())
    if hasattr(array, "__dlpack_device__") and array.__dlpack_device__()[0] != 1:  # 1: the host's memory
        return np.from_dlpack(array, device="cpu", copy=True)
    return np.from_dlpack(array) if hasattr(array, "__dlpack__") else np.asarray(array)


def _is_foreign(array):
    return hasattr(array, "__cuda_array_interface__") or hasattr(array, "__dlpack__")


def is_frame(data):
    """True for a pandas DataFrame; pandas is not imported for it."""
    return hasattr(data, "columns") and hasattr(data, "iloc")


def as_frame(data):
    """A pandas DataFrame of a frame of another library (polars, pyarrow, ... : whatever has to_pandas); other things
    as they are."""
    if not hasattr(data, "to_pandas"):
        return data
    try:
        return data.to_pandas()
    except ImportError as error:
        raise DataError(
            f"A {type(data).__module__.split('.')[0]} {type(data).__name__} is read through pandas and pyarrow "
            f"({error}). Install them with pip install 'gpukit[parquet]'."
        ) from error


def whole_column(column, what):
    """The numpy array of a pandas Series, nullable dtypes too; DataError naming the first row that has no value."""
    missing = column.isna().to_numpy()
    if missing.any():
        raise DataError(f"Row {int(np.argmax(missing)) + 1:,} has no {what}. Remove such rows first.")
    return column.to_numpy()


def with_nan(array):
    """A masked array as floats with NaN where it is masked; other things as they are."""
    if not isinstance(array, np.ma.MaskedArray):
        return array
    kind = array.dtype if array.dtype.kind == "f" else np.float64
    return array.astype(kind).filled(np.nan)
