"""Host step of the thresholding on the GPU; arrays stay there. cpu.py has the same function."""

from typing import NamedTuple

import numpy as np

from gpukit._cuda import SIMULATED, cuda, with_shared_memory
from gpukit.device.workspace import Workspace
from gpukit.svt.kernels import bidiagonal as bidiagonal_kernels
from gpukit.svt.kernels import bulge_chasing as chase_kernels
from gpukit.svt.plan import (
    LAUNCHES,
    SHARED,
    WORKSPACE,
    bytes_of_multiply,
    bytes_of_rotate,
    converged,
    plan,
    room_for,
    sides,
    workspace_of,
)

STREAMS = 2  # batches under way at once


def layout(shape, dtype):
    """The Plan of slices (N, m, n) on the current device."""
    return plan(*sides(shape), dtype, shared_memory())


def shared_memory():
    """Bytes of shared memory that a block may have on the current device."""
    return SHARED if SIMULATED else cuda.get_current_device().MAX_SHARED_MEMORY_PER_BLOCK_OPTIN


def slices_at_once(shape, dtype, how):
    """How many slices a Scratch has room for."""
    room = WORKSPACE // workspace_of(*sides(shape), dtype, how) // STREAMS
    return max(1, min(-(-shape[0] // STREAMS), room))


def threshold(X, lam, out, whole=False, cap=None, workspace=None):
    """(values (N, min(m, n)) or (N, 0) on the device, ranks (N,) int32 on the host); out is overwritten.

    X, out (N, m, n) float32 or float64, lam (N,) of their type, cap (N,) int32 or None: at most so many singular
    vectors are kept; all on the device, nothing is checked. whole: all singular values are wanted. Raises GpukitError
    for a slice that does not converge. workspace: see Thresholding.
    """
    work = Thresholding(X, lam, out, whole, cap, workspace)
    work.run()
    return work.values, work.ranks_found()


class Thresholding:
    """`threshold` of the same arrays, again and again: run() reads X, lam and cap as they are then, and writes out,
    which may be X, values, ranks. Preparing the launches takes longer than the launches. out None: values and ranks are
    all that is wanted. workspace: the device.workspace.Workspace of a run, whose buffers between the kernels serve one
    Thresholding after the other; None: they are the object's own.

    Batches take turns on a few streams, so that the few threads of one's chase share the device with the other's
    kernels. The streams wait for the default stream, and it waits for them.
    """

    def __init__(self, X, lam, out, whole=False, cap=None, workspace=None):
        slices, (p, _) = len(X), sides(X.shape)
        self.values = cuda.device_array((slices, p if whole else 0), X.dtype)
        self.ranks = cuda.device_array(slices, np.int32)
        cap = cuda.to_device(np.full(slices, p, np.int32)) if cap is None else cap
        count = slices_at_once(X.shape, X.dtype, layout(X.shape, X.dtype))
        buffers = scratch_for(X.shape, np.dtype(X.dtype), count, min(STREAMS, -(-slices // count)), workspace)
        self.steps = []
        for first in range(0, slices, count * len(buffers)):
            under_way = []
            for own, begin in zip(buffers, range(first, slices, count)):
                part = slice(begin, min(begin + count, slices))
                arrays = [array[part] for array in (X, lam, cap, self.values, self.ranks)]
                under_way.append(steps(own, *arrays, None if out is None else out[part]))
            self.steps += [step for together in zip(*under_way) for step in together]

    def run(self):
        """Threshold."""
        for launch, arguments in self.steps:
            launch(*arguments)

    def ranks_found(self):
        """ranks on the host, once the last run has ended; GpukitError for a slice that did not converge."""
        return converged(self.ranks.copy_to_host())


class Scratch(NamedTuple):
    """A stream and what lies between the kernels of a batch, device arrays: see kernels/; shape: (p, q) of the slices
    it is for; slices: these themselves, where they do not lie in shared memory."""

    shape: tuple
    stream: object
    d: object
    e: object
    scales: object
    states: object
    spans: object
    turns: object
    V: object
    seats: object
    weights: object
    slices: object


def scratch_for(shape, dtype, slices, count, workspace=None):
    """So many Scratches, each for so many slices of a shape, or more: the workspace's, where it has them."""

    def fits(kept):
        (p, q), own = sides(shape), kept[0]
        alike = own.shape == (p, q) and own.V.dtype == dtype
        return alike and len(kept) >= count and len(own.V) >= slices

    kept = (workspace or Workspace()).keep(
        "thresholding", fits, lambda: [scratch(shape, dtype, slices) for _ in range(count)]
    )
    return kept[:count]


def scratch(shape, dtype, slices):
    """A Scratch for so many slices of a shape."""
    (p, q), how, empty = sides(shape), layout(shape, dtype), cuda.device_array
    turns, spans = room_for(p)
    return Scratch(
        (p, q),
        cuda.stream(),
        empty((p, slices), dtype),
        empty((p + 1, slices), dtype),
        empty(slices, dtype),
        empty((slices, 3), np.int32),
        empty((slices, spans), np.int32),
        empty((slices, turns, 2), dtype),
        empty((slices, p, p), dtype),
        empty((slices, p), np.int32),
        empty((slices, p), dtype),
        empty((1, 1) if how.shared else (slices, q * how.pitch), dtype),
    )


def chasers(slices):
    """Threads a block of chase: each waits for the others, but 2,000 blocks of one thread are too many."""
    return 1 if slices < 800 else 2 if slices < 1600 else 4


def find_kernels(p, dtype, how, threads=4):
    """(bidiagonalize, chase in blocks of `threads`, rotate, arrange, multiply) of a Plan."""
    real = np.dtype(dtype).type
    bidiagonalize = bidiagonal_kernels.make_bidiagonalize
    return (
        bidiagonalize(real, how.lanes, how.count, how.pitch, how.warps, how.shared > 0),
        chase_kernels.make_chase(real, threads),
        chase_kernels.make_rotate(real),
        chase_kernels.make_arrange(real),
        chase_kernels.make_multiply(real, how.tile[0], -(-p // 8), how.tile[1]),
    )


def dynamic_bytes(p, dtype, how, threads=4):
    """Bytes of dynamic shared memory of a block of each of find_kernels' kernels."""
    size = np.dtype(dtype).itemsize
    multiplied, _ = bytes_of_multiply(p, how.tile, size)
    return how.shared, (2 * p + 1) * threads * size, bytes_of_rotate(p, size), 0, multiplied


def steps(own, X, lam, cap, values, ranks, out):
    """The launches that threshold as many slices as the Scratch `own` is for, or fewer: pairs of a kernel, configured,
    and its arguments."""
    (p, q), N, how = sides(X.shape), len(X), layout(X.shape, X.dtype)
    _, stream, d, e, scales, states, spans, turns, V, seats, weights, slices = own
    threads = chasers(len(scales))
    bidiagonalize, chase, rotate, arrange, multiply = find_kernels(p, X.dtype, how, threads)
    room = dynamic_bytes(p, X.dtype, how, threads)
    bidiagonalize = with_shared_memory(bidiagonalize, N, 32 * how.warps, room[0], stream)
    chase = with_shared_memory(chase, -(-N // threads), threads, room[1], stream)
    rotate = with_shared_memory(rotate, (N, -(-p // 32)), 32, room[2], stream)
    multiply = with_shared_memory(multiply, (N, -(-q // (32 * how.tile[0]))), chase_kernels.BLOCK, room[4], stream)
    turning = [(chase, (d, e, states[:N], spans, turns)), (rotate, (states, spans, turns, V))]
    return [
        (bidiagonalize, (X, d, e, scales, states, V, slices)),
        *LAUNCHES * (turning[:1] if out is None else turning),
        (arrange[N, 32, stream], (d, states, scales, lam, cap, seats, weights, ranks, values)),
        *([] if out is None else [(multiply, (X, V, seats, weights, ranks, out))]),
    ]


def memory_needed(shape, dtype):
    """Bytes on the device for X, out and what `threshold` allocates."""
    how, size = layout(shape, dtype), np.dtype(dtype).itemsize
    work = STREAMS * slices_at_once(shape, dtype, how) * workspace_of(*sides(shape), dtype, how)
    return shape[0] * (2 * shape[1] * shape[2] + min(shape[1:]) + 2) * size + work
