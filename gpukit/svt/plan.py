"""How slices of a shape are laid out: which side is which, who holds a row on the GPU, and how many go at once."""

from typing import NamedTuple

import numpy as np

from gpukit.errors import DeviceError, GpukitError

MOST = 512  # longest side of a slice
SHARED = (
    227 << 10
)  # bytes of shared memory a block may have on devices of compute capability 9.0; 64 to 163 KB on others
TILES = ((2, 32), (1, 16), (1, 8))  # of multiply: rows a thread, vectors at once
TURNS = 1.25  # rotations there is room for in a launch, as a share of p^2; Gaussian slices need 0.8
SPANS = 4  # sweeps there is room for, as a multiple of p; Gaussian slices need 1.45
LAUNCHES = 3  # of chase and rotate: most slices need one, the others do nothing
WORKSPACE = 1 << 30  # bytes of workspace; more slices are thresholded in batches
CPU_BATCH = 64  # slices that go at once on the CPU, a thread


class Plan(NamedTuple):
    """lanes a row of the tall slice (q, p), numbers of it a lane, distance of two rows in memory, warps a block, bytes
    of dynamic shared memory (0: the slice lies in global memory); tile: one of TILES."""

    lanes: int
    count: int
    pitch: int
    warps: int
    shared: int
    tile: tuple


def sides(shape):
    """(p, q): the shorter and the longer side of slices (N, m, n)."""
    return min(shape[1:]), max(shape[1:])


def tile_of(p, dtype, room):
    """The first of TILES whose block has room; DeviceError when none has, or a block of rotate has none."""
    size = np.dtype(dtype).itemsize
    fits = [tile for tile in TILES if bytes_of_multiply(p, tile, size)[1] <= room]
    if not fits or bytes_of_rotate(p, size) > room:
        least = max(bytes_of_multiply(p, TILES[-1], size)[1], bytes_of_rotate(p, size))
        raise DeviceError(
            f"thresholding slices whose shorter side is {p} in {np.dtype(dtype)} needs {least >> 10} KB "
            f"of shared memory a block; this GPU has {room >> 10}. Use "
            f"{'float32, or ' if size == 8 else ''}the CPU (--device cpu), or smaller slices."
        )
    return fits[0]


def bytes_of_multiply(p, tile, size):
    """(dynamic, all) bytes of shared memory of a block of multiply."""
    rows, together = 32 * tile[0] + 1, tile[1]
    dynamic = (rows * p + together * (p + 1)) * size
    return dynamic, dynamic + together * rows * size


def bytes_of_rotate(p, size):
    """Bytes of shared memory of a block of rotate."""
    return 32 * p * size


def bytes_of_whiten(k, size):
    """Bytes of shared memory of a block of whiten: the gram, rows at an odd distance, and two numbers a column."""
    return (k * (k | 1) + 2 * k) * size


def widest_subspace(size, room=SHARED):
    """Columns that whiten has room for, in whole warps: 224 of float32 or 160 of float64 with the default room."""
    return next(k for k in range(MOST // 2, 0, -32) if bytes_of_whiten(k, size) <= room)


def plan(p, q, dtype, room=SHARED):
    """The Plan for slices of q x p numbers, q >= p, on a device whose blocks have `room` bytes of shared memory."""
    lanes = 8 if p <= 64 else 16 if p <= 128 else 32
    count = -(-p // lanes)
    odd = lanes < 32 and count % 2 == 0  # an odd multiple of the lanes, against bank conflicts
    pitch = lanes * (count + 1 if odd else count)
    warps = 1 if p <= 32 else 2 if p <= 64 else 8 if p <= 128 or np.dtype(dtype).itemsize == 8 else 16
    size = q * pitch * np.dtype(dtype).itemsize
    own = (warps + 4) * pitch * np.dtype(dtype).itemsize
    return Plan(lanes, count, pitch, warps, size if size + own + 1024 <= room else 0, tile_of(p, dtype, room))


def converged(ranks):
    """ranks (N,) on the host, as they are; GpukitError when one is -1: the sweeps of that slice did not end."""
    left = np.flatnonzero(ranks < 0)
    if len(left):
        raise GpukitError(
            f"the singular values of slice {left[0]}, and of {len(left) - 1} others of {len(ranks)}, did "
            f"not converge in {LAUNCHES} x {TURNS} p^2 rotations. Look for numbers of very different "
            "size in it, or use float64."
        )
    return ranks


def room_for(p):
    """(rotations, sweeps) of a slice that a launch has room for."""
    return int(TURNS * p * p) + 32, SPANS * p + 8


def workspace_of(p, q, dtype, how):
    """Bytes of workspace a slice."""
    turns, spans = room_for(p)
    numbers = (0 if how.shared else q * how.pitch) + p * p + 2 * turns + 4 * p
    return numbers * np.dtype(dtype).itemsize + 4 * (spans + p + 4)
