"""Times in the spellings that tables have, ISO 8601 and others, as seconds."""

import math
import re
from datetime import UTC, datetime
from itertools import product

import numpy as np

from gpukit.io.times import seconds_of

DAYS = (
    *("%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%m/%d/%y", "%d/%m/%y", "%d.%m.%y"),
    *("%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d %Y", "%b %d, %Y", "%d %B %Y", "%B %d %Y", "%B %d, %Y"),
)
CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
MONTHS = ("%Y-%m", "%Y/%m", "%m/%Y", "%b %Y", "%B %Y", "%b-%Y", "%b-%y")
FORMATS = (*("".join(pair) for pair in product(DAYS, CLOCKS)), *MONTHS)
COMPACT = {6: "%Y%m", 8: "%Y%m%d", 10: "%Y%m%d%H", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}  # by the number of digits
YEARS = re.compile("1[89]|20")  # what a date without signs begins with: else it is a number of seconds
QUARTER = re.compile(r"(\d{4})[ -]?Q([1-4])", re.IGNORECASE)


def seconds(words):
    """(n,) int64 seconds since 1970-01-01 UTC of words [str], or None where they are no times of one spelling.

    Numbers are seconds, fractions cut off, unless all are dates without signs (20060905, 200609). Where the month could
    come first or the day, that is taken by which the times have the fewest different steps.
    """
    form = compact(words)
    found = [seconds_of(word) if form is None else parsed(word, form) for word in words]
    if None not in found:
        return np.array(found, np.int64)
    words = [in_months(word) for word in words]
    usual = [one for one in FORMATS if parsed(words[0], one) is not None]
    found = [[parsed(word, one) for word in words] for one in usual]
    found = [np.array(one, np.int64) for one in found if None not in one]
    return min(found, key=lambda one: len(np.unique(np.diff(one))), default=None)


def compact(words):
    """The format of words that all are dates without signs, or None."""
    form = COMPACT.get(len(words[0])) if words else None
    if form is None or not all(len(word) == len(words[0]) and word.isdecimal() for word in words):
        return None
    return form if all(YEARS.match(word) and parsed(word, form) is not None for word in words) else None


def in_months(word):
    """A quarter of a year (1970 Q1, 2006Q3) as the month with which it begins; other words as they are."""
    found = QUARTER.fullmatch(word.strip())
    return f"{found[1]}-{3 * int(found[2]) - 2:02d}" if found else word


def parsed(word, form):
    """Seconds of one word in a format, or None."""
    try:
        return math.floor(datetime.strptime(word.strip(), form).replace(tzinfo=UTC).timestamp())
    except ValueError:
        return None
