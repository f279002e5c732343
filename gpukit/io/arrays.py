"""Convert data frames of other libraries to pandas and columns to numpy.

For arrays see base/arrays.py.
"""

import re

import numpy as np

from gpukit.errors import DataError

NO_LETTERS = re.compile(r"[\W_]+")


def from_arrow(array):
    """Return a pyarrow array of numbers as numpy's; pyarrow's own conversion takes longer, as it imports pandas."""
    return array.to_numpy(zero_copy_only=False) if array.null_count else np.from_dlpack(array)


def is_frame(data):
    """Return True for a pandas DataFrame, without importing pandas."""
    return hasattr(data, "iloc") and hasattr(data, "columns")


def is_partitioned(data):
    """Return True for a Dask DataFrame, without importing dask."""
    return hasattr(data, "columns") and hasattr(data, "to_delayed")


def is_series(data):
    """Return True for a pandas Series, without importing pandas."""
    return hasattr(data, "to_frame") and hasattr(data, "iloc")


def as_frame(data):
    """Convert any object with to_pandas (polars, pyarrow, ...) to a pandas DataFrame.

    A LazyFrame is collected first. Other objects are returned unchanged.
    """
    if hasattr(data, "collect_schema") and hasattr(data, "collect"):
        data = data.collect()
    return data.to_pandas() if hasattr(data, "to_pandas") else data


def whole_column(column, what):
    """Return a pandas Series as a numpy array, nullable dtypes included.

    Raises DataError with the first row that has no value.
    """
    missing = column.isna().to_numpy()
    if missing.any():
        raise DataError(f"Row {int(np.argmax(missing)) + 1:,} has no {what}. Remove such rows first.")
    return column.to_numpy()


def normalize_name(name):
    """Normalize a column name: letters and digits in lower case.

    A type declared after a colon is dropped: 'User_ID' and 'user_id:token' -> 'userid'.
    """
    return NO_LETTERS.sub("", str(name).lower().partition(":")[0])
