"""Host steps of SGD on the GPU: chunk tables, and the position of the minor rows.

cpu.py has the same names, except the choice of the position. Arrays stay on the device.
"""

import numpy as np

from gpukit._cuda import cuda
from gpukit._driver import device_array, launch, zeros
from gpukit.device import processors
from gpukit.device.gpu_arrays import empty, fetch, resident, runner
from gpukit.factorization.solvers.sgd import chunk_kernels
from gpukit.factorization.solvers.sgd.kernels import make_grow_rows
from gpukit.primitives.group.gpu import sort_by_bits

__all__ = ["empty", "fetch", "resident", "run", "sort_by_bits"]

TIMED_FROM = 1 << 25  # ratings, at least; for fewer, the attempts take longer than they save
PLACES, APART = 32, 33280  # number of places and bytes between them: over half a page of 2 MiB, all different
ROUNDS = (1 << 20, 4), (1 << 21, 1)  # ratings of an attempt, number of places kept after the round
TIMED_BLOCKS, TIMED_THREADS = 16, 128  # blocks per processor, threads of a block

run = runner(chunk_kernels)


def allocate_table(shape, minor, layout, vector, n_ratings=None):
    """Return an uninitialized float32 device array of a shape (rows, stride) for parameter rows.

    minor (n,) int32 on the device: row of each rating; vector: see make_grow_rows; n_ratings: of an epoch, n by
    default.
    """
    if (n_ratings or minor.size) < TIMED_FROM:
        return device_array(shape, np.float32)
    places = places_in(zeros(shape[0] * shape[1] + (PLACES - 1) * APART // 4, np.float32), shape)
    kernel = make_grow_rows(layout.lanes, layout.factors, layout.minor.half, vector)
    launch(kernel, 1, TIMED_THREADS, minor[:1], 1, np.float32(0), places[0])  # compile or load
    for sample, left in ROUNDS:
        times = attempts(kernel, minor, max(1, minor.size // sample), places)
        places = [places[number] for number in np.argsort(times, kind="stable")[:left]]
    return places[0]


def places_in(memory, shape):
    """Return views of a shape on a float32 device array, APART bytes apart."""
    size = shape[0] * shape[1]
    return [memory[first : first + size].reshape(*shape) for first in range(0, memory.size - size + 1, APART // 4)]


def attempts(kernel, minor, every, places):
    """Return the milliseconds of adding zeros at each place, (places,), for one rating in `every`; the places hold
    zeros."""
    events = [cuda.event() for _ in range(len(places) + 2)]
    for place, event in zip([places[-1], *places], events[:-1]):  # the first attempt has a cold cache
        event.record()
        launch(kernel, TIMED_BLOCKS * processors(), TIMED_THREADS, minor, every, np.float32(0), place)
    events[-1].record()
    events[-1].synchronize()
    return [begin.elapsed_time(end) for begin, end in zip(events[1:], events[2:])]
