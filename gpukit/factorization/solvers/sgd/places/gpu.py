"""The choice of a place on the GPU: a CPU has none to choose."""

import numpy as np

from gpukit._cuda import cuda
from gpukit._driver import device_array, launch, zeros
from gpukit.device.gpu_arrays import processors
from gpukit.factorization.solvers.sgd.places.kernels import make_grow_rows

FROM = 1 << 25  # ratings: of fewer, epochs gain less than attempts take
PLACES, APART = 8, 512  # how many are tried; bytes from one to the next
SAMPLE, ROUNDS = 1 << 21, 2  # ratings of an attempt; of how many the shortest counts
BLOCKS, THREADS = 16, 128  # on a processor; of a block


def room_for(shape, minor, layout, vector):
    """A float32 device array of a shape (rows, stride), its numbers whatever they are, to hold the parameter rows that
    minor (n,) int32 on the device names by rating; vector: as make_grow_rows has it."""
    if minor.size < FROM:
        return device_array(shape, np.float32)
    places = places_in(zeros(shape[0] * shape[1] + (PLACES - 1) * APART // 4, np.float32), shape)
    kernel = make_grow_rows(layout.lanes, layout.factors, layout.minor.half, vector)
    return places[quickest(attempts(kernel, minor, places))]


def places_in(memory, shape):
    """Views of a shape on a float32 device array, APART bytes from one to the next."""
    size = shape[0] * shape[1]
    return [memory[first : first + size].reshape(*shape) for first in range(0, memory.size - size + 1, APART // 4)]


def attempts(kernel, minor, places):
    """(ROUNDS, places) milliseconds of additions of nothing at each of the places, which hold zeros."""
    events, every = [cuda.event() for _ in range(ROUNDS * len(places) + 1)], max(1, minor.size // SAMPLE)
    launch(kernel, 1, THREADS, minor[:1], 1, np.float32(0), places[0])  # compiles, or loads
    events[0].record()
    for number, event in enumerate(events[1:]):
        launch(kernel, BLOCKS * processors(), THREADS, minor, every, np.float32(0), places[number % len(places)])
        event.record()
    events[-1].synchronize()
    taken = [begin.elapsed_time(end) for begin, end in zip(events, events[1:])]
    return np.reshape(taken, (ROUNDS, len(places)))


def quickest(times):
    """Which of the places took least, at its best."""
    return int(np.argmin(np.min(times, axis=0)))
