"""How a slice of a shape and dtype is laid out on the GPU: by whom a vector is held, and where the vectors lie."""

from typing import NamedTuple

import numpy as np

MOST = 512  # longest side of a slice
SHARED = 227 << 10  # bytes of shared memory a block may have from compute capability 9.0 on
SHARED_80 = 163 << 10  # and on 8.0
SHARED_ANY = 48 << 10
RESERVE = 8 << 10  # bytes of the kernel's own small arrays


class Plan(NamedTuple):
    """lanes a vector, numbers of it a lane, distance of two vectors in memory, threads a block, bytes of dynamic shared
    memory (0: the vectors lie in global memory)."""

    lanes: int
    count: int
    pitch: int
    threads: int
    shared: int


def shape_of(m, n):
    """(number of vectors, their length): a slice's shorter and its longer side."""
    return min(m, n), max(m, n)


def lanes_of(length):
    """(lanes, numbers a lane) for vectors of a length."""
    for lanes, count in ((4, 4), (8, 4), (8, 8), (16, 8), (32, 8), (32, 16)):
        if length <= lanes * count:
            return lanes, count
    raise ValueError(length)


def pitch_of(room):
    """Numbers from a vector to the next: quads of numbers in an odd number, against bank conflicts."""
    return room + 4


def room_of(capability):
    """Bytes of shared memory a block may ask for on a device of a compute capability (None: the simulator)."""
    if capability is None or capability >= (9, 0):
        return SHARED
    return SHARED_80 if capability == (8, 0) else SHARED_ANY


def plan(m, n, dtype, capability=None):
    """The Plan for slices of m x n numbers."""
    vectors, length = shape_of(m, n)
    lanes, count = lanes_of(length)
    pitch = pitch_of(lanes * count)
    size = vectors * pitch * np.dtype(dtype).itemsize
    groups = -(-vectors // 4)  # each holds four vectors
    threads = min(max(32, -(-groups * lanes // 32) * 32), 512)
    return Plan(lanes, count, pitch, threads, size if size + RESERVE <= room_of(capability) else 0)
