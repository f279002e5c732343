"""Layout of slices by shape: GPU lanes and blocks, shared memory, batch sizes; where arrays are."""

from typing import NamedTuple

import numpy as np

from gpukit.errors import DeviceError, GpukitError

MOST = 512  # longest side of a slice
SHARED = 227 << 10  # bytes of shared memory of a block, compute capability 9.0; others have 64 to 163 KB
TILES = ((2, 32), (1, 16), (1, 8))  # of multiply: rows of a thread, vectors of a batch
TURNS = 1.25  # capacity of a launch in rotations, as a multiple of p^2; Gaussian slices need 0.8
LAUNCHES = 3  # of chase and rotate; most slices need one
WORKSPACE = 1 << 30  # bytes of workspace; more slices are thresholded in batches
CPU_BATCH = 64  # slices of a batch on the CPU

# The fastest method by the shorter side of slices, docs/svt.md
SMALL = 24  # largest side whose slices are thresholded whole on the CPU; above, in a subspace
LARGE_ON_GPU = 128  # above which a subspace, and matrix products, are faster than the kernels


class Plan(NamedTuple):
    """Layout of tall slices (q, p) on a GPU.

    lanes: per row; count: numbers of a row per lane; pitch: distance of two rows in memory; warps: per block; shared:
    bytes of dynamic shared memory (0: the slice is in global memory); tile: an entry of TILES.
    """

    lanes: int
    count: int
    pitch: int
    warps: int
    shared: int
    tile: tuple


def sides(shape):
    """Return (p, q), shorter and longer side of slices (N, m, n)."""
    return min(shape[1:]), max(shape[1:])


def tile_of(p, dtype, available):
    """Return the first entry of TILES whose block fits into `available` bytes.

    Raises DeviceError if none fits or a block of rotate does not fit.
    """
    size = np.dtype(dtype).itemsize
    tiles = [tile for tile in TILES if bytes_of_multiply(p, tile, size)[1] <= available]
    if not tiles or bytes_of_rotate(p, size) > available:
        least = max(bytes_of_multiply(p, TILES[-1], size)[1], bytes_of_rotate(p, size))
        raise DeviceError(
            f"thresholding slices whose shorter side is {p} in {np.dtype(dtype)} needs {least >> 10} KB "
            f"of shared memory a block; this GPU has {available >> 10}. Use "
            f"{'float32, or ' if size == 8 else ''}the CPU (--device cpu), or smaller slices."
        )
    return tiles[0]


def bytes_of_multiply(p, tile, size):
    """Return (dynamic, total) bytes of shared memory of a block of multiply."""
    rows, together = 32 * tile[0] + 1, tile[1]
    dynamic = (rows * p + together * (p + 1)) * size
    return dynamic, dynamic + together * rows * size


def bytes_of_rotate(p, size):
    """Return bytes of shared memory of a block of rotate."""
    return 32 * p * size


def bytes_of_whiten(k, size):
    """Return bytes of shared memory of a block of whiten: the Gram matrix and two numbers a column."""
    return (k * (k | 1) + 2 * k) * size


def widest_subspace(size, available=SHARED):
    """Return the most columns that fit into a block of whiten.

    They are whole warps. By default: 224 of float32 or 160 of float64.
    """
    return next(k for k in range(MOST // 2, 0, -32) if bytes_of_whiten(k, size) <= available)


def plan(p, q, dtype, available=SHARED):
    """Return the Plan of slices q x p, q >= p.

    available: bytes of shared memory of a block.
    """
    lanes = 8 if p <= 64 else 16 if p <= 128 else 32
    count = -(-p // lanes)
    odd = lanes < 32 and count % 2 == 0  # an odd multiple of the lanes, against bank conflicts
    pitch = lanes * (count + 1 if odd else count)
    warps = 1 if p <= 32 else 2 if p <= 64 else 8 if p <= 128 or np.dtype(dtype).itemsize == 8 else 16
    size = q * pitch * np.dtype(dtype).itemsize
    static = (warps + 4) * pitch * np.dtype(dtype).itemsize
    return Plan(
        lanes, count, pitch, warps, size if size + static + 1024 <= available else 0, tile_of(p, dtype, available)
    )


def check_converged(ranks):
    """Return ranks (N,) on the host; raise GpukitError if a rank is -1, whose sweeps did not end."""
    unfinished = np.flatnonzero(ranks < 0)
    if len(unfinished):
        raise GpukitError(
            f"the singular values of slice {unfinished[0]}, and of {len(unfinished) - 1} others of {len(ranks)}, did "
            f"not converge in {LAUNCHES} x {TURNS} p^2 rotations. Look for numbers of very different "
            "size in it, or use float64."
        )
    return ranks


def rotation_capacity(p):
    """Return the capacity (rotations, sweeps) of a launch for one slice."""
    spans = 4  # capacity of a launch in sweeps, as a multiple of p; Gaussian slices need 1.45
    return int(TURNS * p * p) + 32, spans * p + 8


class Buffers(NamedTuple):
    """Arrays between the steps for a number of slices, on the host or a GPU: see kernels/."""

    d: object
    e: object
    scales: object
    states: object
    spans: object
    turns: object
    V: object
    seats: object
    weights: object


def buffers(slices, p, dtype, empty):
    """Allocate Buffers, uninitialized; p: the shorter side of slices; empty(shape, dtype): a new array."""
    turns, spans = rotation_capacity(p)
    return Buffers(
        empty((p, slices), dtype),
        empty((p + 1, slices), dtype),
        empty(slices, dtype),
        empty((slices, 3), np.int32),
        empty((slices, spans), np.int32),
        empty((slices, turns, 2), dtype),
        empty((slices, p, p), dtype),
        empty((slices, p), np.int32),
        empty((slices, p), dtype),
    )


def workspace_of(p, q, dtype, how=None):
    """Return bytes of workspace of a slice; without its Plan at most."""
    turns, spans = rotation_capacity(p)
    copies = q * (p + 64) if how is None else 0 if how.shared else q * how.pitch
    numbers = copies + p * p + 2 * turns + 4 * p
    return numbers * np.dtype(dtype).itemsize + 4 * (spans + p + 4)


class Resident:
    """Arrays on the device; library: numpy or cupy. columns, slices: the most of a block, None: all."""

    columns = slices = None

    def __init__(self, library):
        self.empty, self.zeros, self.place = library.empty, library.zeros, library.asarray

    def views(self, number, part, *arrays):
        """Return the part of each array on the device; number: of the block."""
        return [array[part] for array in arrays]

    def each(self, parts, reads=(), writes=()):
        """Yield (part, blocks of reads, blocks of writes), all on the device, for each part, an index."""
        for number, part in enumerate(parts):
            yield part, *self.views(number, part, *reads, *writes)
