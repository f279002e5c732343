"""Times in the spellings that tables have, ISO 8601 and others, as seconds."""

import math
from datetime import UTC, datetime
from itertools import product

import numpy as np

from gpukit.io.times import seconds_of

DAYS = ("%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%m/%d/%y", "%d/%m/%y", "%d.%m.%y")
CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
FORMATS = tuple("".join(pair) for pair in product(DAYS, CLOCKS))


def seconds(words):
    """(n,) int64 seconds since 1970-01-01 UTC of words [str], or None where they are no times of one spelling.

    Numbers are seconds, fractions cut off. Where the month could come first or the day, that is taken by which
    the times have the fewest different steps.
    """
    found = [seconds_of(word) for word in words]
    if None not in found:
        return np.array(found, np.int64)
    usual = [one for one in FORMATS if parsed(words[0], one) is not None]
    found = [[parsed(word, one) for word in words] for one in usual]
    found = [np.array(one, np.int64) for one in found if None not in one]
    return min(found, key=lambda one: len(np.unique(np.diff(one))), default=None)


def parsed(word, form):
    """Seconds of one word in a format, or None."""
    try:
        return math.floor(datetime.strptime(word.strip(), form).replace(tzinfo=UTC).timestamp())
    except ValueError:
        return None
