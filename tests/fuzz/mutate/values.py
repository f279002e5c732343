"""Difficult values: tokens of text, values of JSON, numbers by dtype."""

import numpy as np

TOKENS = [
    *("nan", "NaN", "inf", "-inf", "Infinity", "1e999", "-1e999", "1e-999", "1e39", "-3.5e38", "1e308", "1e-46"),
    *("0", "-0", "-1", "-0.0", "1.", ".5", "+1", "1e5", "1E+2", "0x10", "1_000", "1,5", "00012", "1 2", " 7", "7 "),
    *(str(2**31), str(2**31 - 1), str(-(2**31) - 1), str(2**32), str(2**53 + 1), str(2**63), str(2**63 - 1)),
    *(str(-(2**63)), str(-(2**63) - 1), str(2**64), str(2**70), "9" * 400, "9" * 5000, "0." + "3" * 5000),
    *("", '""', '"', "'", '"a"b', '"1', '1"', '""""', "\\", "\0", "\ufeff", "\ufeff1", "\u3000", "\u2028", "\x85"),
    *("\uff11\uff12", "\u0661", "\u00b2", "\u00e9", "\U0001f600", "\u0130", "a", "NULL", "NA", "N/A", "None", "null"),
    *("a:.5", "1:a", "1:", ":1", ":", "-1:2", "0:1", "1:1:1", "1:nan", "1:inf", "1:1e999", "1:NULL", "qid:", "qid:1"),
    *("qid: 1", "qid:-1", "qid:x", "QID:1", f"{2**31}:1", f"{2**31 - 1}:1", "900000000:1", f"{2**63}:1", "257:1"),
    *("9" * 5000 + ":1", "1:" + "9" * 5000, "#", "# c", "%", "%%MatrixMarket", "::", ";", "|", "\t", ",", ",,,,", "\r"),
    *("2005-09-06", "0000-00-00", "9999-99-99", "2020-02-30T25:61:61", "1970-01-01 00:00:00", "-2005-01-01", "true"),
    *("user", "item", "rating", "timestamp", "weight", "count", "title", "id", "1:2", "12:", "5 5 5", "=1+1", "../x"),
]
RAW = [b"\xff", b"\xfe\xff", b"\x80", b"\xed\xa0\x80", b"\xc3", b"\x00\x00", b"\x1a", b"\x0b", b"\x0c", b"\x1c", b"\r"]
JSON = [
    *(None, True, False, 0, -1, 1, 2, 0.5, -1.5, 1e300, float("nan"), float("inf"), -float("inf"), 10**9, 2**31, 2**63),
    *(-(2**63), 2**64, 2**200, "", "a", "1", "nan", "O", "<f4", "<i8", "|O", "<U5", "f4,i4", "x" * 300, "\0", "é", "/"),
    *([], [1], [-1], [0, 0], [2**40, 2**40], [None], [[]], [1.5], ["a"], {}, {"a": 1}, {"version": 1}, [3, -1]),
]


def token(rng):
    """Return a difficult token as bytes."""
    if rng.random() < 0.08:
        return RAW[rng.integers(len(RAW))]
    if rng.random() < 0.15:
        return str(int(rng.integers(-3, 100))).encode()
    return TOKENS[rng.integers(len(TOKENS))].encode("utf-8", "surrogatepass")


def number(rng, dtype, size):
    """Return a difficult value of a dtype for tables of about `size` rows."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        largest = np.finfo(dtype).max
        return rng.choice([np.nan, np.inf, -np.inf, largest, -largest, 1e-40, -0.0, 0.0, -1.0, 0.5, 1e10, 3e4])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        near = [info.min, info.max, 0, 1, -1, size, size - 1, size + 1, -size, 2 * size, 1 << 16, 1 << 31, 1 << 40]
        return int(np.clip(near[rng.integers(len(near))], info.min, info.max))
    if dtype.kind == "b":
        return bool(rng.integers(2))
    if dtype.kind == "U":
        return TOKENS[rng.integers(len(TOKENS))].rstrip("\0")[: max(1, dtype.itemsize // 4)]
    if dtype.kind == "S":
        return token(rng)[: max(1, dtype.itemsize)]
    return np.zeros((), dtype)[()]
