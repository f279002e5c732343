"""A wide table without a graph: which of its sides is time, and which are the sensors."""

from gpukit.base import check_choice
from gpukit.errors import DataError
from gpukit.graphs.layouts.moments import compact, seconds
from gpukit.graphs.layouts.roles import CLOCK, NAMES, WEAK, is_called
from gpukit.io.arrays import plain
from gpukit.io.words import is_number, shown

SIDES = ("rows", "columns")
COUNTED = ("index", "step", "t", "month", "quarter", "week", "day", "period")  # a first column that is no sensor


def side_of(path, labels, head, layout=None, known=None, name=None):
    """'columns' where a column is a sensor, 'rows' where a row is.

    labels, head: the words of the first column and of the header, or None. known: ids of vertices, or None. name: what
    the header calls the first column. The side whose words are known is the sensors; else that whose words are dates is
    time; else the columns are the sensors. DataError where both are dates, and where the labels are no times.
    """
    check_choice("layout", layout, (None, *SIDES))
    named = [bool(words) and known is not None and set(words) <= known for words in (labels, head)]
    if layout is None and any(named):
        return "columns" if named[1] else "rows"
    dated = [are_dates(words) for words in (labels, head)]
    if all(dated) and layout is None:
        raise DataError(f"{path} has dates in its first column and in its first line. Say what a sensor is: --layout.")
    if layout is None and not any(dated) and labels and role_of(name) == "sensor" and are_rising(head):
        return "rows"
    if layout is None and not any(dated):
        refuse_labels(path, name, labels)
    return layout or ("rows" if dated[1] else "columns")


def refuse_labels(path, name, labels):
    """DataError for a first column that could be no times: what a row is of is not clear."""
    if not labels or role_of(name) == "time" or are_dates(labels):
        return
    if role_of(name) == "sensor" or not (are_rising(labels) or are_rising(labels[::-1])):
        raise DataError(
            f"{path} labels its lines {', '.join(map(shown, labels[:2]))}, ..., which are no times, so which side is "
            "time is not clear. Say what a sensor is: --layout rows or --layout columns (layout=)."
        )


def are_rising(words):
    """Return True for numbers, each above the one before it."""
    if not words or not all(map(is_number, words)):
        return False
    numbers = list(map(float, words))
    return all(one < other for one, other in zip(numbers, numbers[1:]))


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


def role_of(name):
    """'time' or 'sensor', what the name of a side or a level says it is; None where it says nothing."""
    if name is None or not str(name):
        return None
    if names_times(str(name)):
        return "time"
    return "sensor" if is_called(str(name), "sensor") and plain(name) not in WEAK else None
