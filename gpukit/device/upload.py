"""Copies of large arrays to and from a GPU: all cores copy one page-locked buffer while the GPU copies another.

The driver copies pageable memory with a single thread and does not overlap the two steps. Python threads with a buffer
each would wait for the interpreter lock.
"""

import collections
import functools
import itertools
import threading
from typing import NamedTuple

import numpy as np

from gpukit._cuda import cuda
from gpukit._driver import copy_in, copy_page_locked, copy_to_page_locked, device_array
from gpukit._jit import copy_row
from gpukit.scheduler import by_block

CHUNK = 8 << 20  # bytes of a buffer: hides the cost of a launch and a parallel loop, fits the caches
LEAST = 1 << 20  # bytes of an array for which buffers pay
PIECE = 1 << 16  # numbers that a thread copies at once
_ring_lock = threading.Lock()  # one ring for each device


class Buffer(NamedTuple):
    """Page-locked memory, and the event of its last copy by the GPU."""

    memory: object
    copied: object


class Ring(NamedTuple):
    """Buffers and stream of the copies to and from a device; lock: held during a copy."""

    buffers: list
    stream: object
    lock: threading.Lock


def upload(array, out):
    """Copy a host array to a device array of the same size, converted to its type.

    array: C-contiguous numbers; out: C-contiguous numba device array on the current device. Numbers too large for the
    type of out become infinite. The array may be changed once this returns.
    """
    if out.nbytes < LEAST:
        with np.errstate(over="ignore"):
            copy_in(array.reshape(out.shape), out)
        return
    ring = current_ring()
    with ring.lock:
        send(array.reshape(-1), out.reshape(out.size), ring)


def to_device(array):
    """Return a device array equal to a host array, of its shape and type."""
    array = np.ascontiguousarray(array)
    out = device_array(array.shape, array.dtype)
    if array.size:
        upload(array, out)
    return out


def send(source, target, ring):
    """Copy source to target, both (n,), chunk by chunk through a Ring."""
    count = CHUNK // target.dtype.itemsize
    for first, (memory, copied) in zip(range(0, target.size, count), itertools.cycle(ring.buffers)):
        part = source[first : first + count]
        chunk = memory[: len(part) * target.dtype.itemsize].view(target.dtype)
        copied.synchronize()
        fill(chunk, part)
        copy_page_locked(chunk, target, first, ring.stream)
        copied.record(ring.stream)


def download(array, out=None):
    """Return a copy of a device array on the host: out, C-contiguous and of its shape and type, or a new array."""
    if array.nbytes < LEAST or not array.is_c_contiguous():
        return array.copy_to_host(out)
    out, ring = np.empty(array.shape, array.dtype) if out is None else out, current_ring()
    with ring.lock:
        receive(array.reshape(array.size), out.reshape(-1), ring)
    return out


def receive(source, target, ring):
    """Copy source to target, both (n,) of one type, chunk by chunk through a Ring."""
    count, waiting = CHUNK // target.dtype.itemsize, collections.deque()
    for first, (memory, copied) in zip(range(0, target.size, count), itertools.cycle(ring.buffers)):
        part = target[first : first + count]
        if len(waiting) == len(ring.buffers):
            empty_oldest(waiting)
        chunk = memory[: part.nbytes].view(target.dtype)
        copy_to_page_locked(source, first, chunk)  # after uploads that read from the buffer
        copied.record()
        waiting.append((part, chunk, copied))
    while waiting:
        empty_oldest(waiting)


def empty_oldest(waiting):
    """Copy the first (part, chunk, event) of those waiting to its part, once its event has come."""
    part, chunk, copied = waiting.popleft()
    copied.synchronize()
    fill(part, chunk)


def fill(chunk, part):
    """Copy part to chunk; numbers too large for its type become infinite."""
    if chunk.dtype == part.dtype:
        chunk, part = chunk.view(np.uint8), part.view(np.uint8)  # one compiled function for all types
    with np.errstate(over="ignore"):  # for loops that are not compiled
        copy(part, chunk)


@by_block(lambda source: -(-source.size // PIECE))
def copy(start, stop, source, out):
    """Copy source to out, both (n,)."""
    for piece in range(start, stop):
        end = min((piece + 1) * PIECE, source.size)
        copy_row(source[piece * PIECE : end], out[piece * PIECE : end])


def current_ring():
    """Return the Ring of the current device."""
    with _ring_lock:
        return make_ring(cuda.get_current_device().id)


@functools.cache
def make_ring(device):
    """Create the Ring of a device, whose stream is synchronized with the default stream.

    It outlives the runs: locking pages takes longer than an upload, and a ring takes 32 MB of main memory and none of
    the device. Threads upload to different GPUs at the same time, to the same GPU one after another.
    """
    buffers = [Buffer(cuda.pinned_array(CHUNK, np.uint8), cuda.event()) for _ in range(4)]
    return Ring(buffers, cuda.stream(), threading.Lock())
