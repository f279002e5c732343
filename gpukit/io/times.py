"""Convert times in any spelling to int64 seconds since 1970-01-01 UTC."""

import math
import re
from datetime import UTC, datetime, timedelta

import numpy as np

from gpukit.base.arrays import as_array, as_text
from gpukit.errors import DataError
from gpukit.io.words import is_integer

MISSING = np.int64(-(2**63))  # marks an invalid time
MICRO = 10**6
DOTTED = re.compile(r"^(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})(?!\d)")
SLASHED = re.compile(r"^(?P<year>\d{4})/(?P<month>\d{1,2})/(?P<day>\d{1,2})(?!\d)")
CLOCK = re.compile(
    r"[ T](?P<hour>\d{1,2})(?P<rest>:[\d:.]+)(?: ?(?P<half>[ap]m))?(?P<zone> ?(?:UTC|GMT))?$", re.IGNORECASE
)
CUT = re.compile(r"[T ]\d\d(?::?\d\d)?[.,]\d+$")  # 13.30: minutes, where Python reads a fraction of a second
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def seconds_of(text, unit=1):
    """Return the seconds (int) of a number or a date, or None.

    A date is that of ISO 8601, 31.12.2020 or 2020/12/31, with or without a time of day (9:05, 9:05 PM, 09:05:30 UTC);
    dates such as 1/2/2020 may mean two days. Fractions of seconds are cut off. Dates are UTC unless an offset is given.
    unit: MICRO for microseconds.
    """
    try:
        seconds = int(text) * unit if is_integer(text) else math.floor(float(text) * unit)
        return seconds if -(2**63) <= seconds < 2**63 and "_" not in text else None
    except (ValueError, OverflowError):
        pass
    if CUT.search(text.rstrip()):
        return None
    try:
        when = datetime.fromisoformat(CLOCK.sub(_iso_clock, SLASHED.sub(_iso, DOTTED.sub(_iso, text.strip()))))
    except ValueError:
        return None
    return ((when if when.tzinfo else when.replace(tzinfo=UTC)) - EPOCH) // timedelta(microseconds=MICRO // unit)


def _iso(date):
    """Return a match of DOTTED or SLASHED as an ISO 8601 date."""
    return f"{date['year']}-{date['month']:0>2}-{date['day']:0>2}"


def _iso_clock(time):
    """Return a match of CLOCK as an ISO 8601 time; unchanged for hours that a clock of twelve hours does not have."""
    hour = int(time["hour"])
    if time["half"] and not 1 <= hour <= 12:
        return time[0]
    if time["half"]:
        hour = hour % 12 + 12 * (time["half"].upper() == "PM")
    return f" {hour:02}{time['rest']}{'+00:00' if time['zone'] else ''}"


def order_of(text):
    """Return an int by which a time is ordered among those of its column, MISSING if it is none.

    It is in microseconds, or in seconds if int64 does not hold these.
    """
    order = seconds_of(text, MICRO)
    order = seconds_of(text) if order is None else order
    return MISSING if order is None else order


def as_seconds(values, what="times", lenient=False):
    """Return an array as seconds (n,) int64.

    values: whole numbers, datetime64, timedelta64 or text. Raises DataError with the invalid row. lenient: only the
    order of the result counts, which is that of order_of, and invalid times are MISSING.
    """
    array = _as_dates(as_array(values, what))
    has_lists = array.dtype.kind == "O" and any(
        isinstance(value, list | tuple | dict | np.ndarray) for value in array.flat
    )
    if array.dtype.kind in "Vc" or array.ndim != 1 or has_lists:
        if lenient:
            return np.full(len(array), MISSING)
        raise DataError(
            f"{what}: {array.dtype} of shape {array.shape} are no times. Give one column of seconds since 1970 or of "
            "dates such as 2005-09-06."
        )
    result, is_bad = _in_units(array, 1)
    if lenient:
        micro, is_beyond = _in_units(array, MICRO)
        result = np.where(is_beyond, result, micro) if is_beyond.any() else micro
        result[is_bad] = MISSING
        return result
    if is_bad.any():
        row = int(np.argmax(is_bad))
        raise DataError(
            f"{what}: row {row + 1:,} has {str(array[row])!r}, which is no time. Give seconds since 1970 or "
            "dates such as 2005-09-06."
        )
    return result


def exact_seconds(values, what="times"):
    """Return an array as seconds (n,): int64, or float64 if there are fractions, to the microsecond.

    Arguments and errors as in as_seconds.
    """
    array, whole = _as_dates(as_array(values, what)), as_seconds(values, what)
    if array.dtype.kind in "iu":
        return whole
    if array.dtype.kind == "f":
        fractions = array.astype(np.float64) - whole
    else:
        micro, is_beyond = _in_units(array, MICRO)
        fractions = np.where(is_beyond, 0, micro - whole * MICRO) / MICRO
    return whole + fractions if fractions.any() else whole


def _in_units(array, unit):
    """Return (times (n,) int64 in units, mask of those that are none or exceed int64); unit: 1 or MICRO a second."""
    if array.dtype.kind in "iu":
        numbers, largest = array.astype(np.int64), (2**63 - 1) // unit
        if not len(array) or (array.max() <= largest and array.min() >= -largest):
            return numbers * unit if unit > 1 else numbers, np.broadcast_to(False, array.shape)
        return numbers * unit, (numbers > largest) | (numbers < -largest) | ((numbers < 0) != (array < 0))
    if array.dtype.kind == "M":
        return array.astype(f"datetime64[{'s' if unit == 1 else 'us'}]").astype(np.int64), np.isnat(array)
    if array.dtype.kind == "f":
        numbers = array.astype(np.float64) * unit
        is_beyond = ~(np.abs(numbers) < 2.0**63)
        return np.floor(np.where(is_beyond, 0, numbers)).astype(np.int64), is_beyond
    different, which = np.unique(as_text(array), return_inverse=True)
    each = [seconds_of(word, unit) for word in different.tolist()]
    is_none = np.array([value is None for value in each], bool)
    return np.array([value or 0 for value in each], np.int64)[which], is_none[which]


def _as_dates(array):
    """Return durations as dates after 1970-01-01 and pandas' periods as their first moments; others unchanged."""
    kinds = {*map(type, array.flat)} if array.dtype.kind == "O" else set()
    if kinds and all(hasattr(kind, "to_timestamp") for kind in kinds):
        return np.array([period.to_timestamp() for period in array.flat], "M8[us]").reshape(array.shape)
    if kinds and all(issubclass(kind, timedelta) for kind in kinds):
        array = array.astype("m8[us]")
    return np.datetime64(0, "s") + array if array.dtype.kind == "m" else array
