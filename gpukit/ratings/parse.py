"""One block of lines -> arrays, on all cores: cut at newlines into ranges, each parsed to where its rows belong."""

from collections import namedtuple

import numpy as np

from gpukit._jit import njit
from gpukit.io.fields import COLON, QUOTE, decimal, double, integer, split_line, text_key
from gpukit.io.times import seconds
from gpukit.scheduler import by_block

# What can be wrong with a line; the smallest position of a problem in a block is reported.
FINE, COLUMNS, OPEN_QUOTE, USER_TEXT, ITEM_TEXT, NO_USER, NO_ITEM, NO_HEADER = range(8)
UNKNOWN = np.int64(-(2**63))  # the item of rows that come before the first `MovieID:` line of their range

# How lines are read, in ints: the separator's byte and width (see `fields.split_line`), fields a line; the places of
# the columns, -1 for one that is not read; whether ids are text (1) or integers; whether `MovieID:` lines come up.
Rule = namedtuple("Rule", "sep width fields user item rating time weight count user_text item_text movies")
# A block's rows. users, items (rows,) int64 ids (hashes where text); values (rows,) float32; starts (rows, 3 or 6)
# int32: where the fields stand; times (rows,) int64; weights (rows,) float32; counts (rows,) float64: these three
# empty, and starts three wide, when not read. NaN (UNSETTLED in times): the caller settles it.
Rows = namedtuple("Rows", "users items values starts times weights counts")
USER, ITEM, RATING, TIME, WEIGHT, COUNT = range(6)  # the columns of starts
# The columns of the report of a range.
COUNTED, PROBLEM, POSITION, MOVIE = range(4)


def empty_rows(count, rule):
    """Rows with room for so many, and for what the Rule reads."""
    some = max(rule.time, rule.weight, rule.count) >= 0
    return Rows(
        np.empty(count, dtype=np.int64),
        np.empty(count, dtype=np.int64),
        (np.empty if rule.rating >= 0 else np.zeros)(count, dtype=np.float32),
        np.empty((count, 6 if some else 3), dtype=np.int32),
        np.empty(count if rule.time >= 0 else 0, dtype=np.int64),
        np.empty(count if rule.weight >= 0 else 0, dtype=np.float32),
        np.empty(count if rule.count >= 0 else 0, dtype=np.float64),
    )


@by_block(lambda bounds: len(bounds) - 1, heavy=True)
def parse(start, stop, buffer, bounds, first_row, rule, rows, report):
    """Parse each range [bounds[k], bounds[k+1]) into Rows from first_row[k] on.

    buffer uint8, every line ended by a newline; rule: a Rule. Out: rows; report (ranges, 4) int64: rows, problem, its
    position, the last `MovieID:`.
    """
    for part in range(start, stop):
        _parse_range(buffer, bounds[part], bounds[part + 1], rule, first_row[part], rows, report[part])


@njit
def _parse_range(buffer, at, end, rule, row, rows, report):
    spans = np.zeros((max(rule.fields, 1), 2), dtype=np.int64)
    report[COUNTED], report[PROBLEM], report[MOVIE] = 0, FINE, UNKNOWN
    while at < end:
        count, following = split_line(buffer, at, np.uint8(rule.sep), rule.width, spans)
        report[POSITION] = at
        at = following
        if count == 1 and spans[0, 0] == spans[0, 1]:  # an empty line
            continue
        if rule.movies and count == 1 and buffer[spans[0, 1] - 1] == COLON:
            movie, good = integer(buffer, spans[0, 0], spans[0, 1] - 1)
            if good:
                report[MOVIE] = movie
                continue
        if count != rule.fields:
            report[PROBLEM] = COLUMNS if count >= 0 else OPEN_QUOTE
            return
        report[PROBLEM] = _parse_row(buffer, spans, rule, report[MOVIE], row + report[COUNTED], rows)
        if report[PROBLEM] != FINE:
            return
        report[COUNTED] += 1


@njit
def _parse_row(buffer, spans, rule, movie, row, rows):
    """Write one row; returns FINE or what is wrong with it."""
    user, item, rating = rule.user, rule.item, rule.rating
    rows.starts[row, USER] = spans[user, 0]
    rows.users[row], good = _identifier(buffer, spans[user, 0], spans[user, 1], rule.user_text)
    if not good:
        return USER_TEXT if spans[user, 1] > spans[user, 0] else NO_USER
    if item < 0:
        rows.items[row] = movie
    else:
        rows.starts[row, ITEM] = spans[item, 0]
        rows.items[row], good = _identifier(buffer, spans[item, 0], spans[item, 1], rule.item_text)
        if not good:
            return ITEM_TEXT if spans[item, 1] > spans[item, 0] else NO_ITEM
    if rating >= 0:
        rows.starts[row, RATING] = spans[rating, 0]
        rows.values[row] = decimal(buffer, spans[rating, 0], spans[rating, 1])
    _parse_extras(buffer, spans, rule, row, rows)
    return FINE


@njit
def _parse_extras(buffer, spans, rule, row, rows):
    """Write the optional columns of a row."""
    if rule.time >= 0:
        rows.starts[row, TIME] = spans[rule.time, 0]
        rows.times[row] = seconds(buffer, spans[rule.time, 0], spans[rule.time, 1])
    if rule.weight >= 0:
        rows.starts[row, WEIGHT] = spans[rule.weight, 0]
        rows.weights[row] = decimal(buffer, spans[rule.weight, 0], spans[rule.weight, 1])
    if rule.count >= 0:
        rows.starts[row, COUNT] = spans[rule.count, 0]
        rows.counts[row] = double(buffer, spans[rule.count, 0], spans[rule.count, 1])


@njit
def _identifier(buffer, start, stop, as_text):
    """(int64 id or hash, good): an id is good unless it is empty or, as_text being 0, not an integer."""
    if as_text:
        return text_key(buffer, start, stop, start > 0 and buffer[start - 1] == QUOTE), stop > start
    return integer(buffer, start, stop)


@njit
def fill_unknown(items, first_row, report, movie):
    """Give rows before their range's first `MovieID:` the one before it; returns (last MovieID, a bad range or -1)."""
    for part in range(len(report)):
        for row in range(first_row[part], first_row[part] + report[part, COUNTED]):
            if items[row] != UNKNOWN:
                break
            if movie == UNKNOWN:
                return movie, part
            items[row] = movie
        if report[part, MOVIE] != UNKNOWN:
            movie = report[part, MOVIE]
    return movie, -1


@njit
def field_stops(buffer, starts, sep, width):
    """Where the fields that start at starts (n,) end: (n,) int64."""
    stops = np.empty(len(starts), dtype=np.int64)
    spans = np.zeros((1, 2), dtype=np.int64)
    for row in range(len(starts)):
        at = starts[row]
        if at > 0 and buffer[at - 1] == QUOTE:  # the one that `split_line` left out
            at -= 1
        split_line(buffer, at, sep, width, spans)
        stops[row] = spans[0, 1]
    return stops
