"""Frames of other libraries -> pandas; columns of frames -> numpy arrays, by name. For arrays: base/arrays.py."""

import numpy as np

from gpukit.errors import DataError


def is_frame(data):
    """True for a pandas DataFrame; pandas is not imported for it."""
    return hasattr(data, "columns") and hasattr(data, "iloc")


def is_series(data):
    """True for a pandas Series; pandas is not imported for it."""
    return hasattr(data, "to_frame") and hasattr(data, "iloc")


def as_frame(data):
    """A pandas DataFrame of a frame of another library (polars, pyarrow, ... : whatever has to_pandas); other things
    as they are."""
    return data.to_pandas() if hasattr(data, "to_pandas") else data


def whole_column(column, what):
    """The numpy array of a pandas Series, nullable dtypes too; DataError naming the first row that has no value."""
    missing = column.isna().to_numpy()
    if missing.any():
        raise DataError(f"Row {int(np.argmax(missing)) + 1:,} has no {what}. Remove such rows first.")
    return column.to_numpy()


def plain(name):
    """A column name without case, spaces, quotes and punctuation, and without the type that some sets declare after
    a colon: 'User_ID' and 'user_id:token' -> 'userid'."""
    return "".join(letter for letter in str(name).lower().partition(":")[0] if letter.isalnum())
