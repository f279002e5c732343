"""Who has what: each rank some columns of the tensor and some spectral slices, by how fast it works on either."""

from typing import NamedTuple

import numpy as np

FEWEST = 1 << 16  # numbers in a tensor: fewer take longer to send about than to work on
LEAST = 2  # columns, and slices, of a rank
PAYS = 0.1  # of a step's seconds: parts are changed once where so much is gained


class Parts(NamedTuple):
    """Edges (R + 1,) int64, rising, of R ranks' columns (of m n) and slices (of K): rank r has edges[r] to
    edges[r + 1]."""

    columns: np.ndarray
    slices: np.ndarray


def can_share(shape, slices, size):
    """Whether a tensor (N, m, n) with so many spectral slices is enough for so many ranks."""
    N, m, n = shape
    return size > 1 and N * m * n >= FEWEST and min(m * n, slices) >= LEAST * size


def parts_of(columns, slices, speeds):
    """The Parts of so many columns and slices; speeds (2, R): what each rank does a second of columns and of slices."""
    return Parts(edges(columns, speeds[0]), edges(slices, speeds[1]))


def edges(total, weights):
    """(R + 1,) int64, 0 to total: parts in proportion to weights (R,), each of LEAST or more."""
    weights = np.asarray(weights, np.float64)
    spare = total - LEAST * len(weights)
    inner = np.rint(np.cumsum(spare * weights / weights.sum())).astype(np.int64)
    return np.append(0, inner + LEAST * np.arange(1, len(weights) + 1))


def own(edges, rank):
    """The part of a rank, a slice."""
    return slice(int(edges[rank]), int(edges[rank + 1]))


def undisturbed(seconds):
    """(2, 2, R): of seconds (steps, 2, R) the two steps that took all ranks together the least, of either part."""
    best = np.argsort(seconds.sum(axis=2), axis=0, kind="stable")[:2]
    return np.take_along_axis(seconds, best[:, :, None], axis=0)


def speeds_of(parts, seconds):
    """(2, R): columns and slices a second of ranks whose transforms and thresholding took seconds (2, R)."""
    sizes = np.array([np.diff(edges) for edges in parts], np.float64)
    return sizes / np.maximum(seconds, 1e-9)


def pays(parts, seconds):
    """Whether parts by speeds_of would save PAYS of a step that took seconds (2, R)."""
    now = seconds.max(axis=1)
    sizes = np.array([edges[-1] for edges in parts])
    then = sizes / speeds_of(parts, seconds).sum(axis=1)
    return (now - then).sum() > PAYS * now.sum()


def chunk(size, number, count):
    """Chunk `number` of `count` of so many slices, a slice."""
    return slice(size * number // count, size * (number + 1) // count)
