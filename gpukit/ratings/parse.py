"""One block of lines -> arrays, on all cores: cut at newlines into ranges, each parsed to where its rows belong."""

import numpy as np

from gpukit._jit import njit, prange
from gpukit.io.fields import COLON, decimal, integer, split_line, text_key

# What can be wrong with a line; the smallest position of a problem in a block is reported.
FINE, COLUMNS, OPEN_QUOTE, USER_TEXT, ITEM_TEXT, NO_USER, NO_ITEM, NO_HEADER = range(8)
UNKNOWN = np.int64(-(2**63))  # the item of rows that come before the first `MovieID:` line of their range


@njit(parallel=True, nogil=True)
def parse(buffer, bounds, first_row, rule, users, items, values, starts, report):
    """Parse each range [bounds[k], bounds[k+1]) into rows from first_row[k] on.

    buffer uint8, every line ended by a newline; rule (9,) int64: see `formats.Layout.rule`. Out: users, items (rows,)
    int64 ids (hashes where text), values (rows,) float32 (NaN: not a plain number, to be settled), starts (rows, 3)
    int32 where the user, item and rating stand; report (ranges, 4) int64: rows, problem, its position, the last
    `MovieID:`.
    """
    for part in prange(len(bounds) - 1):
        _parse_range(
            buffer, bounds[part], bounds[part + 1], rule, first_row[part], users, items, values, starts, report[part]
        )


@njit
def _parse_range(buffer, at, end, rule, row, users, items, values, starts, report):
    spans = np.zeros((max(rule[2], 1), 2), dtype=np.int64)
    report[0], report[1], report[3] = 0, FINE, UNKNOWN
    while at < end:
        count, following = split_line(buffer, at, np.uint8(rule[0]), rule[1], spans)
        report[2] = at
        at = following
        if count == 1 and spans[0, 0] == spans[0, 1]:  # an empty line
            continue
        if rule[8] and count == 1 and buffer[spans[0, 1] - 1] == COLON:
            movie, good = integer(buffer, spans[0, 0], spans[0, 1] - 1)
            if good:
                report[3] = movie
                continue
        if count != rule[2]:
            report[1] = COLUMNS if count >= 0 else OPEN_QUOTE
            return
        report[1] = _parse_row(buffer, spans, rule, report[3], row + report[0], users, items, values, starts)
        if report[1] != FINE:
            return
        report[0] += 1


@njit
def _parse_row(buffer, spans, rule, movie, row, users, items, values, starts):
    """Write one row; returns FINE or what is wrong with it."""
    user, item, rating = rule[3], rule[4], rule[5]
    starts[row, 0] = spans[user, 0]
    users[row], good = _identifier(buffer, spans[user, 0], spans[user, 1], rule[6])
    if not good:
        return USER_TEXT if spans[user, 1] > spans[user, 0] else NO_USER
    if item < 0:
        items[row] = movie
    else:
        starts[row, 1] = spans[item, 0]
        items[row], good = _identifier(buffer, spans[item, 0], spans[item, 1], rule[7])
        if not good:
            return ITEM_TEXT if spans[item, 1] > spans[item, 0] else NO_ITEM
    if rating >= 0:
        starts[row, 2] = spans[rating, 0]
        values[row] = decimal(buffer, spans[rating, 0], spans[rating, 1])
    return FINE


@njit
def _identifier(buffer, start, stop, as_text):
    """(int64 id or hash, good): an id is good unless it is empty or, as_text being 0, not an integer."""
    if as_text:
        return text_key(buffer, start, stop), stop > start
    return integer(buffer, start, stop)


@njit
def fill_unknown(items, first_row, report, movie):
    """Give rows before their range's first `MovieID:` the one before it; returns (last MovieID, a bad range or -1)."""
    for part in range(len(report)):
        for row in range(first_row[part], first_row[part] + report[part, 0]):
            if items[row] != UNKNOWN:
                break
            if movie == UNKNOWN:
                return movie, part
            items[row] = movie
        if report[part, 3] != UNKNOWN:
            movie = report[part, 3]
    return movie, -1


@njit
def field_stops(buffer, starts, sep, width):
    """Where the fields that start at starts (n,) end: (n,) int64."""
    stops = np.empty(len(starts), dtype=np.int64)
    spans = np.zeros((1, 2), dtype=np.int64)
    for row in range(len(starts)):
        at = starts[row]
        if at > 0 and buffer[at - 1] == 34:  # the quote that `split_line` left out
            at -= 1
        split_line(buffer, at, sep, width, spans)
        stops[row] = spans[0, 1]
    return stops
