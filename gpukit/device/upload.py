"""Large host arrays to a GPU: threads fill page-locked buffers, in turn, while the GPU reads the last one.

A plain copy of pageable memory is filled by one thread of the driver's and waits for itself.
"""

import functools
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from gpukit._cuda import cuda

CHUNK = 16 << 20  # bytes of a buffer
LEAST = 4 << 20  # bytes of an array for which buffers pay
THREADS = 4
_making = threading.Lock()  # of rings: one a device


class Buffer(NamedTuple):
    """Page-locked memory, and the event of its last reading."""

    memory: object
    read: object


class Ring(NamedTuple):
    """A device's stream for uploads and the Buffers that take turns; free: held by the thread that uploads."""

    stream: object
    buffers: list
    free: threading.Lock


def upload(array, out):
    """out = array, converted to out's type; array may be changed as soon as this returns.

    array: host, C-contiguous, numbers; out: a numba device array of as many, C-contiguous, on the current device.
    """
    if out.nbytes < LEAST or threads() < 2:
        with np.errstate(over="ignore"):
            out.copy_to_device(array.reshape(out.shape).astype(out.dtype, copy=False))
        return
    with _making:
        own = ring(cuda.get_current_device().id)
    with own.free:
        send(array.reshape(-1), out.reshape(out.size), own.stream, own.buffers)


def to_device(array):
    """A device array that equals a host array, of its shape and type."""
    array = np.ascontiguousarray(array)
    out = cuda.device_array(array.shape, array.dtype)
    if array.size:
        upload(array, out)
    return out


def send(source, there, stream, buffers):
    """there = source, both (n,), chunk by chunk through the buffers."""
    count = CHUNK // there.dtype.itemsize
    for number, first in enumerate(range(0, there.size, count)):
        memory, read = buffers[number % len(buffers)]
        read.synchronize()
        part = source[first : first + count]
        chunk = memory[: len(part) * there.dtype.itemsize].view(there.dtype)
        fill(chunk, part)
        there[first : first + len(part)].copy_to_device(chunk, stream=stream)
        read.record(stream)


def fill(chunk, part):
    """chunk = part, each thread its share."""
    share = -(-len(part) // threads())
    pieces = [slice(first, first + share) for first in range(0, len(part), share)]
    list(pool().map(lambda piece: convert(chunk[piece], part[piece]), pieces))


def convert(chunk, part):
    """chunk = part; numbers too large for its type become infinite."""
    with np.errstate(over="ignore"):  # an errstate holds for its thread
        np.copyto(chunk, part, casting="same_kind")


@functools.cache
def threads():
    """How many fill a buffer."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(THREADS, cores)


@functools.cache
def pool():
    """The threads."""
    return ThreadPoolExecutor(threads(), thread_name_prefix="gpukit-upload")


@functools.cache
def ring(device):
    """The Ring of a device. Its stream waits for the default stream, which waits for it.

    It outlives the runs: locking pages takes longer than an upload, and what is kept is 32 MB of the host's memory,
    none of the device's. Threads with a GPU each upload at the same time; those that share one take turns.
    """
    buffers = [Buffer(cuda.pinned_array(CHUNK, np.uint8), cuda.event()) for _ in range(2)]
    return Ring(cuda.stream(), buffers, threading.Lock())
