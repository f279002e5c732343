"""Large host arrays to a GPU: each of several threads fills page-locked buffers of its own while the GPU reads another.

A plain copy of pageable memory is filled by one thread of the driver's and waits for itself.
"""

import functools
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from gpukit._cuda import cuda

CHUNK = 16 << 20  # bytes of a buffer; a copy costs Python half a millisecond, whatever its size
SHARE = 8 << 20  # bytes that a thread is started for
LEAST = 4 << 20  # bytes of an array for which buffers pay
THREADS = 8
_making = threading.Lock()  # of rings: one a device


class Buffer(NamedTuple):
    """Page-locked memory, and the event of its last reading."""

    memory: object
    read: object


class Lane(NamedTuple):
    """What one thread uploads with: a stream, and its Buffer."""

    stream: object
    buffer: Buffer


class Ring(NamedTuple):
    """A device's lanes and the threads that work in them; free: held by whoever uploads."""

    lanes: list
    pool: object
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
        send(array.reshape(-1), out.reshape(out.size), own)


def to_device(array):
    """A device array that equals a host array, of its shape and type."""
    array = np.ascontiguousarray(array)
    out = cuda.device_array(array.shape, array.dtype)
    if array.size:
        upload(array, out)
    return out


def send(source, there, own):
    """there = source, both (n,), a share for each lane of a Ring, or for as many as there are large shares."""
    device, most = cuda.get_current_device().id, min(len(own.lanes), -(-there.nbytes // SHARE))
    share = -(-there.size // most)
    firsts = range(0, there.size, share)

    def work(lane, first):
        with cuda.gpus[device]:  # a thread has to say which device is its own
            send_share(source[first : first + share], there[first : first + share], lane)

    list(own.pool.map(work, own.lanes, firsts))


def send_share(source, there, lane):
    """there = source, both (n,), chunk by chunk through a Lane's buffer: it waits while other lanes fill theirs."""
    count, (memory, read) = CHUNK // there.dtype.itemsize, lane.buffer
    for first in range(0, there.size, count):
        read.synchronize()
        part = source[first : first + count]
        chunk = memory[: len(part) * there.dtype.itemsize].view(there.dtype)
        fill(chunk, part)
        there[first : first + len(part)].copy_to_device(chunk, stream=lane.stream)
        read.record(lane.stream)


def fill(chunk, part):
    """chunk = part; numbers too large for its type become infinite."""
    with np.errstate(over="ignore"):  # an errstate holds for its thread
        np.copyto(chunk, part, casting="same_kind")


@functools.cache
def threads():
    """How many fill buffers."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(THREADS, cores)


@functools.cache
def ring(device):
    """The Ring of a device. Its streams wait for the default stream, which waits for them.

    It outlives the runs: locking pages takes longer than an upload, and what is kept is 128 MB of the host's memory
    at most, none of the device's. Threads with a GPU each upload at the same time; those that share one take turns.
    """
    lanes = [Lane(cuda.stream(), Buffer(cuda.pinned_array(CHUNK, np.uint8), cuda.event())) for _ in range(threads())]
    return Ring(lanes, ThreadPoolExecutor(len(lanes), thread_name_prefix=f"gpukit-upload-{device}"), threading.Lock())
