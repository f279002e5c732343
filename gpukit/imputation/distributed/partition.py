"""Partition of columns and spectral slices by the ranks' speed."""

from typing import NamedTuple

import numpy as np

FEWEST = 1 << 16  # numbers in a tensor; smaller ones cost more to send than to compute
LEAST = 2  # columns, and slices, of a rank


class Parts(NamedTuple):
    """Edges (R + 1,) int64 of R ranks' columns and slices.

    They rise; there are m n columns and K slices. Rank r has edges[r] to edges[r + 1].
    """

    columns: np.ndarray
    slices: np.ndarray


def can_share(shape, slices, size):
    """Return True if a tensor is large enough for `size` ranks.

    shape (N, m, n); slices: number of spectral slices.
    """
    N, m, n = shape
    return size > 1 and N * m * n >= FEWEST and min(m * n, slices) >= LEAST * size


def parts_of(columns, slices, speeds):
    """Return Parts in proportion to speeds (2, R).

    Speeds are columns and slices per second of each rank.
    """
    return Parts(edges(columns, speeds[0]), edges(slices, speeds[1]))


def edges(total, weights):
    """Return (R + 1,) int64, 0 to total: parts in proportion to weights (R,), each at least LEAST."""
    weights = np.asarray(weights, np.float64)
    spare = total - LEAST * len(weights)
    inner = np.rint(np.cumsum(spare * weights / weights.sum())).astype(np.int64)
    return np.append(0, inner + LEAST * np.arange(1, len(weights) + 1))


def own(edges, rank):
    """Return the part of a rank, a slice."""
    return slice(int(edges[rank]), int(edges[rank + 1]))


def undisturbed(seconds):
    """Return (2, 2, R): for both phases of seconds (steps, 2, R) the two fastest steps."""
    best = np.argsort(seconds.sum(axis=2), axis=0, kind="stable")[:2]
    return np.take_along_axis(seconds, best[:, :, None], axis=0)


def speeds_of(parts, seconds):
    """Return (2, R): columns and slices per second; seconds (2, R) of transforms and thresholding."""
    sizes = np.array([np.diff(edges) for edges in parts], np.float64)
    return sizes / np.maximum(seconds, 1e-9)


def pays(parts, seconds):
    """Return True if new parts save a tenth of a step.

    Parts are by speeds_of; the step took seconds (2, R).
    """
    now = seconds.max(axis=1)
    sizes = np.array([edges[-1] for edges in parts])
    then = sizes / speeds_of(parts, seconds).sum(axis=1)
    return (now - then).sum() > 0.1 * now.sum()  # moving costs a step


def chunk(size, number, count):
    """Return chunk `number` of `count` of `size` slices, a slice."""
    return slice(size * number // count, size * (number + 1) // count)
