"""Host steps of the thresholding on the GPU, for device arrays. cpu.py has the same function."""

from typing import NamedTuple

import numpy as np

from gpukit._cuda import SIMULATED, cuda, with_shared_memory
from gpukit._driver import copy_rows
from gpukit.device.workspace import Workspace
from gpukit.svt.kernels import bidiagonal as bidiagonal_kernels
from gpukit.svt.kernels import bulge_chasing as chase_kernels
from gpukit.svt.plan import (
    LAUNCHES,
    SHARED,
    WORKSPACE,
    Resident,
    buffers,
    bytes_of_multiply,
    bytes_of_rotate,
    check_converged,
    plan,
    sides,
    workspace_of,
)

STREAMS = 2  # concurrent batches


def layout(shape, dtype):
    """Return the Plan of slices (N, m, n) on the current device."""
    return plan(*sides(shape), dtype, shared_memory())


def shared_memory():
    """Return bytes of shared memory of a block on the current device."""
    return SHARED if SIMULATED else cuda.get_current_device().MAX_SHARED_MEMORY_PER_BLOCK_OPTIN


def slices_at_once(shape, dtype, how):
    """Return the number of slices of a Scratch."""
    dynamic = WORKSPACE // workspace_of(*sides(shape), dtype, how) // STREAMS
    return max(1, min(-(-shape[0] // STREAMS), dynamic))


def threshold(X, lam, out, whole=False, cap=None, workspace=None):
    """Threshold into out and return (values, ranks).

    values (N, min(m, n)) or (N, 0); ranks (N,) int32. X, out (N, m, n) float32 or float64, lam (N,) of their type, cap
    (N,) int32 or None: the largest number of singular vectors to keep. All arrays and values are on the device, ranks
    on the host. Nothing is checked. whole: return all singular values. Raises GpukitError for a slice that does not
    converge. workspace: see Thresholding.
    """
    work = Thresholding(X, lam, out, whole, cap, workspace)
    work.run()
    return work.values, work.fetch_ranks()


class Thresholding:
    """Repeated `threshold` of the same arrays: run() reads X, lam and cap, and writes out, values, ranks.

    out may be X, or None if only values and ranks are needed. Preparing the launches takes longer than running them.
    workspace: the device.workspace.Workspace of a run, whose buffers successive instances share; None: own buffers.

    Batches alternate between a few streams, so that the few threads of one batch's QR sweeps share the device with
    another batch's kernels. These streams and the default stream wait for each other.
    """

    def __init__(self, X, lam, out, whole=False, cap=None, workspace=None):
        slices, (p, _) = len(X), sides(X.shape)
        self.values = cuda.device_array((slices, p if whole else 0), X.dtype)
        self.ranks = cuda.device_array(slices, np.int32)
        cap = cuda.to_device(np.full(slices, p, np.int32)) if cap is None else cap
        count = slices_at_once(X.shape, X.dtype, layout(X.shape, X.dtype))
        scratches = scratch_for(X.shape, np.dtype(X.dtype), count, min(STREAMS, -(-slices // count)), workspace)
        self.steps = []
        for first in range(0, slices, count * len(scratches)):
            batches = []
            for scratch_set, begin in zip(scratches, range(first, slices, count)):
                part = slice(begin, min(begin + count, slices))
                arrays = [array[part] for array in (X, lam, cap, self.values, self.ranks)]
                batches.append(steps(scratch_set, *arrays, None if out is None else out[part]))
            self.steps += [step for together in zip(*batches) for step in together]

    def run(self):
        """Threshold."""
        for launch, arguments in self.steps:
            launch(*arguments)

    def fetch_ranks(self):
        """Return ranks on the host after the last run; GpukitError for a slice that did not converge."""
        return check_converged(self.ranks.copy_to_host())


class Scratch(NamedTuple):
    """A stream and the plan.Buffers between the kernels of a batch.

    shape: (p, q) of its slices; slices: their copies if they do not fit into shared memory.
    """

    shape: tuple
    stream: object
    buffers: object
    slices: object


def scratch_for(shape, dtype, slices, count, workspace=None):
    """Return `count` Scratches for slices of a shape.

    Each is for at least `slices` slices, from the workspace if it has them.
    """

    def fits(reusable):
        (p, q), scratch_set = sides(shape), reusable[0]
        is_same_shape = scratch_set.shape == (p, q) and scratch_set.buffers.V.dtype == dtype
        return is_same_shape and len(reusable) >= count and len(scratch_set.buffers.V) >= slices

    reusable = (workspace or Workspace()).keep(
        "thresholding", fits, lambda: [scratch(shape, dtype, slices) for _ in range(count)]
    )
    return reusable[:count]


def scratch(shape, dtype, slices):
    """Allocate a Scratch for a number of slices of a shape."""
    (p, q), how = sides(shape), layout(shape, dtype)
    copies = cuda.device_array((1, 1) if how.shared else (slices, q * how.pitch), dtype)
    return Scratch((p, q), cuda.stream(), buffers(slices, p, dtype, cuda.device_array), copies)


def chase_threads(slices):
    """Return threads of a block of chase.

    Threads of a block wait for each other, but 2,000 blocks of one thread are too many.
    """
    return 1 if slices < 800 else 2 if slices < 1600 else 4


def find_kernels(p, dtype, how, threads=4):
    """Return the kernels of a Plan.

    These are bidiagonalize, chase in blocks of `threads`, rotate, arrange, multiply.
    """
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
    """Return bytes of dynamic shared memory of each kernel of find_kernels.

    They are those of a block.
    """
    size = np.dtype(dtype).itemsize
    multiplied, _ = bytes_of_multiply(p, how.tile, size)
    return how.shared, (2 * p + 1) * threads * size, bytes_of_rotate(p, size), 0, multiplied


def steps(scratch_set, X, lam, cap, values, ranks, out):
    """Return the launches (configured kernel, arguments) that threshold slices in a Scratch."""
    (p, q), N, how = sides(X.shape), len(X), layout(X.shape, X.dtype)
    _, stream, (d, e, scales, states, spans, turns, V, seats, weights), slices = scratch_set
    threads = chase_threads(len(scales))
    bidiagonalize, chase, rotate, arrange, multiply = find_kernels(p, X.dtype, how, threads)
    dynamic = dynamic_bytes(p, X.dtype, how, threads)
    bidiagonalize = with_shared_memory(bidiagonalize, N, 32 * how.warps, dynamic[0], stream)
    chase = with_shared_memory(chase, -(-N // threads), threads, dynamic[1], stream)
    rotate = with_shared_memory(rotate, (N, -(-p // 32)), 32, dynamic[2], stream)
    multiply = with_shared_memory(multiply, (N, -(-q // (32 * how.tile[0]))), chase_kernels.BLOCK, dynamic[4], stream)
    rotations = [(chase, (d, e, states[:N], spans, turns)), (rotate, (states, spans, turns, V))]
    return [
        (bidiagonalize, (X, d, e, scales, states, V, slices)),
        *LAUNCHES * (rotations[:1] if out is None else rotations),
        (arrange[N, 32, stream], (d, states, scales, lam, cap, seats, weights, ranks, values)),
        *([] if out is None else [(multiply, (X, V, seats, weights, ranks, out))]),
    ]


def memory_needed(shape, dtype):
    """Return device bytes of X, out and the allocations of `threshold`."""
    how, size = layout(shape, dtype), np.dtype(dtype).itemsize
    work = STREAMS * slices_at_once(shape, dtype, how) * workspace_of(*sides(shape), dtype, how)
    return shape[0] * (2 * shape[1] * shape[2] + min(shape[1:]) + 2) * size + work


BUFFERS = 3  # one arrives, one is computed, one leaves
ALIGNED = 256  # bytes between the starts of arrays in a buffer


def side_stream():
    """Return (a stream parallel to the default one, as numba's; its owner)."""
    if SIMULATED:
        return cuda.stream(), None
    import cupy

    result = cupy.cuda.Stream(non_blocking=True)
    return cuda.external_stream(result.ptr), result


class Travelling(Resident):
    """Arrays in page-locked memory, whose blocks travel to the device, and back if written.

    library: cupy; size: bytes of a buffer, which holds the blocks of a part; columns, slices: the most of a block.
    """

    def __init__(self, library, size, columns, slices):
        self.columns, self.slices, most_arrays = columns, slices, 5
        self.buffers = [library.empty(size + most_arrays * ALIGNED, np.uint8) for _ in range(BUFFERS)]
        self.inward, self.outward = side_stream(), side_stream()
        self.arrived, self.left = ([cuda.event() for _ in range(BUFFERS)] for _ in range(2))
        self.computed = cuda.event()

    @staticmethod
    def empty(shape, dtype):
        """Return an uninitialized page-locked array."""
        size = int(np.prod(shape))
        return cuda.pinned_array(max(1, size), dtype)[:size].reshape(shape)

    def place(self, array):
        """Return a page-locked copy."""
        result = self.empty(array.shape, array.dtype)
        result[...] = array
        return result

    def zeros(self, shape, dtype):
        """Return a page-locked array of zeros."""
        return self.place(np.broadcast_to(np.zeros((), dtype), shape))

    def views(self, number, part, *arrays):
        """See Resident. An array that occurs twice has one block."""
        buffer, first, blocks = self.buffers[number % BUFFERS], 0, {}
        for array in arrays:
            if id(array) not in blocks:
                block = array[part]
                end = first + block.nbytes
                blocks[id(array)] = buffer[first:end].view(block.dtype).reshape(block.shape)
                first = end + -end % ALIGNED
        return [blocks[id(array)] for array in arrays]

    def each(self, parts, reads=(), writes=()):
        """See Resident. Blocks of writes are stored when the next block is taken, all of them at the end."""
        (inward, _), (outward, _) = self.inward, self.outward
        self.computed.record()
        self.computed.wait(inward)

        def load(number):
            blocks = self.views(number, parts[number], *reads, *writes)
            self.left[number % BUFFERS].wait(inward)
            for array, block in zip(reads, blocks):
                copy_rows(array[parts[number]], block, inward)
            self.arrived[number % BUFFERS].record(inward)
            return blocks

        try:
            following = load(0)
            for number, part in enumerate(parts):
                blocks = following
                if number + 1 < len(parts):
                    following = load(number + 1)
                self.arrived[number % BUFFERS].wait()
                yield part, *blocks
                self.computed.record()
                self.computed.wait(outward)
                for array, block in zip(writes, blocks[len(reads) :]):
                    copy_rows(block, array[part], outward)
                self.left[number % BUFFERS].record(outward)
        finally:
            inward.synchronize()
            outward.synchronize()
