"""Difficult segments and keys: lengths around every boundary, ties, order, zeros of both signs, extremes."""

import numpy as np

# Around a lane's 8 keys, groups of 2 to 32 lanes (16 ... 256 keys), and a block's 256 at 32 threads, 512 at 64.
LENGTHS = {
    "tiny": [0, 1, 2, 0, 7, 8, 9, 1, 0],
    "groups": [31, 32, 33, 64, 65, 127, 15, 128, 129, 17],
    "a warp": [255, 0, 256],
    "two chunks": [257, 300, 3],
    "blocks": [511, 512],
    "beyond a block": [513, 5, 1100],
    "radix": [95, 96, 97, 3000, 1, 2],
}
EXTREMES = [np.inf, -np.inf, 0.0, -0.0, 5e-324, -5e-324, 1e-45, -1e-45, 1.0, -1.0, 3e38, -3e38]
KEYS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "few values": lambda rng, n: rng.integers(-1, 2, n) / 3,
    "all equal": lambda rng, n: np.full(n, -2.5),
    "ascending": lambda rng, n: np.arange(n) - n / 2,
    "descending": lambda rng, n: n / 2 - np.arange(n),
    "descending with ties": lambda rng, n: (n - np.arange(n)) // 3,
    "the least last": lambda rng, n: np.roll(np.arange(n), -1),
    "the greatest first": lambda rng, n: np.roll(np.arange(n), 1),
    "one in the middle at each end": lambda rng, n: np.r_[n // 2, np.arange(n), n // 3][:n] if n > 2 else np.arange(n),
    "organ pipe": lambda rng, n: np.minimum(np.arange(n), n - np.arange(n)),
    "valley": lambda rng, n: np.maximum(np.arange(n), n - np.arange(n)) // 2,
    "three runs": lambda rng, n: np.arange(n) % max(n // 3, 1),
    "saw-tooth": lambda rng, n: np.arange(n) % 13,
    "falling saw-tooth": lambda rng, n: -(np.arange(n) % 50) // 2,
    "extremes": lambda rng, n: rng.choice(EXTREMES, n),
    "close": lambda rng, n: 1 + rng.integers(0, 4, n) * np.finfo(np.float64).eps,
}


def segments(lengths):
    """offsets (m + 1,) int64 of a case of LENGTHS."""
    return np.concatenate([[0], np.cumsum(LENGTHS[lengths])]).astype(np.int64)


def keys(kind, size, dtype, seed=3):
    """Keys (size,) of a case of KEYS."""
    with np.errstate(over="ignore", under="ignore"):
        return KEYS[kind](np.random.default_rng(seed), size).astype(dtype)
