"""How slices of a shape are laid out: which side is which, who holds a row on the GPU, and how many go at once."""

from typing import NamedTuple

import numpy as np

MOST = 512  # longest side of a slice
SHARED = 227 << 10  # bytes of shared memory a block may have from compute capability 9.0 on
SHARED_80 = 163 << 10  # and on 8.0
SHARED_ANY = 48 << 10
TURNS = 1.25  # rotations there is room for in a launch, as a share of p^2; Gaussian slices need 0.8
SPANS = 4  # sweeps there is room for, as a multiple of p; Gaussian slices need 1.45
LAUNCHES = 3  # of chase and rotate: most slices need one, the others do nothing
WORKSPACE = 1 << 30  # bytes of workspace; more slices are thresholded in batches
CPU_BATCH = 64  # slices that go at once on the CPU, a thread


class Plan(NamedTuple):
    """lanes a row of the tall slice (q, p), numbers of it a lane, distance of two rows in memory, warps a block, bytes
    of dynamic shared memory (0: the slice lies in global memory)."""

    lanes: int
    count: int
    pitch: int
    warps: int
    shared: int


def sides(shape):
    """(p, q): the shorter and the longer side of slices (N, m, n)."""
    return min(shape[1:]), max(shape[1:])


def room_of(capability):
    """Bytes of shared memory a block may ask for on a device of a compute capability (None: the simulator)."""
    if capability is None or capability >= (9, 0):
        return SHARED
    return SHARED_80 if capability == (8, 0) else SHARED_ANY


def plan(p, q, dtype, capability=None):
    """The Plan for bidiagonalizing slices of q x p numbers, q >= p."""
    lanes = 8 if p <= 64 else 16 if p <= 128 else 32
    count = -(-p // lanes)
    odd = lanes < 32 and count % 2 == 0  # an odd multiple of the lanes, against bank conflicts
    pitch = lanes * (count + 1 if odd else count)
    warps = 1 if p <= 32 else 2 if p <= 64 else 8 if p <= 128 or np.dtype(dtype).itemsize == 8 else 16
    size = q * pitch * np.dtype(dtype).itemsize
    own = (warps + 4) * pitch * np.dtype(dtype).itemsize
    return Plan(lanes, count, pitch, warps, size if size + own + 1024 <= room_of(capability) else 0)


def room_for(p):
    """(rotations, sweeps) of a slice that a launch has room for."""
    return int(TURNS * p * p) + 32, SPANS * p + 8


def workspace_of(p, q, dtype, how):
    """Bytes of workspace a slice."""
    turns, spans = room_for(p)
    numbers = (0 if how.shared else q * how.pitch) + p * p + 2 * turns + 4 * p
    return numbers * np.dtype(dtype).itemsize + 4 * (spans + p + 4)
