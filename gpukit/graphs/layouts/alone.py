"""A wide table without a graph: which of its sides is time, and which are the sensors."""

from gpukit.base import check_choice
from gpukit.errors import DataError
from gpukit.graphs.layouts.moments import compact, seconds
from gpukit.graphs.layouts.roles import CLOCK, NAMES
from gpukit.io.arrays import plain
from gpukit.io.words import is_number

SIDES = ("rows", "columns")
COUNTED = ("index", "step", "t", "month", "quarter", "week", "day", "period")  # a first column that is no sensor


def side_of(path, labels, head, layout=None, known=None):
    """'columns' where a column is a sensor, 'rows' where a row is.

    labels, head: the words of the first column and of the header, or None. known: ids of vertices, or None. The side
    whose words are known is the sensors; else that whose words are dates is time; else the columns are the sensors.
    DataError where both are dates.
    """
    check_choice("layout", layout, (None, *SIDES))
    named = [bool(words) and known is not None and set(words) <= known for words in (labels, head)]
    if layout is None and any(named):
        return "columns" if named[1] else "rows"
    dated = [are_dates(words) for words in (labels, head)]
    if all(dated) and layout is None:
        raise DataError(f"{path} has dates in its first column and in its first line. Say what a sensor is: --layout.")
    return layout or ("rows" if dated[1] else "columns")


def are_dates(words):
    """Whether words, if there are any, all are dates or clocks. Of those without signs days alone: months of six digits
    may be ids."""
    if not words:
        return False
    if all(CLOCK.search(word) for word in words):
        return True
    if all(is_number(word) for word in words):
        return len(words[0]) >= len("20060905") and compact(words) is not None
    return seconds(words) is not None


def names_times(word):
    """Whether a header calls its first column times, or nothing."""
    return not word or plain(word) in NAMES["time"] or plain(word) in COUNTED
