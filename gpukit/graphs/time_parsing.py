"""Parse times of tables, ISO 8601 and other formats, as seconds.

Also reads times of columns from a file of their own.
"""

import re
from datetime import UTC, datetime

import numpy as np

from gpukit.base.arrays import as_array
from gpukit.errors import DataError
from gpukit.io import archives, sources, trust
from gpukit.io.times import exact_seconds, seconds_of
from gpukit.io.words import decode, is_number, quote

FORMS = {  # of days and months, by their order if both are numbers
    "mdy": ("%m/%d/%Y", "%m/%d/%y", "%m-%d-%Y"),
    "dmy": ("%d/%m/%Y", "%d/%m/%y", "%d-%m-%Y"),
    None: (
        *("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d.%m.%y", "%d %b %Y", "%d %b %y", "%b %d %Y"),
        *("%b %Y", "%b %y", "%Y-%m", "%Y/%m", "%m/%Y"),
    ),
}
YEAR_LAST = {"%d.%m.%y": "%y.%m.%d", "%d %b %y": "%y %b %d", "%b %y": "%b %d"}  # and the day last
COMPACT = {6: "%Y%m", 8: "%Y%m%d", 10: "%Y%m%d%H", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}  # by the number of digits
QUARTER = re.compile(r"(\d{4})[ -]?Q([1-4])", re.IGNORECASE)
SPLIT = re.compile(r"(.*?)(?:(?:(?<=\d)T| +)(\d{1,2}(?:[:.]\d\d.*| ?[ap]m)))?", re.DOTALL | re.IGNORECASE)  # day, clock
CLOCK = re.compile(
    r"(\d{1,2})(?:(?P<mark>[:.]?)(\d\d)(?:(?P=mark)(?<=[:.])(\d\d(?:[.,]\d+)?))?)?(?: ?([ap])m)?", re.IGNORECASE
)
UTC_NAME = re.compile(r" *\b(?:UTC|GMT)$")
OFFSET = re.compile(r"[T ]\d.*(?:Z|[+-]\d\d(?::?\d\d)?)$")
NEEDED = "times, one a line, or an .npy of them"
YEAR = re.compile(r"(?:1[5-9]|2[0-4])\d\d")
DATE = re.compile(r"^\d{4}-\d\d-\d\d|\d:\d\d|^\d+[/.]\d+[/.]\d+")  # a date or a clock


def seconds(words, order=None):
    """Return words [str] as seconds (n,) since 1970-01-01 UTC, int64 or float64, or None.

    None if they are not times of one format, or if some have an offset from UTC and others none. Numbers are seconds,
    unless all are dates without separators (20060905, 200609). order: 'mdy' or 'dmy', if the month or the day comes
    first; DataError if the result depends on it and it is not given, and for a number among dates without separators.
    """
    if not words:
        return None
    words = [word.strip() for word in words]
    if is_compact(words):
        return parse_format(words, COMPACT[len(words[0])])
    refuse_odd_dates(words)
    marked = [UTC_NAME.sub("Z", word) for word in words]
    if len({(is_number(word), bool(OFFSET.search(word))) for word in marked}) > 1:
        return None
    if None not in map(seconds_of, marked):
        return exact_seconds(np.array(marked, np.float64 if all(map(is_number, words)) else None))
    days, clocks = zip(*(SPLIT.fullmatch(UTC_NAME.sub("", word)).groups() for word in words))
    later = parse_clocks([clock or "0" for clock in clocks])
    ways = {kind: day for kind in FORMS if not order or kind in (None, order) for day in [parse_days(days, kind)]}
    ways = {kind: result + later for kind, result in ways.items() if result is not None and later is not None}
    if len({np.diff(way).tobytes() for way in ways.values()}) > 1:
        raise DataError(
            f"{quote(words[0])} may have the month first or the day: write dates as 2005-09-06, or say which of "
            "the two with time:mdy or time:dmy in place of time in the --columns of a table (columns=)."
        )
    return next(iter(ways.values()), None)


def have_offset(words):
    """Return True for dates with an offset from UTC, False for dates without; None for numbers of seconds or no times.

    words: [str] that `seconds` accepts, whose first one determines the result.
    """
    word = UTC_NAME.sub("Z", words[0].strip()) if len(words) else "0"
    return None if is_number(word) and not is_compact([word]) else bool(OFFSET.search(word))


def refuse_odd_dates(words):
    """Raise DataError if most words are dates without separators, which the other numbers would turn into seconds."""
    are_dates = [is_compact([word]) for word in words]
    if len(words) > 2 and 2 * sum(are_dates) > len(words):
        odd = next(word for word in words if not is_compact([words[are_dates.index(True)], word]))
        raise DataError(f"{quote(odd)} is no date like {quote(words[are_dates.index(True)])}. Correct or remove it.")


def is_compact(words):
    """Return True for dates without separators, of the years 1800 to 2099."""
    form = COMPACT.get(len(words[0])) if words else None
    is_uniform = form and all(
        len(word) == len(words[0]) and word.isdecimal() and word[:2] in "18 19 20" for word in words
    )
    return bool(is_uniform) and parse_format(words, form) is not None


def parse_days(words, kind):
    """Return days or months as (n,) int64 seconds, by FORMS[kind].

    None for another format.
    """
    words = [QUARTER.sub(lambda match: f"{match[1]}-{3 * int(match[2]) - 2:02d}", word) for word in words]
    words = [re.sub(r"[-, ]*\b([a-z]{3})[a-z]*[-, ]*", r" \1 ", word, flags=re.IGNORECASE).strip() for word in words]
    words = [word.replace(",", "") for word in words]
    match = ((form, parse_format(words, form)) for form in FORMS[kind])
    form, days = next(((form, days) for form, days in match if days is not None), (None, None))
    if form in YEAR_LAST and not is_monotonic(days):
        refuse_day_last(words, YEAR_LAST[form])
    return days


def refuse_day_last(words, form):
    """Raise DataError if words whose last number is read as a year are in order of time with it as the day."""
    leap = "" if "%y" in form else "2000 "
    days = parse_format([leap + word for word in words], f"%Y {form}" if leap else form)
    if days is not None and is_monotonic(days):
        raise DataError(
            f"{quote(words[0])} may end in a year of two digits or in a day: write dates as 2005-09-06, and years "
            "with four digits."
        )


def is_monotonic(numbers):
    """Return True for numbers that never fall or never rise."""
    steps = np.diff(numbers)
    return bool((steps >= 0).all() or (steps <= 0).all())


def parse_format(words, form):
    """Return words in a format as (n,) int64 seconds, or None."""
    known = {}
    try:
        for word in words:
            if word not in known:
                known[word] = int(datetime.strptime(word, form).replace(tzinfo=UTC).timestamp())
    except ValueError:
        return None
    return np.array([known[word] for word in words], np.int64)


def parse_clocks(words):
    """Return clocks or hours as seconds (n,), int64 or float64, or None.

    Clocks: 18:00, 18.00.00, 6:00 PM; hours: 18; hours and minutes: 1800.
    """
    wide = all(map(str.isdecimal, words)) and max(map(len, words), default=0) > 2
    out = []
    for word in words:
        match = CLOCK.fullmatch(word.zfill(4) if wide else word)
        hours, minutes = (int(match[group] or 0) for group in (1, 3)) if match else (99, 0)
        rest = float((match and match[4] or "0").replace(",", "."))
        if match and match[5]:
            hours = hours % 12 + 12 * (match[5].lower() == "p")
        if hours > 24 or minutes > 59 or rest >= 60:
            return None
        out.append(3600 * hours + 60 * minutes + rest)
    return exact_seconds(np.array(out))


def combine_columns(columns, order=None):
    """Return combined time columns [[str]] as seconds (n,), or None.

    They are one column of times; a date and a clock; or year, month, day, hour, minute, second, the first ones of
    these.
    """
    if len(columns) == 1:
        return seconds(columns[0], order)
    if len(columns) == 2 and not all(map(YEAR.fullmatch, columns[0])):
        days = list(dict.fromkeys(columns[0]))  # in their order
        places = np.array([*map({day: place for place, day in enumerate(days)}.get, columns[0])])
        first, later = seconds(days, order), parse_clocks(columns[1])
        return None if first is None or later is None or is_seconds(days) else first[places] + later
    try:
        return np.array([calendar_seconds(*map(int, row)) for row in zip(*columns)], np.int64)
    except (ValueError, OverflowError):
        return None


def is_seconds(words):
    """Return True for numbers that are not dates."""
    return all(map(is_number, words)) and not is_compact(list(words))


def calendar_seconds(year, month, day=1, hour=0, minute=0, second=0):
    """Return the seconds of a moment; ValueError for an invalid one."""
    if not (0 <= hour <= 24 and 0 <= minute < 60 and 0 <= second < 60):
        raise ValueError
    return int(datetime(year, month, day, tzinfo=UTC).timestamp()) + 3600 * hour + 60 * minute + second


def are_dates(words):
    """Return True if there are words and all are dates.

    Numbers are dates only as days without separators: 20060905.
    """
    if words and all(map(is_number, words)):
        return len(words[0]) >= len("20060905") and is_compact(words)
    return bool(words) and bool(DATE.search(words[0]) or not is_number(words[0])) and seconds(words) is not None


def are_years(words):
    """Return True for years at equal distances."""
    whole = len(words) > 2 and all(map(YEAR.fullmatch, words))
    return whole and len({int(b) - int(a) for a, b in zip(words, words[1:])}) == 1


def has_unequal_steps(numbers):
    """Return True for numbers that rise, or fall, by steps of different lengths."""
    steps = np.diff(numbers.astype(np.float64))
    return bool(len(steps) and ((steps > 0).all() or (steps < 0).all()) and not np.allclose(steps, steps[0]))


def seconds_of_array(times, what="times"):
    """Return an array of times of any shape as seconds (n,), int64 or float64; texts are parsed as those of a table.

    Raises DataError with the invalid row.
    """
    array = as_array(times, what).ravel()
    words = array.tolist() if array.dtype.kind in "OU" else []
    if not words or not all(isinstance(word, str) for word in words):
        return exact_seconds(array, what)
    result = seconds(words)
    if result is None:
        row = next((index for index, word in enumerate(words) if seconds([word]) is None), 0)
        raise DataError(
            f"{what}: row {row + 1:,} has {words[row]!r}, which is no time like the others. Give seconds since 1970 or "
            "dates such as 2005-09-06."
        )
    return result


def check_times(times, path):
    """Return the times of a file; None stays None.

    Raises DataError if two are equal, or if one is invalid.
    """
    if times is None:
        return None
    times = as_array(times, f"{path}: times")
    seconds = seconds_of_array(times, f"{path}: times")
    twice = trust.first_repeated(seconds)
    if twice is not None:
        one, other = np.flatnonzero(seconds == twice)[:2]
        value, same = (quote(str(times.flat[index])) for index in (one, other))
        raise DataError(
            f"{path}: times: entries {one + 1:,} and {other + 1:,} are the same time, {value} and {same}. Give each "
            "column a time of its own."
        )
    return times


def read_times(path):
    """Read the times of a tensor's columns from text or .npy.

    Text has one time per line and an optional header. path: a file's name, or '-'. Returns (numbers or seconds,
    have_offset), validated. Raises DataError for other files, invalid times and repeated times.
    """
    with sources.open_source(path, NEEDED) as source:
        if source.format == "npy":
            return check_times(archives.read_npy(source), source.name), None
        if source.format == "npz":
            raise DataError(f"{source.name} is an .npz; --times takes {NEEDED}. An .npz keeps them as its array times.")
        text = decode(sources.read_whole(source, NEEDED)[1])
    words = [word.strip(' \t"') for word in text.splitlines() if word.strip()]
    if len(words) > 1 and seconds(words[:1]) is None and seconds(words[1:]) is not None:
        words = words[1:]
    result = seconds(words)
    if result is None:
        bad = next((index for index, word in enumerate(words) if seconds([word]) is None), 0)
        what = f"line {bad + 1:,} is {quote(words[bad])}" if words else "it is empty"
        raise DataError(f"{path} has no times in one spelling: {what}. Give {NEEDED}: seconds or dates.")
    return check_times(result, path), have_offset(words)
