"""Large host arrays to a GPU: all cores fill one page-locked buffer while the GPU reads another.

A plain copy of pageable memory is filled by one thread of the driver's and waits for itself. Threads of Python's that
fill a buffer each wait for one another's interpreter lock: with twelve of them 40 MB took 6 ms, of which 1 was copying.
"""

import functools
import itertools
import threading
from typing import NamedTuple

import numpy as np

from gpukit._cuda import cuda
from gpukit._driver import copy_in, copy_page_locked, device_array
from gpukit.scheduler import by_block

CHUNK = 8 << 20  # bytes of a buffer: more than a launch and a parallel loop cost, less than the caches
BUFFERS = 4
LEAST = 1 << 20  # bytes of an array for which buffers pay
PIECE = 1 << 16  # numbers that one thread copies in one go
_making = threading.Lock()  # of rings: one a device


class Buffer(NamedTuple):
    """Page-locked memory, and the event of its last reading."""

    memory: object
    read: object


class Ring(NamedTuple):
    """What uploads to a device go through; free: held by whoever uploads."""

    buffers: list
    stream: object
    free: threading.Lock


def upload(array, out):
    """out = array, converted to out's type; array may be changed as soon as this returns.

    array: host, C-contiguous, numbers; out: a numba device array of as many, C-contiguous, on the current device.
    """
    if out.nbytes < LEAST:
        with np.errstate(over="ignore"):  # numbers too large for out's type become infinite
            copy_in(array.reshape(out.shape), out)
        return
    own = current_ring()
    with own.free:
        send(array.reshape(-1), out.reshape(out.size), own)


def to_device(array):
    """A device array that equals a host array, of its shape and type."""
    array = np.ascontiguousarray(array)
    out = device_array(array.shape, array.dtype)
    if array.size:
        upload(array, out)
    return out


def send(source, there, own):
    """there = source, both (n,), chunk by chunk through a Ring."""
    count = CHUNK // there.dtype.itemsize
    for first, (memory, read) in zip(range(0, there.size, count), itertools.cycle(own.buffers)):
        part = source[first : first + count]
        chunk = memory[: len(part) * there.dtype.itemsize].view(there.dtype)
        read.synchronize()
        fill(chunk, part)
        copy_page_locked(chunk, there, first, own.stream)
        read.record(own.stream)


def fill(chunk, part):
    """chunk = part; numbers too large for its type become infinite."""
    if chunk.dtype == part.dtype:
        chunk, part = chunk.view(np.uint8), part.view(np.uint8)  # one function for all types
    with np.errstate(over="ignore"):  # errors: where the loop is not compiled
        copy(part, chunk)


@by_block(lambda source: -(-source.size // PIECE))
def copy(start, stop, source, out):
    """out = source, both (n,)."""
    for piece in range(start, stop):
        end = min((piece + 1) * PIECE, source.size)
        out[piece * PIECE : end] = source[piece * PIECE : end]


def current_ring():
    """The Ring of the current device, made if there is none."""
    with _making:
        return ring(cuda.get_current_device().id)


@functools.cache
def ring(device):
    """The Ring of a device. Its stream waits for the default stream, which waits for it.

    It outlives the runs: locking pages takes longer than an upload, and what is kept is 32 MB of the host's memory,
    none of the device's. Threads with a GPU each upload at the same time; those that share one take turns.
    """
    buffers = [Buffer(cuda.pinned_array(CHUNK, np.uint8), cuda.event()) for _ in range(BUFFERS)]
    return Ring(buffers, cuda.stream(), threading.Lock())
