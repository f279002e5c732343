"""Convert times in any spelling to int64 seconds since 1970-01-01 UTC."""

import math
from datetime import UTC, datetime

import numpy as np

from gpukit.base.arrays import as_array, as_text
from gpukit.errors import DataError

MISSING = np.int64(-(2**63))  # marks an invalid time


def seconds_of(text):
    """Return the seconds (int) of a number or ISO 8601 date, or None.

    Fractions of seconds are cut off. Dates are UTC unless an offset is given.
    """
    try:
        seconds = math.floor(float(text))
        return seconds if -(2**63) <= seconds < 2**63 else None
    except (ValueError, OverflowError):
        pass
    try:
        when = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return math.floor((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp())


def as_seconds(values, what="times", lenient=False):
    """Return an array as seconds (n,) int64.

    values: whole numbers, datetime64 or text. Raises DataError with the invalid row; lenient: invalid times are MISSING
    instead.
    """
    array = as_array(values, what)
    if array.dtype.kind in "Vc" or array.ndim != 1:
        raise DataError(
            f"{what} are {array.dtype} of shape {array.shape}. Give one column of seconds since 1970 or of dates such "
            "as 2005-09-06."
        )
    if array.dtype.kind in "iu":
        found, bad = array.astype(np.int64), array > np.uint64(2**63 - 1) if array.dtype == np.uint64 else np.False_
    elif array.dtype.kind == "M":
        found, bad = array.astype("datetime64[s]").astype(np.int64), np.isnat(array)
    elif array.dtype.kind == "f":
        bad = ~(np.abs(array) < 2.0**63)
        found = np.floor(np.where(bad, 0, array)).astype(np.int64)
    else:
        different, which = np.unique(as_text(array), return_inverse=True)
        each = [seconds_of(word) for word in different.tolist()]
        bad = np.array([one is None for one in each], dtype=bool)[which]
        found = np.array([one or 0 for one in each], dtype=np.int64)[which]
    if lenient:
        found[np.broadcast_to(bad, found.shape)] = MISSING
    elif bad.any():
        row = int(np.argmax(bad))
        raise DataError(
            f"{what}: row {row + 1:,} has {str(array[row])!r}, which is no time. Give seconds since 1970 or "
            "dates such as 2005-09-06."
        )
    return found
