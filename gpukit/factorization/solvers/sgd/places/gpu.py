"""The choice of a place on the GPU: a CPU has none to choose."""

import numpy as np

from gpukit._cuda import cuda
from gpukit._driver import device_array, launch, zeros
from gpukit.device.gpu_arrays import processors
from gpukit.factorization.solvers.sgd.places.kernels import make_grow_rows

FROM = 1 << 25  # ratings: of fewer, epochs gain less than attempts take
PLACES, APART = 32, 33280  # how many are tried; bytes from one to the next: over half a page of 2 MiB, no place alike
ROUNDS = (1 << 20, 4), (1 << 21, 1)  # ratings of an attempt; of how many places there is a later one, or none
BLOCKS, THREADS = 16, 128  # on a processor; of a block


def room_for(shape, minor, layout, vector):
    """A float32 device array of a shape (rows, stride), its numbers whatever they are, to hold the parameter rows that
    minor (n,) int32 on the device names by rating; vector: as make_grow_rows has it."""
    if minor.size < FROM:
        return device_array(shape, np.float32)
    places = places_in(zeros(shape[0] * shape[1] + (PLACES - 1) * APART // 4, np.float32), shape)
    kernel = make_grow_rows(layout.lanes, layout.factors, layout.minor.half, vector)
    launch(kernel, 1, THREADS, minor[:1], 1, np.float32(0), places[0])  # compiles, or loads
    for sample, left in ROUNDS:
        times = attempts(kernel, minor, max(1, minor.size // sample), places)
        places = [places[number] for number in np.argsort(times, kind="stable")[:left]]
    return places[0]


def places_in(memory, shape):
    """Views of a shape on a float32 device array, APART bytes from one to the next."""
    size = shape[0] * shape[1]
    return [memory[first : first + size].reshape(*shape) for first in range(0, memory.size - size + 1, APART // 4)]


def attempts(kernel, minor, every, places):
    """(places,) milliseconds of additions of nothing at each of the places, which hold zeros, by one rating in so
    many."""
    events = [cuda.event() for _ in range(len(places) + 2)]
    for place, event in zip([places[-1], *places], events[:-1]):  # the first finds its ratings in no cache
        event.record()
        launch(kernel, BLOCKS * processors(), THREADS, minor, every, np.float32(0), place)
    events[-1].record()
    events[-1].synchronize()
    return [begin.elapsed_time(end) for begin, end in zip(events[1:], events[2:])]
