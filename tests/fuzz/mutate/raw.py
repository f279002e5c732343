"""Bytes: flips, truncations, insertions, deletions, copies."""

import numpy as np


def flip(data, rng):
    """One bit the other way round."""
    if not data:
        return data
    out, at = bytearray(data), int(rng.integers(8 * len(data)))
    out[at // 8] ^= 1 << at % 8
    return bytes(out)


def overwrite(data, rng):
    """One byte replaced."""
    if not data:
        return data
    out = bytearray(data)
    out[rng.integers(len(data))] = int(
        rng.choice([0, 255, 128, 10, 13, 32, 34, 44, 58, 48, 45, int(rng.integers(256))])
    )
    return bytes(out)


def truncate(data, rng):
    """The beginning alone."""
    return data[: int(rng.integers(len(data)))] if data else data


def insert(data, rng):
    """A few bytes put in."""
    at = int(rng.integers(len(data) + 1))
    return data[:at] + rng.integers(0, 256, int(rng.integers(1, 9)), np.uint8).tobytes() + data[at:]


def delete(data, rng):
    """A few bytes left out."""
    start, stop = _span(data, rng)
    return data[:start] + data[stop:]


def repeat(data, rng):
    """A stretch twice."""
    start, stop = _span(data, rng)
    return data[:stop] + data[start:]


def move(data, rng):
    """A stretch copied over another place."""
    start, stop = _span(data, rng)
    at = int(rng.integers(len(data) + 1))
    return data[:at] + data[start:stop] + data[at + stop - start :]


def zero(data, rng):
    """A stretch of zeros, as a disk leaves after a crash."""
    start, stop = _span(data, rng)
    return data[:start] + b"\0" * (stop - start) + data[stop:]


def append(data, rng):
    """Something behind the end."""
    return data + [b"\0", b"\n", data[:100], b"PK\x05\x06" + b"\0" * 18, b"x" * 1000][rng.integers(5)]


def several(data, rng):
    """Many bits at once."""
    for _ in range(int(rng.integers(2, 30))):
        data = flip(data, rng)
    return data


def _span(data, rng):
    start = int(rng.integers(len(data) + 1))
    longest = int(rng.choice([2, 8, 64, 512]))
    return start, min(len(data), start + int(rng.integers(1, longest)))


BYTES = (flip, flip, overwrite, overwrite, truncate, insert, delete, repeat, move, zero, append, several)
