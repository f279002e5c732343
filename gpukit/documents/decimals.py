"""Parse decimals in bytes of svmlight text.

Every line of a buffer ends with a newline, so scans need no bound.
"""

import numpy as np

from gpukit._jit import njit
from gpukit.base.arrays import EXACT
from gpukit.io.words import FLOAT32_MAX

NEWLINE, RETURN, SPACE, TAB, COLON = (np.uint8(ord(letter)) for letter in "\n\r \t:")
MINUS, PLUS, POINT, ZERO, NINE = (np.uint8(ord(letter)) for letter in "-+.09")
POWERS = 10.0 ** np.arange(23)  # exact in float64
LONGEST = np.int64(10**17)  # mantissas have at most 18 digits
BELOW, ABOVE = 1.0 - 2.0**-49, 1.0 + 2.0**-49
SPLIT = 2.0**27 + 1.0
NO_DECIMAL, CUT, WHOLE = range(3)


@njit
def at_line_end(buffer, at):
    """Return True at a newline, or at a carriage return before one."""
    return buffer[at] == NEWLINE or (buffer[at] == RETURN and buffer[at + 1] == NEWLINE)


@njit(fastmath=False)
def double(buffer, start, stop):
    """Return float(text) of [start, stop), NaN if undecided.

    NaN also marks text that is no decimal or exceeds float32; the caller resolves these. A mantissa below 2**53 times
    or over an exact power of ten rounds once [Clinger, "How to read floating point numbers accurately", 1990]. For
    mantissas of up to 18 digits, as programs print float64: the quotient (or product) by a power of ten, and its
    residual, which has a relative error of 2**-50. Their sum rounds once.
    """
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
    found = value + lacking * BELOW
    if found != value + lacking * ABOVE or found > FLOAT32_MAX:
        return np.nan
    return -found if buffer[start] == MINUS else found


@njit(fastmath=False)
def _product(a, b):
    """Return (rounded, rest) with a b = rounded + rest exactly [Dekker 1971].

    a and b are of moderate size.
    """
    rounded = a * b
    big_a, big_b = a * SPLIT, b * SPLIT
    a_high, b_high = big_a - (big_a - a), big_b - (big_b - b)
    a_low, b_low = a - a_high, b - b_high
    return rounded, ((a_high * b_high - rounded) + a_high * b_low + a_low * b_high) + a_low * b_low


@njit
def _mantissa(buffer, start, stop):
    """Return (mantissa of up to 18 digits, power of ten, kind) of [start, stop).

    The sign is ignored. CUT: there are more digits.
    """
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
    """Return (value, True) of an exponent such as e-05 at [at, stop).

    (0, True) for none, (0, False) for other text.
    """
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
