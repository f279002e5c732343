"""Bytes of one line -> fields, integers, decimals. Every line of a buffer ends with a newline: scans need no bound."""

import numpy as np

from gpukit._jit import njit
from gpukit.io.words import FLOAT32_MAX

NEWLINE, RETURN, SPACE, TAB, QUOTE, COLON = (np.uint8(ord(letter)) for letter in '\n\r \t":')
MINUS, PLUS, POINT, COMMA, ZERO, NINE = (np.uint8(ord(letter)) for letter in "-+.,09")
POWERS = 10.0 ** np.arange(23)  # exact in float64
LARGEST = np.int64(2**63 - 1)
LONGEST = np.int64(10**17)  # mantissas are read to 18 digits
BELOW, ABOVE = 1.0 - 2.0**-49, 1.0 + 2.0**-49
SPLIT = 2.0**27 + 1.0
NO_DECIMAL, CUT, WHOLE = range(3)


@njit
def split_line(buffer, at, sep, width, spans):
    """Fill spans (fields, 2) with the [start, stop) of the line's first fields; returns (count, the next line's start).

    sep: the separator's byte, width: how often it stands (2 for '::'), 0 for any run of spaces and tabs. Spaces around
    fields and their quotes are left out. A count of -1 is a quote that the line does not close, or text behind one.
    """
    count = 0
    while True:
        while buffer[at] == SPACE or (width == 0 and buffer[at] == TAB):
            at += 1
        if width == 0 and count and at_line_end(buffer, at):  # blanks at the end of a line start no field
            break
        start, stop, at = _field(buffer, at, sep, width)
        if start < 0:
            return -1, _line_end(buffer, at) + 1
        if count < len(spans):
            spans[count, 0], spans[count, 1] = start, stop
        count += 1
        if at_line_end(buffer, at):
            break
        at += max(width, 1)
    return count, _line_end(buffer, at) + 1


@njit
def _field(buffer, at, sep, width):
    """(start, stop, end) of the field at `at`: stop before spaces and quotes, end at the separator; -1: an open quote,
    or text behind a quote that is closed."""
    start = at
    if buffer[at] == QUOTE:
        at = closing_quote(buffer, at + 1)
        stop = at
        if at < 0:
            return -1, start, start
        end = _field_end(buffer, at, sep, width)
        if not _only_blanks(buffer, stop + 1, end):
            return -1, start, start
        return start + 1, stop, end
    at = stop = _field_end(buffer, at, sep, width)
    while stop > start and (buffer[stop - 1] == SPACE or buffer[stop - 1] == RETURN):
        stop -= 1
    return start, stop, at


@njit
def closing_quote(buffer, at):
    """Where the quote is that closes a field (two in a row stand for one inside it), -1 when the line ends first."""
    while buffer[at] != NEWLINE:
        if buffer[at] == QUOTE:
            if buffer[at + 1] != QUOTE:
                return at
            at += 1
        at += 1
    return -1


@njit
def hide_line_ends(buffer, sep, width):
    """Write bytes of 0 over the line ends within quoted fields; a text has no others. Returns where a last line begins
    whose quote stays open up to the end of the buffer, else the end."""
    at, line = 0, 0
    while at < len(buffer):
        while buffer[at] == SPACE or (width == 0 and buffer[at] == TAB):
            at += 1
        if buffer[at] == QUOTE:
            stop = at + 1
            while stop < len(buffer) and (buffer[stop] != QUOTE or buffer[stop + 1] == QUOTE):
                stop += 2 if buffer[stop] == QUOTE else 1
            if stop >= len(buffer):
                return line
            if _only_blanks(buffer, stop + 1, _field_end(buffer, stop, sep, width)):
                for letter in range(at, stop):
                    if buffer[letter] == NEWLINE:
                        buffer[letter] = 0
                at = stop
        at = _field_end(buffer, at, sep, width)
        if buffer[at] == NEWLINE:
            at += 1
            line = at
        else:
            at += max(width, 1)
    return len(buffer)


@njit
def _only_blanks(buffer, start, stop):
    for at in range(start, stop):
        if buffer[at] != SPACE and buffer[at] != RETURN and buffer[at] != TAB:
            return False
    return True


@njit
def _field_end(buffer, at, sep, width):
    """The first position from `at` on that holds the separator or a newline."""
    if width == 1:  # the common case, and the tightest loop
        while buffer[at] != sep and buffer[at] != NEWLINE:
            at += 1
    elif width == 0:
        while buffer[at] != SPACE and buffer[at] != TAB and buffer[at] != NEWLINE:
            at += 1
    else:
        while buffer[at] != NEWLINE and not (buffer[at] == sep and buffer[at + 1] == sep):
            at += 1
    return at


@njit
def at_line_end(buffer, at):
    """True at a newline, also one with a carriage return before it."""
    return buffer[at] == NEWLINE or (buffer[at] == RETURN and buffer[at + 1] == NEWLINE)


@njit
def _line_end(buffer, at):
    while buffer[at] != NEWLINE:
        at += 1
    return at


@njit
def integer(buffer, start, stop):
    """(value, True) of [start, stop) when it spells an int64 as Python prints it; else (0, False): '007', '+1', 'a'."""
    negative = stop - start > 1 and buffer[start] == MINUS
    first = start + 1 if negative else start
    if stop <= first or stop - first > 19 or (buffer[first] == ZERO and (stop - first > 1 or negative)):
        return np.int64(0), False
    value = np.int64(0)
    for at in range(first, stop):
        digit = np.int64(buffer[at]) - np.int64(48)
        if digit < 0 or digit > 9 or value > (LARGEST - digit) // 10:
            return np.int64(0), False
        value = value * 10 + digit
    return (-value if negative else value), True


@njit
def decimal(buffer, start, stop):
    """float32(float(text)) of [start, stop); NaN for what is no decimal, and seldom for one: the caller settles those.

    The long way is for mantissas above 15 digits and for exponents: a float64 off by less than 2**-49 of itself rounds
    to the same float32 as the nearest one unless a boundary between two float32 lies so near.
    """
    value = number(buffer, start, stop)
    if abs(value) <= FLOAT32_MAX:
        return np.float32(value)
    value = _nearly(buffer, start, stop)
    if abs(value) < 0.999 * FLOAT32_MAX and np.float32(value * BELOW) == np.float32(value * ABOVE):
        return np.float32(value)
    return np.float32(np.nan)


@njit(fastmath=False)
def double(buffer, start, stop):
    """float(text) of [start, stop); NaN for what is no decimal or more than float32 holds, and seldom for others: the
    caller settles those.

    The long way is for mantissas of 16 to 18 digits, as programs print float64: the quotient (or product) by a power
    of ten, and what it lacks, which is known to within 2**-50 of itself. Their sum rounds once.
    """
    value = number(buffer, start, stop)
    if not np.isnan(value):
        return value
    mantissa, scale, kind = _mantissa(buffer, start, stop)
    if kind != WHOLE or abs(scale) > 22:
        return np.nan
    high, power = np.float64(mantissa), POWERS[abs(scale)]
    low = np.float64(mantissa - np.int64(high))
    if scale < 0:
        value = high / power
        product, rest = _product(value, power)
        lacking = (((high - product) - rest) + low) / power
    else:
        value, rest = _product(high, power)
        lacking = rest + low * power
    found = value + lacking * BELOW
    if found != value + lacking * ABOVE or found > FLOAT32_MAX:
        return np.nan
    return -found if buffer[start] == MINUS else found


@njit(fastmath=False)
def _product(a, b):
    """(rounded, rest): a b = rounded + rest exactly, for numbers of moderate size [Dekker 1971]."""
    rounded = a * b
    big_a, big_b = a * SPLIT, b * SPLIT
    a_high, b_high = big_a - (big_a - a), big_b - (big_b - b)
    a_low, b_low = a - a_high, b - b_high
    return rounded, ((a_high * b_high - rounded) + a_high * b_low + a_low * b_high) + a_low * b_low


@njit
def _nearly(buffer, start, stop):
    """The number that [start, stop) spells to within 2**-50 of itself; NaN for no decimal or a huge exponent."""
    mantissa, scale, kind = _mantissa(buffer, start, stop)
    if kind == NO_DECIMAL or abs(scale) > 66:
        return np.nan
    value = np.float64(mantissa)
    while scale != 0:
        step = min(abs(scale), 22)
        value = value * POWERS[step] if scale > 0 else value / POWERS[step]
        scale += -step if scale > 0 else step
    return -value if buffer[start] == MINUS else value


@njit
def _mantissa(buffer, start, stop):
    """(mantissa of up to 18 digits, power of ten, kind) of [start, stop) without its sign; CUT: it has more digits."""
    at = start + 1 if stop > start and (buffer[start] == MINUS or buffer[start] == PLUS) else start
    mantissa, digits, scale, point, kind = np.int64(0), 0, np.int64(0), False, WHOLE
    while at < stop and ((ZERO <= buffer[at] <= NINE) or (buffer[at] == POINT and not point)):
        if buffer[at] == POINT:
            point = True
        else:
            digits += 1
            if mantissa < LONGEST:
                mantissa = mantissa * 10 + (np.int64(buffer[at]) - np.int64(48))
                scale -= point
            else:
                scale += not point
                kind = CUT
        at += 1
    exponent, good = _exponent(buffer, at, stop)
    return mantissa, scale + exponent, kind if digits and good else NO_DECIMAL


@njit
def _exponent(buffer, at, stop):
    """(value, True) of an exponent such as e-05 at [at, stop), (0, True) for none, (0, False) for anything else."""
    if at == stop:
        return np.int64(0), True
    negative = at + 1 < stop and buffer[at + 1] == MINUS
    first = at + 2 if negative or (at + 1 < stop and buffer[at + 1] == PLUS) else at + 1
    if buffer[at] | np.uint8(32) != np.uint8(101) or first >= stop or stop - first > 4:  # e or E
        return np.int64(0), False
    value = np.int64(0)
    for place in range(first, stop):
        if not ZERO <= buffer[place] <= NINE:
            return np.int64(0), False
        value = value * 10 + (np.int64(buffer[place]) - np.int64(48))
    return (-value if negative else value), True


@njit
def number(buffer, start, stop):
    """The float64 that [start, stop) spells, NaN for all but plain decimals of up to 15 digits.

    A mantissa below 2**53 times or over an exact power of ten rounds once, so it equals float(text) [Clinger, "How to
    read floating point numbers accurately", 1990]. The caller settles the rest, and finds what is no number.
    """
    at = start + 1 if stop > start and (buffer[start] == MINUS or buffer[start] == PLUS) else start
    mantissa, digits, scale, point = np.int64(0), 0, 0, False
    while at < stop and ((ZERO <= buffer[at] <= NINE) or (buffer[at] == POINT and not point)):
        if buffer[at] == POINT:
            point = True
        else:
            mantissa = mantissa * 10 + (np.int64(buffer[at]) - np.int64(48))
            digits += 1
            scale -= point
        at += 1
        if digits > 15:
            return np.nan
    if digits == 0:
        return np.nan
    if at < stop:
        if buffer[at] | np.uint8(32) != np.uint8(101):  # e or E
            return np.nan
        exponent, good = integer(buffer, at + 1, stop)
        if not good or abs(exponent) > 40:
            return np.nan
        scale += exponent
    if abs(scale) > 22:
        return np.nan
    value = mantissa * POWERS[scale] if scale >= 0 else mantissa / POWERS[-scale]
    return -value if buffer[start] == MINUS else value


@njit
def with_commas(buffer, starts, stops):
    """(numbers (n,) float64, certain (n,) bool): what each [start, stop) spells with a comma in place of its point, NaN
    for anything else (and seldom for one); whether it cannot be one with a comma of thousands, as 1,234 can."""
    numbers, certain = np.full(len(starts), np.nan), np.zeros(len(starts), dtype=np.bool_)
    for row in range(len(starts)):
        word = buffer[starts[row] : stops[row]].copy()
        comma = _only_comma(word)
        if comma >= 0:
            certain[row] = not _may_be_thousands(word, comma)
            word[comma] = POINT
            numbers[row] = double(word, 0, len(word))
    return numbers, certain


@njit
def _only_comma(word):
    """Where the one comma of a word without points is, else -1."""
    found = -1
    for at in range(len(word)):
        if word[at] == POINT or (word[at] == COMMA and found >= 0):
            return -1
        if word[at] == COMMA:
            found = at
    return found


@njit
def _may_be_thousands(word, comma):
    """Whether a word has one to three digits before its comma, not 0 first, and three behind it, and no more."""
    first = 1 if word[0] == MINUS or word[0] == PLUS else 0
    if len(word) - comma != 4 or comma - first < 1 or comma - first > 3 or word[first] == ZERO:
        return False
    for at in range(first, len(word)):
        if at != comma and not ZERO <= word[at] <= NINE:
            return False
    return True


@njit
def text_key(buffer, start, stop, quoted=False):
    """A 64-bit hash of the bytes [start, stop): FNV-1a, then the murmur3 finalizer.

    quoted: they stand in quotes, so that two quotes in a row are one, and bytes of 0 are line ends.
    """
    state, at = np.uint64(0xCBF29CE484222325), start
    while at < stop:
        letter = NEWLINE if quoted and buffer[at] == 0 else buffer[at]
        state = (state ^ np.uint64(letter)) * np.uint64(0x100000001B3)
        at += 2 if quoted and letter == QUOTE else 1
    state = (state ^ (state >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    state = (state ^ (state >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return np.int64(state ^ (state >> np.uint64(33)))


@njit
def text_keys(buffer, starts, stops):
    """(n,) int64: the `text_key` of each stretch [starts, stops)."""
    keys = np.empty(len(starts), dtype=np.int64)
    for at in range(len(starts)):
        keys[at] = text_key(buffer, starts[at], stops[at])
    return keys
