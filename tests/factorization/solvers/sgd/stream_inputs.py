"""Packed ratings for tests of streamed ratings."""

import numpy as np

from factorization import naive

Z = np.append(np.sort(np.random.default_rng(8).normal(size=255)), 0).astype(np.float32)


def ratings(level_bits, n, width):
    """Return (rows (n,), levels (n,), packed (n * width + 5,) uint8) with the largest and the smallest numbers."""
    rng = np.random.default_rng([level_bits, n, width])
    most = min(2**31, 2 ** (8 * width - level_bits))
    rows, levels = rng.integers(0, most, n), rng.integers(0, min(255, 2**level_bits), n)
    rows[-1], rows[0], levels[0] = 0, most - 1, min(254, 2**level_bits - 1)
    numbers = [naive.packed_number(int(row), int(level), level_bits, width) for row, level in zip(rows, levels)]
    return rows, levels, np.append(np.array(numbers, np.uint8), np.full(5, 171, np.uint8))


def codes(bits, slots, n):
    """Return (codes (n, slots) uint8 with empty slots, packed uint32) with the largest code."""
    rng = np.random.default_rng([bits, slots, n])
    lines = rng.integers(0, 2**bits - 1, (n, slots)).astype(np.uint8)
    lines[rng.random((n, slots)) < 0.2] = 255
    lines[0, :2] = 2**bits - 2, 0
    packed = [word for line in lines for word in naive.code_planes(line, bits)]
    return lines, np.array([*packed, 7, 7], np.uint32)
