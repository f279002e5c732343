"""The global `cuda` inside a running kernel: barriers, warp intrinsics, bit functions, shared and local arrays."""

import numpy as np
from greenlet import getcurrent
from numba.cuda.simulator.kernelapi import FakeCUDAModule

from cudasim.machine import WARP, Local, undefined

FULL = 0xFFFFFFFF


def warp_meeting(operation, mask, value):
    """Meet the lanes of mask; return (this thread, machine.Came)."""
    thread, mask = getcurrent(), int(mask) & FULL
    if not mask >> thread.lane & 1:
        raise RuntimeError(f"{operation}: lane {thread.lane} is not in its own mask {mask:#010x}")
    return thread, thread.meet(("warp", thread.warp, mask, operation), value)


def brought(thread, came, lane):
    """Return the value of a lane; the thread's own for lanes outside the warp; undefined for an inactive lane."""
    if not 0 <= lane < WARP:
        return came[thread.thread_id]
    number = thread.first_of_warp + lane
    return came[number] if number in came else undefined((), np.asarray(came[thread.thread_id]).dtype)[()]


def lanes_mask(lanes):
    """Bit set for each lane, as the int32 that the compiler gives."""
    return np.array(sum(1 << lane for lane in lanes), np.uint32).view(np.int32)[()]


def unsigned(value, operation):
    """Return (width in bits, value as an unsigned Python int); a plain int has no width and is an error."""
    if not isinstance(value, np.integer):
        raise TypeError(f"cuda.{operation} of {type(value).__name__}: make the width explicit, e.g. np.uint32(x)")
    width = value.dtype.itemsize * 8
    return width, int(value) & ((1 << width) - 1)


def block_vote(operation, predicate):
    """Return all predicates of the block. The compiler takes integers only, so a bool is an error here too."""
    if isinstance(predicate, (bool, np.bool_)):
        raise TypeError(f"cuda.syncthreads_{operation} takes an integer: write np.int32(predicate)")
    return getcurrent().meet(("block", operation), predicate)


class Barriers:
    """Block-wide meetings and votes."""

    def syncthreads(self):
        """Wait for the whole block."""
        getcurrent().meet(("block",))

    def syncthreads_count(self, predicate):
        """Return the number of threads with a true predicate."""
        return block_vote("count", predicate).once(lambda values: sum(map(bool, values)))

    def syncthreads_and(self, predicate):
        """1 if all predicates are true."""
        return int(block_vote("and", predicate).once(all))

    def syncthreads_or(self, predicate):
        """1 if any predicate is true."""
        return int(block_vote("or", predicate).once(any))


class Warps:
    """Warp-wide meetings: shuffles, votes, matches."""

    def syncwarp(self, mask=FULL):
        """Wait for the lanes of mask."""
        warp_meeting("syncwarp", mask, None)

    def shfl_sync(self, mask, value, source):
        """value of one lane."""
        return brought(*warp_meeting("shfl", mask, value), int(source) % WARP)

    def shfl_up_sync(self, mask, value, delta):
        """value of the lane delta below."""
        thread, came = warp_meeting("shfl_up", mask, value)
        return brought(thread, came, thread.lane - int(delta))

    def shfl_down_sync(self, mask, value, delta):
        """value of the lane delta above."""
        thread, came = warp_meeting("shfl_down", mask, value)
        return brought(thread, came, thread.lane + int(delta))

    def shfl_xor_sync(self, mask, value, bits):
        """value of the lane whose number differs in `bits`."""
        thread, came = warp_meeting("shfl_xor", mask, value)
        return brought(thread, came, thread.lane ^ int(bits))

    def ballot_sync(self, mask, predicate):
        """int32 mask of the lanes with a true predicate."""
        came = warp_meeting("ballot", mask, bool(predicate))[1]
        return came.once(lambda _: lanes_mask(lane for lane, v in came.lanes().items() if v))

    def any_sync(self, mask, predicate):
        """True if any predicate is true."""
        return warp_meeting("any", mask, bool(predicate))[1].once(any)

    def all_sync(self, mask, predicate):
        """True if all predicates are true."""
        return warp_meeting("all", mask, bool(predicate))[1].once(all)

    def eq_sync(self, mask, predicate):
        """True if all predicates are equal."""
        return len(warp_meeting("eq", mask, bool(predicate))[1].once(set)) == 1

    def match_any_sync(self, mask, value):
        """int32 mask of the lanes with my value."""
        values = warp_meeting("match_any", mask, value)[1].lanes()
        return lanes_mask(lane for lane, v in values.items() if v == value)

    def match_all_sync(self, mask, value):
        """(mask, True) if all values are equal, else (0, False)."""
        values = warp_meeting("match_all", mask, value)[1].lanes()
        same = all(v == value for v in values.values())
        return (lanes_mask(values) if same else np.int32(0)), same

    def activemask(self):
        """uint32 mask of the lanes of this warp that have not ended."""
        me = getcurrent()
        return lanes_mask(t.lane for t in me.block.live.values() if t.warp == me.warp).view(np.uint32)

    def lanemask_lt(self):
        """uint32 mask of the lanes below mine."""
        return np.uint32((1 << getcurrent().lane) - 1)


class Bits:
    """Integer and float functions with the compiler's widths."""

    def popc(self, value):
        """Number of set bits."""
        return unsigned(value, "popc")[1].bit_count()

    def clz(self, value):
        """Number of leading zeros."""
        width, u = unsigned(value, "clz")
        return width - u.bit_length()

    def ffs(self, value):
        """Position of the lowest set bit, counted from 1; 0 if there is none."""
        u = unsigned(value, "ffs")[1]
        return (u & -u).bit_length()

    def brev(self, value):
        """Bits in the opposite order."""
        width, u = unsigned(value, "brev")
        return type(value)(np.array(int(f"{u:0{width}b}"[::-1], 2), f"u{width // 8}").view(value.dtype))

    def fma(self, a, b, c):
        """a * b + c rounded once (float32: through float64)."""
        kind = np.result_type(a, b, c)
        return kind.type(np.float64(a) * np.float64(b) + np.float64(c))


class Whole:
    """cuda.cg: the grid is the only group."""

    def this_grid(self):
        """The grid."""
        return self

    def sync(self):
        """Wait for all threads of all blocks."""
        getcurrent().meet(("grid",))


class Cuda(Barriers, Warps, Bits, FakeCUDAModule):
    """The global `cuda` inside a running kernel."""

    def __init__(self, grid, block, dynamic):
        super().__init__(grid, block, dynamic)
        self.dynamic, self._local, self._cg = dynamic, Local(), Whole()

    shared = property(lambda self: getcurrent().block.shared)
    threadIdx = property(lambda self: getcurrent().threadIdx)
    blockIdx = property(lambda self: getcurrent().blockIdx)
    laneid = property(lambda self: getcurrent().lane)

    def grid(self, n):
        """Index of the thread in the grid."""
        if n > 1:
            return super().grid(n)
        thread = getcurrent()
        return thread.blockIdx.x * self.blockDim.x + thread.threadIdx.x

    def nanosleep(self, nanoseconds):
        """Do nothing."""

    def _load(self, array, index):
        return array[index]

    def _store(self, array, index, value):
        array[index] = value

    ldca = ldcg = ldcs = ldlu = ldcv = _load
    stcg = stcs = stwb = stwt = _store
