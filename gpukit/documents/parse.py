"""Parse a block of svmlight lines to arrays on all cores.

    2 qid:10032 1:0.056537 ... 46:0.076923 #docid = GX029-35-5894638

A block is split at newlines into ranges that are parsed in parallel, each into its own part of the arrays.
Numbers that the fast parser cannot decide stay NaN and are resolved by the caller.

Every line of a buffer ends with a newline, so scans need no bound.
"""

from collections import namedtuple

import numpy as np

from gpukit._jit import njit
from gpukit.base.arrays import EXACT
from gpukit.documents.adopt import NULL, NULL_ERROR, NULL_KEPT
from gpukit.io.words import FLOAT32_MAX
from gpukit.scheduler import by_block

NEWLINE, RETURN, SPACE, TAB, COLON = (np.uint8(ord(letter)) for letter in "\n\r \t:")
MINUS, PLUS, POINT, ZERO, NINE = (np.uint8(ord(letter)) for letter in "-+.09")
POWERS = 10.0 ** np.arange(23)  # exact in float64
LONGEST = np.int64(10**17)  # mantissas have at most 18 digits
NO_DECIMAL, CUT, WHOLE = range(3)
# Problems of a line other than invalid numbers.
FINE, NO_QID, NO_INDEX, INDEX_ZERO, NOT_ASCENDING, NULL_TOKEN, INDEX_LARGE = range(7)
HASH = np.uint8(ord("#"))
LARGEST_INDEX = np.int64(2**31 - 1)
# The largest float64: its first digits, cut or rounded to five, their power of ten, and a bound of its roundings.
LARGEST_DIGITS, DIGITS_END, LARGEST_POWER = np.int64(17976), np.int64(10**5), np.int64(304)
LEAST_POWER = np.int64(200)  # of a mantissa of it

# Rows of a block, with gaps between ranges. labels (rows,) float64; starts (rows,) int64: offset of the line; numbers
# (rows,) int64: number of the line in the block, from 0; spans (rows, 4) int64: [start, stop) of the query id and of
# the comment, -1 for none; begins, counts (rows,) int64: the row's features are in indices (tokens,) int32, 1-based,
# and values (tokens,) float32 or float64, from begins on.
Lines = namedtuple("Lines", "labels starts numbers spans begins counts indices values")
BY_ROW = Lines._fields[:6]
# Options of the parser, as ints: 1 for query ids, the rule for NULL.
Rule = namedtuple("Rule", "has_qids null")
# Stored features of rows: counts (rows,) int64 of them, in indices (1-based) from places (rows,) int64 on, and in
# values from begins (rows,) int64 on.
Features = namedtuple("Features", "counts places indices begins values")
# Columns of the report of a range.
ROWS, PROBLEM, POSITION, LARGEST, OPEN, NULLS = range(6)


@njit
def is_line_end(buffer, position):
    """Return True at a newline, or at a carriage return before one."""
    return buffer[position] == NEWLINE or (buffer[position] == RETURN and buffer[position + 1] == NEWLINE)


@njit(fastmath=False)
def double(buffer, start, stop):
    """Return float(text) of [start, stop), NaN if undecided.

    NaN also marks text that is no decimal or exceeds float32; the caller resolves these. A mantissa below 2**53 times
    or over an exact power of ten rounds once [Clinger, "How to read floating point numbers accurately", 1990]. For
    mantissas of up to 18 digits, as programs print float64: the quotient (or product) by a power of ten, and its
    residual, which has a relative error of 2**-50. Their sum rounds once.
    """
    error = 2.0**-49
    mantissa, scale, kind = _mantissa(buffer, start, stop)
    if kind != WHOLE or abs(scale) > 22:
        return np.nan
    high, power = np.float64(mantissa), POWERS[abs(scale)]
    if mantissa <= EXACT:
        value = high / power if scale < 0 else high * power
        return -value if buffer[start] == MINUS else value
    low = np.float64(mantissa - np.int64(high))
    if scale < 0:
        value = high / power
        product, rest = _product(value, power)
        lacking = (((high - product) - rest) + low) / power
    else:
        value, rest = _product(high, power)
        lacking = rest + low * power
    result = value + lacking * (1.0 - error)
    if result != value + lacking * (1.0 + error) or result > FLOAT32_MAX:
        return np.nan
    return -result if buffer[start] == MINUS else result


@njit(fastmath=False)
def _short_decimal(buffer, position):
    """Return (value, end) of a decimal of up to 15 digits without an exponent, before a blank or a line end, or NaN.

    Most values of features are such: they are read in one pass.
    """
    start = stop = position + (buffer[position] == MINUS)
    mantissa, digits, decimals = np.int64(0), np.int64(0), np.int64(0)
    while buffer[stop] - ZERO < 10:
        mantissa = mantissa * 10 + np.int64(buffer[stop] - ZERO)
        stop += 1
    digits = stop - start
    if buffer[stop] == POINT:
        stop += 1
        while buffer[stop] - ZERO < 10:
            mantissa = mantissa * 10 + np.int64(buffer[stop] - ZERO)
            stop += 1
            decimals += 1
        digits += decimals
    if not 0 < digits <= 15 or (buffer[stop] != SPACE and buffer[stop] != NEWLINE):
        return np.nan, stop
    value = np.float64(mantissa) / POWERS[decimals]
    return -value if start > position else value, stop


@njit(fastmath=False)
def _product(a, b):
    """Return (rounded, rest) with a b = rounded + rest exactly [Dekker 1971].

    a and b are of moderate size.
    """
    rounded, splitter = a * b, 2.0**27 + 1.0
    big_a, big_b = a * splitter, b * splitter
    a_high, b_high = big_a - (big_a - a), big_b - (big_b - b)
    a_low, b_low = a - a_high, b - b_high
    return rounded, ((a_high * b_high - rounded) + a_high * b_low + a_low * b_high) + a_low * b_low


@njit
def _mantissa(buffer, start, stop):
    """Return (mantissa of up to 18 digits, power of ten, kind) of [start, stop).

    The sign is ignored. CUT: there are more digits.
    """
    position = start + 1 if stop > start and (buffer[start] == MINUS or buffer[start] == PLUS) else start
    mantissa, digits, scale, point, kind = np.int64(0), 0, np.int64(0), False, WHOLE
    while position < stop and ((ZERO <= buffer[position] <= NINE) or (buffer[position] == POINT and not point)):
        if buffer[position] == POINT:
            point = True
        else:
            digits += 1
            if mantissa < LONGEST:
                mantissa = mantissa * 10 + (np.int64(buffer[position]) - np.int64(48))
                scale -= point
            else:
                scale += not point
                kind = CUT
        position += 1
    exponent, good = _exponent(buffer, position, stop)
    return mantissa, scale + exponent, kind if digits and good else NO_DECIMAL


@njit
def _exponent(buffer, position, stop):
    """Return (value, True) of an exponent such as e-05 at [at, stop).

    (0, True) for none, (0, False) for other text.
    """
    if position == stop:
        return np.int64(0), True
    negative = position + 1 < stop and buffer[position + 1] == MINUS
    first = position + 2 if negative or (position + 1 < stop and buffer[position + 1] == PLUS) else position + 1
    if buffer[position] | np.uint8(32) != np.uint8(101) or first >= stop or stop - first > 4:  # e or E
        return np.int64(0), False
    value = np.int64(0)
    for place in range(first, stop):
        if not ZERO <= buffer[place] <= NINE:
            return np.int64(0), False
        value = value * 10 + (np.int64(buffer[place]) - np.int64(48))
    return (-value if negative else value), True


def features_of(lines):
    """Return the Features of Lines; shared indices are stored once."""
    is_same = np.empty(len(lines.counts), np.bool_)
    compare_indices(lines, is_same)
    if len(is_same) and is_same.all():
        first = lines.begins[0]
        shared = lines.indices[first : first + lines.counts[0]].copy()
        return Features(lines.counts, np.zeros_like(lines.begins), shared, lines.begins, lines.values)
    return Features(lines.counts, lines.begins, lines.indices, lines.begins, lines.values)


def empty_lines(rows, tokens, dtype):
    """Return uninitialized Lines for rows and tokens; dtype: of the values."""
    starts, numbers, begins, counts = np.empty((4, rows), np.int64)
    indices, values = np.empty(tokens, np.int32), np.empty(tokens, dtype)
    return Lines(np.empty(rows), starts, numbers, np.empty((rows, 4), np.int64), begins, counts, indices, values)


@by_block(lambda bounds: len(bounds) - 1, heavy=True)
def count(start, stop, buffer, bounds, counts):
    """Count newlines and colons of each range [bounds[k], bounds[k+1]) of buffer (uint8) in counts (parts, 2) int64."""
    for part in range(start, stop):
        lines, colons = np.int64(0), np.int64(0)
        for letter in buffer[bounds[part] : bounds[part + 1]]:
            lines += letter == NEWLINE
            colons += letter == COLON
        counts[part, 0], counts[part, 1] = lines, colons


@by_block(lambda bounds: len(bounds) - 1, heavy=True)
def parse(start, stop, buffer, bounds, first_row, first_token, rule, lines, report):
    """Parse each range [bounds[k], bounds[k+1]) into lines.

    Range k writes from row first_row[k] and token first_token[k] on. buffer uint8, every line ended by a newline; rule:
    a Rule; report (parts, 6) int64: rows, problem, its position, the largest index, undecided numbers (NaN), NULL
    tokens.
    """
    for part in range(start, stop):
        _parse_range(
            buffer, bounds[part], bounds[part + 1], rule, first_row[part], first_token[part], lines, report[part]
        )


@njit
def _parse_range(buffer, position, end, rule, row, token, lines, report):
    report[:] = 0
    first, line = row, row  # a range has a row per line
    while position < end:
        start = position
        position = _blanks(buffer, position)
        if buffer[position] != HASH and not is_line_end(buffer, position):
            lines.starts[row], lines.numbers[row], lines.begins[row] = start, line, token
            position = _parse_head(buffer, position, rule, row, lines, report)
            if report[PROBLEM] == FINE:
                position, token = _parse_features(buffer, position, rule, token, lines, report)
            if report[PROBLEM] != FINE:
                break
            lines.counts[row] = token - lines.begins[row]
            position = _comment(buffer, position, lines.spans[row])
            row += 1
        while buffer[position] != NEWLINE:
            position += 1
        position += 1
        line += 1
    report[ROWS] = row - first


@njit
def _parse_head(buffer, position, rule, row, lines, report):
    """Parse a line's label and query id; return the next position."""
    stop = _token_end(buffer, position)
    label = double(buffer, position, stop)
    lines.labels[row] = label if abs(label) <= EXACT else np.nan  # larger labels may be whole numbers of int64
    report[OPEN] += np.isnan(lines.labels[row])
    position = _blanks(buffer, stop)
    if not rule.has_qids:
        return position
    stop = _token_end(buffer, position)
    if (
        stop < position + 5
        or buffer[position] != 113
        or buffer[position + 1] != 105
        or buffer[position + 2] != 100
        or buffer[position + 3] != COLON
    ):
        report[PROBLEM], report[POSITION] = NO_QID, lines.starts[row]  # the letters are q, i, d
    lines.spans[row, 0], lines.spans[row, 1] = position + 4, stop
    return _blanks(buffer, stop)


@njit
def _parse_features(buffer, position, rule, token, lines, report):
    """Parse the tokens index:value of a line; return (position, next free token)."""
    before = np.int64(0)
    while buffer[position] != HASH and not is_line_end(buffer, position):
        index, start = np.int64(0), position
        while buffer[position] - ZERO < 10 and index <= LARGEST_INDEX:
            index = index * 10 + np.int64(buffer[position] - ZERO)
            position += 1
        large = index > LARGEST_INDEX
        while buffer[position] - ZERO < 10:
            position += 1
        if buffer[position] != COLON or position == start or large:
            report[PROBLEM], report[POSITION] = INDEX_LARGE if large and buffer[position] == COLON else NO_INDEX, start
            break
        if index <= before:
            report[PROBLEM], report[POSITION] = NOT_ASCENDING if index else INDEX_ZERO, start
            break
        value, stop = _short_decimal(buffer, position + 1)
        if np.isnan(value):
            stop = _token_end(buffer, position + 1)
            value = double(buffer, position + 1, stop)
        if np.isnan(value):
            value = _parse_other(buffer, position + 1, stop, rule, report)
            if report[PROBLEM] != FINE:
                report[POSITION] = start
                break
        lines.indices[token], lines.values[token] = index, value
        before = index
        token += 1
        position = _blanks(buffer, stop)
    report[LARGEST] = max(report[LARGEST], before)
    return position, token


@njit
def _parse_other(buffer, start, stop, rule, report):
    """Return the value of a token that is not a plain decimal.

    NULL, and the largest float64, follow the rule; other tokens are NaN and counted as open.
    """
    if (
        stop == start + 4
        and buffer[start] == 78
        and buffer[start + 1] == 85
        and buffer[start + 2] == 76
        and buffer[start + 3] == 76
    ) or _is_largest(buffer, start, stop):  # N, U, L, L
        report[NULLS] += 1
        if rule.null == NULL_ERROR:
            report[PROBLEM] = NULL_TOKEN
        return NULL if rule.null == NULL_KEPT else np.float32(0.0)
    report[OPEN] += 1
    return np.float32(np.nan)


@njit
def _is_largest(buffer, start, stop):
    """Return True for the largest float64, rounded to at least five digits: Istella's mark of a missing value."""
    mantissa, power, kind = _mantissa(buffer, start, stop)
    if kind == NO_DECIMAL or power < LEAST_POWER or buffer[start] == MINUS:  # so that most tokens take no loop
        return False
    while mantissa >= DIGITS_END:
        mantissa //= 10
        power += 1
    return power == LARGEST_POWER and 0 <= mantissa - LARGEST_DIGITS <= 1


@njit
def _comment(buffer, position, spans):
    """Store the span of the comment without surrounding blanks; return its end."""
    spans[2] = spans[3] = -1
    if buffer[position] != HASH:
        return position
    spans[2] = _blanks(buffer, position + 1)
    position = stop = spans[2]
    while buffer[position] != NEWLINE:
        if not is_line_end(buffer, position) and buffer[position] != SPACE and buffer[position] != TAB:
            stop = position + 1
        position += 1
    spans[3] = stop
    return position


@njit
def _blanks(buffer, position):
    """Return the first position from `position` on that is not a blank."""
    while buffer[position] == SPACE or buffer[position] == TAB:
        position += 1
    return position


@njit
def _token_end(buffer, position):
    """Return the end of the token at `position`.

    It ends at a blank, a comment or the line's end.
    """
    while buffer[position] > SPACE and buffer[position] != HASH:
        position += 1
    while (
        buffer[position] != SPACE
        and buffer[position] != TAB
        and buffer[position] != HASH
        and not is_line_end(buffer, position)
    ):
        position += 1  # control characters are not blanks
    return position


@njit
def token_span(buffer, position, which):
    """Return (start, stop) of token `which` of the line at `position`.

    Token 0 is the label.
    """
    position = _blanks(buffer, position)
    for _ in range(which):
        position = _blanks(buffer, _token_end(buffer, position))
    return position, _token_end(buffer, position)


def undecided_numbers(lines):
    """Return [(row, feature position)] of each NaN in order; the position is -1 for the label."""
    rows = np.repeat(np.arange(len(lines.counts)), lines.counts)
    places = np.arange(len(rows)) - np.repeat(np.cumsum(lines.counts) - lines.counts, lines.counts)
    is_open = np.isnan(lines.values[lines.begins[rows] + places])
    labels = [(row, -1) for row in np.flatnonzero(np.isnan(lines.labels)).tolist()]
    return sorted([*labels, *zip(rows[is_open].tolist(), places[is_open].tolist())])


@njit
def query_starts(buffer, spans):
    """Return a mask (rows,) of rows with a new query id.

    True in the first row.
    """
    fresh = np.ones(len(spans), dtype=np.bool_)
    for row in range(1, len(spans)):
        start, before = spans[row, 0], spans[row - 1, 0]
        length = spans[row, 1] - start
        same = length == spans[row - 1, 1] - before
        position = 0
        while same and position < length:
            same = buffer[start + position] == buffer[before + position]
            position += 1
        fresh[row] = not same
    return fresh


@by_block(lambda lines, is_same: len(is_same))
def compare_indices(start, stop, lines, is_same):
    """Set is_same (rows,) to whether a row has the indices of the first one."""
    for row in range(start, stop):
        is_same[row] = lines.counts[row] == lines.counts[0]
        place = 0
        while is_same[row] and place < lines.counts[0]:
            is_same[row] = lines.indices[lines.begins[row] + place] == lines.indices[lines.begins[0] + place]
            place += 1


@by_block(lambda features: len(features.begins))
def spread(start, stop, features, X):
    """Fill dense X from the Features of each row.

    X (rows, n) float32 or float64.
    """
    for row in range(start, stop):
        X[row, :] = np.float32(0.0)
        for place in range(features.counts[row]):
            column = features.indices[features.places[row] + place] - 1
            X[row, column] = features.values[features.begins[row] + place]


@by_block(lambda features: len(features.begins))
def gather(start, stop, features, indptr, columns, data):
    """Fill columns (stored,) integers, 0-based, and data (stored,) of CSR rows.

    Rows begin at indptr (rows,).
    """
    for row in range(start, stop):
        for place in range(features.counts[row]):
            columns[indptr[row] + place] = features.indices[features.places[row] + place] - 1
            data[indptr[row] + place] = features.values[features.begins[row] + place]
