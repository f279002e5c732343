"""Host steps of SGD on the GPU: chunk tables, epochs in batches, and the position of the minor rows.

cpu.py has the same names, except the choice of the position. Arrays stay on the device; epochs are queued.
"""

import numpy as np

from gpukit._cuda import cuda
from gpukit._driver import device_array, launch, zeros
from gpukit.device.gpu_arrays import empty, fetch, resident, runner
from gpukit.device.place import processors
from gpukit.factorization.constants import RULES
from gpukit.factorization.model.layout import EXTRA
from gpukit.factorization.solvers.sgd import batch_kernels, kernels
from gpukit.factorization.solvers.sgd.batch_kernels import make_walk_major, make_walk_minor
from gpukit.factorization.solvers.sgd.kernels import make_grow_rows
from gpukit.factorization.solvers.sgd.schedule import BLOCK
from gpukit.primitives.group.gpu import row_starts, sort_by_bits

BLOCKS_A_PROCESSOR = 32
PLACES, APART = 32, 33280  # number of places and bytes between them: over half a page of 2 MiB, all different
ROUNDS = (1 << 20, 4), (1 << 21, 1)  # ratings of an attempt, number of places kept after the round
TIMED_BLOCKS, TIMED_THREADS = 16, 128  # blocks per processor, threads of a block


run = runner(batch_kernels, kernels)


def seen_width(layout):
    """Return the numbers stored for a rating, for a layout.Layout."""
    return layout.lanes * layout.factors + EXTRA


def team_warps(layout):
    """Return the warps that process a long row, bounded by the memory for their sums.

    It is a function of the layout alone, since it sets the order of additions.
    """
    shared_bytes = 32 << 10  # of a team's sums
    bytes_a_warp = 4 * layout.lanes * (layout.factors + 1 + 2 * layout.near)
    return max(1, min(BLOCK // 32, shared_bytes // bytes_a_warp))


def cut(array, position, beyond=0):
    """Return (the first `position` rows of an array, for teams of warps; the others, for single warps).

    beyond: numbers of the second part that the first also has. Arrays are cut once, since a slice of a device array
    takes longer than a launch.
    """
    return array[: position + beyond], array[position:]


def walk(make, shape, warps, teams, *arguments):
    """Queue a kernel for `teams` teams of warps; the result does not depend on the number of blocks."""
    block = 32 * warps if warps > 1 else BLOCK
    grid = max(1, min(-(-teams * 32 * warps // block), BLOCKS_A_PROCESSOR * processors()))
    if teams:
        launch(make(*shape, warps), grid, block, *arguments)


def walk_major(layout, chunks, *arguments):
    """Queue walk_major for both parts of the chunks of a batch."""
    for warps, part in zip((team_warps(layout), 1), chunks):
        walk(make_walk_major, (layout.lanes, layout.factors, layout.near), warps, part.shape[0], part, *arguments)


def walk_minor(layout, starts, slots, rows, at_once, *arguments):
    """Queue walk_minor for both parts of the minor rows."""
    for warps, first, part, most in zip((team_warps(layout), 1), starts, rows, at_once):
        shape = layout.lanes, layout.factors
        walk(make_walk_minor, shape, warps, part.shape[0], first, slots, part, most, *arguments)


def allocate_table(shape, minor, layout, vector, n_ratings=None):
    """Return an uninitialized float32 device array of a shape (rows, stride) for parameter rows.

    minor (n,) int32 on the device: row of each rating; vector: see make_grow_rows; n_ratings: of an epoch, n by
    default.
    """
    if (n_ratings or minor.size) < RULES.timed_from:
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
