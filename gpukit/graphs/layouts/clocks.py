"""Times that stand in several columns of a table: a date and a clock or an hour; year, month, day, hour, ..."""

import re
from itertools import permutations
from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError
from gpukit.graphs.layouts import moments
from gpukit.io.arrays import plain

CALENDAR = {
    "year": ({"year", "yyyy", "jahr"}, 1500, 2500),
    "month": ({"month", "mo", "mon", "mm", "monat"}, 1, 12),
    "day": ({"day", "dd", "dayofmonth", "mday", "tag"}, 1, 31),
    "hour": ({"hour", "hr", "hh", "stunde"}, 0, 24),
    "minute": ({"minute", "min", "mi"}, 0, 59),
    "second": ({"second", "sec", "ss"}, 0, 59),
}  # names of columns, without case and signs; the least and the greatest number
UNITS = {"day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
DATES = re.compile(r"\d{4}-\d\d-\d\d|\d{1,4}[/.]\d{1,2}[/.]\d{1,4}|(1[89]|20)\d{6}")
CLOCK = re.compile(r"(\d{1,2})[:.](\d\d)(?:[:.](\d\d)(?:[.,]\d+)?)?(?: ?([ap])m)?", re.IGNORECASE)
HOURS = CALENDAR["hour"][0] | {"time", "hhmm", "timeutc", "utctime", "hourutc", "localtime"}  # of numbers: 13 or 1300
FEW = 1000  # rows that tell
DIGITS = 19  # that an int64 always holds, but one
WHOLE = 2.0**53  # floats below it are the whole numbers that they look like
WIDEST = 12  # columns from the first on, among which they are sought


class Parts(NamedTuple):
    """The columns that make up the times: their places; date: whether they are a date and a clock, not a calendar."""

    places: tuple
    date: bool


def parts_of(names, frame):
    """The Parts of a table, or None: names [str] of its columns; frame: a pandas DataFrame, columns 0 to C-1."""
    head = frame.iloc[:FEW]
    return _calendar(names, head) or _date_and_clock(names, head)


def parts_in(frame, places):
    """The Parts of columns that are said to be the times, in whatever order: by what their first lines look like."""
    head = frame.iloc[:FEW]
    for order in permutations(places):
        for date in (True, False):
            parts = Parts(order, date)
            if (len(places) == 2 or not date) and seconds(head, parts) is not None:
                return parts
    raise DataError(
        f"the columns {', '.join(str(place + 1) for place in places)} are no times together: a date and a clock, or "
        "year, month, day, hour."
    )


def words_of(column):
    """A pandas Series as one of str, '' where nothing is; whole numbers that pandas holds as floats lose their .0."""
    if column.dtype.kind == "f" and ((known := column.dropna()) % 1 == 0).all() and (known.abs() < WHOLE).all():
        column = column.astype("Int64")
    return column.astype(object).where(column.notna(), "").map(lambda word: str(word).strip())


def joined(frame, parts):
    """A pandas Series of str: the times as the columns spell them, with blanks between."""
    first, *others = (words_of(frame[place]) for place in parts.places)
    for other in others:
        first = first.str.cat(other, sep=" ")
    return first


def seconds(frame, parts, place=None):
    """(rows,) int64 seconds since 1970 of all rows; None where one has no time, or, with place(row) -> where it stands,
    a DataError."""
    columns = [words_of(frame[at]) for at in parts.places]
    found = (_of_date_and_clock if parts.date else _of_calendar)(columns)
    if found is None and place is not None:
        row = next((row for row in range(len(frame)) if seconds(frame.iloc[[row]], parts) is None), 0)
        told = " ".join(column.iloc[row] for column in columns)
        raise DataError(f"{place(row)}: {told!r} is no time like the others. Correct it, or leave the line out.")
    return found


def _calendar(names, frame):
    """Parts of columns that are called year, month and so on."""
    words = [plain(name) for name in names]
    places = []
    for called, least, most in CALENDAR.values():
        there = [at for at, word in enumerate(words) if word in called]
        if len(there) != 1 or not _between(words_of(frame[there[0]]), least, most):
            break
        places.append(there[0])
    parts = Parts(tuple(places), False)
    return parts if len(places) > 1 and seconds(frame, parts) is not None else None


def _between(words, least, most):
    return all(word.isdecimal() and len(word) < DIGITS and least <= int(word) <= most for word in words.unique())


def _of_calendar(columns):
    """Seconds of [Series of str] year, month, ..., or None."""
    if not all(_between(column, least, most) for column, (_, least, most) in zip(columns, CALENDAR.values())):
        return None
    numbers = [column.astype(np.int64).to_numpy() for column in columns]
    months = (12 * (numbers[0] - 1970) + numbers[1] - 1).astype("M8[M]")
    out = months.astype("M8[s]").astype(np.int64)
    for number, (name, unit) in zip(numbers[2:], UNITS.items()):
        out += unit * (number - (name == "day"))
    first = out if len(numbers) < 3 else out // UNITS["day"] * UNITS["day"]
    later = first.astype("M8[s]").astype("M8[M]") != months  # the 30th of February, the hour 24 of a month's last day
    late = numbers[3] == 24 if len(numbers) > 3 else np.zeros(len(out), bool)
    return None if (later & ~late).any() else out


def _date_and_clock(names, frame):
    """Parts of a column of dates and one of clocks or hours."""
    columns = {at: words_of(frame[at]) for at in range(min(len(names), WIDEST))}
    date = next(
        (at for at, words in columns.items() if words.map(lambda word: bool(DATES.fullmatch(word))).all()), None
    )
    if date is None or not len(frame):
        return None
    others = sorted((at for at in columns if at != date), key=lambda at: (at < date, abs(at - date)))
    for at in others:
        named = plain(names[at]) in HOURS if names else False
        if _are_clocks(columns[at], named) and seconds(frame, parts := Parts((date, at), True)) is not None:
            return parts
    return None


def _are_clocks(words, named):
    """Whether words are clocks (18:00, 18.00.00), or, under such a name, hours or hours and minutes without a sign."""
    signs = words.map(lambda word: bool(CLOCK.fullmatch(word)) and (":" in word or word.count(".") > 1 or named))
    return bool(signs.all()) or (named and all(word.isdecimal() for word in words.unique()))


def _of_date_and_clock(columns):
    """Seconds of [Series of str] dates and clocks, or None."""
    import pandas

    (days, dates), (clocks, times) = map(pandas.factorize, columns)
    first = moments.seconds(list(dates))
    whole = all(word.isdecimal() and len(word) < DIGITS for word in times)
    wide = whole and max(map(len, times), default=0) > 2  # 1300, not 13
    later = [_hours(word, wide) if whole else _clock(word) for word in times]
    if first is None or None in later:
        return None
    return np.asarray(first)[days] + np.array(later, np.int64)[clocks]


def _hours(word, wide):
    """Seconds of a number of hours, or of hours and minutes (1300)."""
    hours, minutes = divmod(int(word), 100) if wide else (int(word), 0)
    return 3600 * hours + 60 * minutes if hours <= 24 and minutes < 60 else None


def _clock(word):
    """Seconds of a clock, or None."""
    found = CLOCK.fullmatch(word)
    if found is None:
        return None
    hours, minutes, rest = int(found[1]), int(found[2]), int(found[3] or 0)
    if found[4]:
        hours = hours % 12 + 12 * (found[4].lower() == "p")
    return 3600 * hours + 60 * minutes + rest if hours <= 24 and minutes < 60 and rest < 60 else None
