"""Columns of a wide table that are no readings: those that say when, or what a line is of, and others that are kept."""

import re
import warnings
from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError
from gpukit.graphs.column_types import boolean_words
from gpukit.graphs.layouts import clocks
from gpukit.graphs.layouts.alone import are_dates
from gpukit.graphs.layouts.moments import compact
from gpukit.graphs.layouts.roles import CLOCK, NAMES, REPEATED, Roles, is_called, said
from gpukit.io.arrays import plain
from gpukit.io.sheet import MISSING
from gpukit.io.words import comma_told, is_number

COUNTS = {"", "no", "nr", "n", "index", "id", "instant", "row", "rownum", "rownumber", "record", "recordid", "entry"}
YEAR = re.compile(r"(?:1[5-9]|2[0-4])\d\d")
TIMES = re.compile(rf"{CLOCK.pattern}|^{YEAR.pattern}(?:-?\d\d|)$|^\d{{8}}$|^{YEAR.pattern} ?-?Q[1-4]$")  # of names
SHOWN = 4  # names in a message


class Apart(NamedTuple):
    """parts: the clocks.Parts of times in several columns, or None; time: the place of times in one column that is not
    the first, or None; kept: the places of columns that are neither times nor sensors; rows: lines, without empty ones
    at the end."""

    parts: object
    time: int | None
    kept: tuple
    rows: int


def apart_of(names, frame, known=frozenset()):
    """The Apart of a table with a sensor a column: the names of its columns, and all of it as a frame.

    known: labels of the graph or of the coordinates. Columns with these names are sensors, whatever they hold.
    """
    rows = _rows(frame)
    body = frame.iloc[:rows]
    sensors = {at for at, name in enumerate(names) if name in known}
    names = ["" if at in sensors else name for at, name in enumerate(names)]
    parts = clocks.parts_of(names, body)
    if parts and sensors & set(parts.places):
        parts = None
    time = None if parts else _time(names, body)
    found = set(parts.places if parts else () if time is None else (time,))
    others = set(range(len(names))) - found - sensors
    if not found and len(names) > 1:
        others.discard(0)  # labels, if it has any
    kept = [at for at in sorted(others) if _is_kept(names[at], body[at], bool(found))]
    return Apart(parts, time, tuple(kept), rows)


def _rows(frame):
    """How many lines there are without empty ones at the end; all, where the first column says nothing anywhere."""
    if len(frame) and not _missing(frame[0].iloc[-1:])[0]:
        return len(frame)
    empty = _missing(frame[0])
    if empty.all():
        return len(frame)
    rows = len(frame) - int(np.argmin(empty[::-1]))
    tail = frame.iloc[rows:]
    full = ~np.all([_missing(tail[place]) for place in tail.columns], axis=0)
    return rows + (int(np.flatnonzero(full)[-1]) + 1 if full.any() else 0)


def _missing(column):
    """(rows,) bool: the fields of a column that say nothing."""
    if column.dtype.kind in "biufM":
        return column.isna().to_numpy(bool)
    return np.array([gap or str(word).strip().lower() in MISSING for word, gap in zip(column, column.isna())], bool)


def _time(names, frame):
    """The place of the only column that is called times and looks it, behind a first one that does not; or None."""
    if _looks(frame[0]) or plain(names[0]) in NAMES["time"]:
        return None
    found = [at for at in range(1, len(names)) if is_called(names[at], "time") and _looks(frame[at])]
    return found[0] if len(found) == 1 else None


def _looks(column):
    """Whether the first words of a column look like times."""
    words = clocks.words_of(column.iloc[: clocks.FEW]).unique().tolist()
    return len(words) > 0 and (all(map(CLOCK.search, words)) or (len(words[0]) > 6 and compact(words) is not None))


def _is_kept(name, column, timed):
    """Return True if a column is no sensor: words, nothing at all, complete booleans, or, next to times, row numbers
    or one station's number."""
    head, count = column.iloc[: clocks.FEW], len(column)
    if timed and count > 1 and (plain(name) in COUNTS or is_called(name, "sensor")):
        words = clocks.words_of(column)
        if is_called(name, "sensor") and words.iloc[0] and (words == words.iloc[0]).all():
            return True
        if plain(name) in COUNTS and all(word.isdecimal() and len(word) < clocks.DIGITS for word in words):
            return bool((np.diff(words.astype(np.int64)) == 1).all())
    if column.dtype.kind in "iufM":
        return bool(column.isna().all())
    gaps = _missing(column)
    if boolean_words(column[~gaps]) is not None:
        return not gaps.any()
    return not _some_number(head) and not _some_number(column)


def _some_number(column):
    """Whether one of the words of a column is a number, or might be one."""
    words = {str(word).strip() for word in column.dropna().unique()}
    return any(word.lower() not in MISSING and (is_number(word, finite=False) or comma_told(word)) for word in words)


def refuse_readings(path, names, frame, times, values):
    """DataError for a table whose times come again and again, where another column tells such lines apart: each is a
    reading of some sensor. times: the places of the columns that say when; values: of those that could be sensors."""
    import pandas

    if any(frame[at].is_unique for at in times):
        return
    columns = [clocks.words_of(frame[at]) for at in times]
    when, moments = pandas.factorize(columns[0] if len(columns) == 1 else pandas.MultiIndex.from_arrays(columns))
    if len(when) < REPEATED * len(moments) or len(moments) < 2:
        return
    others = sorted(
        set(range(len(names))) - {*times}, key=lambda at: (not is_called(names[at], "sensor"), at in values)
    )
    for at in others:
        which, ids = pandas.factorize(clocks.words_of(frame[at]))
        if 1 < len(ids) < len(when) / 2 and len(np.unique(which * len(moments) + when)) == len(when):
            value = next((place for place in values if place != at), at)
            told = ",".join(said(place, Roles(times, at, value)) for place in range(len(names)))
            raise DataError(
                f"{path} has {len(when):,} lines at {len(moments):,} times, which {names[at]} tells apart: if a line "
                f"is a reading, say of what: --columns {told} (columns=) for {names[value]}; if {names[at]} is a "
                "sensor itself, --layout columns."
            )
    raise DataError(
        f"{path} has {len(when):,} lines at {len(moments):,} times, and no column distinguishes them. If they are "
        "readings of several sensors, add a column with the sensor; if they follow each other in time, --layout "
        "columns (layout='columns')."
    )


def refuse_lines(path, names, frame, values):
    """DataError for a table whose first words come again and again, where another column looks like times: each line is
    a reading of one of few sensors. values: places of the columns that could be sensors."""
    which = clocks.words_of(frame[0])
    count = which.nunique()
    times = [at for at in range(1, len(names)) if _looks(frame[at])]
    if count < 2 or len(which) < REPEATED * count or not times:
        return
    value = next((at for at in values if at not in times), times[0])
    told = ",".join(said(place, Roles(tuple(times[:1]), 0, value)) for place in range(len(names)))
    raise DataError(
        f"{path} has {len(which):,} lines of {count:,} names in {names[0]}, and {names[times[0]]} looks like times: if "
        f"a line is a reading, say of what: --columns {told} (columns=) for {names[value]}; if each column is a "
        "sensor, --layout columns."
    )


def warn_of_kept(path, names):
    """Warn of the names of columns that stay as they are."""
    told = list(filter(None, names))
    if told:
        more = f" and {len(told) - SHOWN} others" if len(told) > SHOWN else ""
        one = "is not read as a sensor, and stays as it is"
        one = one if len(told) == 1 else "are not read as sensors, and stay as they are"
        warnings.warn(
            f"{path}: {', '.join(told[:SHOWN])}{more} {one}.",
            stacklevel=2,
        )


def times_from(names):
    """(first, end) of the columns whose names are times, behind others that say what a line is; None where the names at
    the end, but for empty ones, are no dates and no years in order, or the first is one too."""
    end = len(names)
    while end > 1 and not names[end - 1]:
        end -= 1
    first = end
    while first > 0 and TIMES.search(names[first - 1]):
        first -= 1
    some = names[first:end]
    return (first, end) if first > 0 and len(some) > 1 and (are_dates(some) or are_years(some)) else None


def are_years(names):
    """Whether names are years, each as far from the next."""
    if len(names) < 3 or not all(YEAR.fullmatch(name) for name in names):
        return False
    return len({int(b) - int(a) for a, b in zip(names, names[1:])}) == 1


def label_of(words, known=None):
    """[str] what each line is of, by columns of words {place: [str]}: by one that names vertices that are known [str],
    or by the first whose words differ, or by all that are words together."""
    matching = [one for one in words.values() if known and set(one) & known]
    differing = [one for one in words.values() if len(set(one)) == len(one) and all(one)]
    if matching or differing:
        return (matching or differing)[0]
    texts = [one for one in words.values() if not all(is_number(word) for word in one if word)]
    return [", ".join(filter(None, some)) for some in zip(*texts)] if texts else next(iter(words.values()))
