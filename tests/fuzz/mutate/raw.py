"""Bytes: flips, truncations, insertions, deletions, copies."""

import numpy as np


def flip(data, rng):
    """Flip one bit."""
    if not data:
        return data
    out, at = bytearray(data), int(rng.integers(8 * len(data)))
    out[at // 8] ^= 1 << at % 8
    return bytes(out)


def overwrite(data, rng):
    """Replace one byte."""
    if not data:
        return data
    out = bytearray(data)
    out[rng.integers(len(data))] = int(
        rng.choice([0, 255, 128, 10, 13, 32, 34, 44, 58, 48, 45, int(rng.integers(256))])
    )
    return bytes(out)


def truncate(data, rng):
    """Keep only the beginning."""
    return data[: int(rng.integers(len(data)))] if data else data


def insert(data, rng):
    """Insert a few bytes."""
    at = int(rng.integers(len(data) + 1))
    return data[:at] + rng.integers(0, 256, int(rng.integers(1, 9)), np.uint8).tobytes() + data[at:]


def delete(data, rng):
    """Delete a few bytes."""
    start, stop = _span(data, rng)
    return data[:start] + data[stop:]


def repeat(data, rng):
    """Repeat a range."""
    start, stop = _span(data, rng)
    return data[:stop] + data[start:]


def move(data, rng):
    """Copy a range over another place."""
    start, stop = _span(data, rng)
    at = int(rng.integers(len(data) + 1))
    return data[:at] + data[start:stop] + data[at + stop - start :]


def zero(data, rng):
    """Zero a range, as a disk leaves after a crash."""
    start, stop = _span(data, rng)
    return data[:start] + b"\0" * (stop - start) + data[stop:]


def append(data, rng):
    """Append bytes."""
    return data + [b"\0", b"\n", data[:100], b"PK\x05\x06" + b"\0" * 18, b"x" * 1000][rng.integers(5)]


def several(data, rng):
    """Flip many bits."""
    for _ in range(int(rng.integers(2, 30))):
        data = flip(data, rng)
    return data


def _span(data, rng):
    start = int(rng.integers(len(data) + 1))
    longest = int(rng.choice([2, 8, 64, 512]))
    return start, min(len(data), start + int(rng.integers(1, longest)))


BYTES = (flip, flip, overwrite, overwrite, truncate, insert, delete, repeat, move, zero, append, several)
