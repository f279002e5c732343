"""The machine: threads as greenlets, blocks, meetings of threads, and undefined memory."""

import contextvars
import functools
import math
import os
import sys
import threading

import numpy as np
from greenlet import getcurrent, greenlet
from numba.cuda.simulator.kernelapi import Dim3

WARP = 32
HERE = os.path.dirname(os.path.abspath(__file__))
OWN = {file.path for file in os.scandir(HERE) if not file.name.startswith("test_")}  # of the simulator, not its tests


index_of = functools.cache(Dim3)  # threads and blocks with one index share it


class Divergence(RuntimeError):
    """Threads wait for others that never arrive; the message lists the waiting threads and lines."""


class Came(dict):
    """{thread number: value} of a meeting's threads, the same object for all of them."""

    made = None

    def once(self, make):
        """Return make(values), computed once for all threads."""
        if self.made is None:
            self.made = make(self.values())
        return self.made

    def lanes(self):
        """Return {lane: value} of a warp, computed once."""
        if not hasattr(self, "by_lane"):
            self.by_lane = {number % WARP: value for number, value in self.items()}
        return self.by_lane


class Thread(greenlet):
    """One CUDA thread.

    A greenlet runs many CUDA threads, one after the other: to start one takes longer than most kernels' threads.
    """

    idle = threading.local()  # greenlets belong to a thread of the operating system

    @classmethod
    def of(cls, block, number, index):
        """Return a greenlet that will run a thread of a block."""
        idle = vars(cls.idle).setdefault("threads", [])
        if not idle:
            cls().switch()  # from here: one that starts in another thread's turn is nested as deeply as that
        thread = idle.pop()
        if thread.parent is not block.launcher:
            thread.parent = block.launcher
        thread.gr_context = block.context
        thread.block, thread.thread_id, thread.threadIdx, thread.blockIdx = block, number, index_of(*index), block.index
        thread.warp, thread.lane = divmod(number, WARP)
        thread.first_of_warp = number - thread.lane
        return thread

    def run(self):
        """Run the kernel for each thread that this greenlet is given."""
        self.turn = self.switch  # looked up once
        self.idle.threads.append(self)
        self.parent.switch()
        while True:
            try:
                self.block.body()
            except Exception as error:
                error.add_note(f"in thread {tuple(self.threadIdx)} of block {tuple(self.blockIdx)}")
                raise
            next(self._end())()

    def _end(self):
        """Leave the block, and keep nothing of it; return its turns."""
        block, self.block = self.block, None
        del block.live[self.thread_id]
        block.lanes[self.warp] &= ~(1 << self.lane)
        self.idle.threads.append(self)
        return block.turns

    def meet(self, place, value=None):
        """Bring value to the meeting `place` and wait for all; return its Came.

        The next thread runs meanwhile: threads switch to one another, because a switch to the launcher and one from it
        take twice as long.
        """
        block = self.block
        came = block.meetings.get(place)
        if came is None:
            came = block.meetings[place] = Came()
        came[self.thread_id] = value
        next(block.turns)()
        return came

    def where(self):
        """Return file:line of the kernel statement at which this thread waits."""
        frame = self.gr_frame
        while frame is not None and os.path.abspath(frame.f_code.co_filename) in OWN:
            frame = frame.f_back
        return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}" if frame else "?"


class Block:
    """The threads of one block, their shared memory and the current meetings: {place: Came}.

    Threads share one context: that of the launcher, which ignores floating-point errors as a GPU does.

    live   {number: thread that has not ended}
    lanes  a bit for each such thread of a warp, by warps
    ready  threads that can run, in the order in which they will
    turns  iterator over what to call at the end of each one's turn: the next one's switch, or the launcher's
    """

    def __init__(self, body, index, shape, dynamic):
        self.body, self.index, self.shared, self.meetings = body, index_of(*index), Shared(dynamic), {}
        self.launcher, self.context = getcurrent(), contextvars.copy_context()
        points = [(x, y, z) for z in range(shape[2]) for y in range(shape[1]) for x in range(shape[0])]
        self.size, self.backwards = len(points), backwards()
        self.live = {number: Thread.of(self, number, point) for number, point in enumerate(points)}
        self.lanes = [(1 << min(WARP, self.size - first)) - 1 for first in range(0, self.size, WARP)]
        self.ready = self._in_order(self.live)

    def run(self):
        """Run until all threads have ended (True) or all others wait for the whole grid (False)."""
        self._step()
        while self.live:
            complete = [place for place, came in self.meetings.items() if len(came) == self._expected(place)]
            if not complete:
                if set(self.meetings) == {("grid",)}:
                    return False
                raise Divergence(self._report())
            self._close(complete)
            self._step()
        return True

    def release_grid(self):
        """Release all threads from the grid barrier."""
        self._close([("grid",)])

    def _step(self):
        """Run each ready thread to its next meeting or its end."""
        self.turns = iter([*[thread.turn for thread in self.ready], self.launcher.switch])
        next(self.turns)()

    def _expected(self, place):
        """Return the number of threads that a meeting waits for: those that have not ended."""
        if place[0] == "warp":
            return (place[2] & self.lanes[place[1]]).bit_count()
        return len(self.live) if place[0] == "block" else -1  # only the launcher ends a grid barrier

    def _close(self, places):
        """End meetings: their threads are ready."""
        numbers = []
        for place in places:
            numbers += self.meetings.pop(place)
        self.ready = self._in_order(numbers)

    def _in_order(self, numbers):
        return [*map(self.live.__getitem__, sorted(numbers, reverse=self.backwards))]

    def _report(self):
        groups = {}
        for place, came in self.meetings.items():
            for thread in map(self.live.get, came):
                groups.setdefault((thread.warp, place, thread.where()), []).append(thread.lane)
        lines = [
            f"  warp {warp}, lanes {ranges(sorted(lanes))}: {describe(place)} at {where}"
            for (warp, place, where), lanes in sorted(groups.items(), key=str)
        ]
        ended = self.size - len(self.live)
        return "\n".join(
            [
                f"divergence in block {tuple(self.index)}: these threads wait for ever",
                *lines,
                *([f"  {ended} threads have ended"] if ended else []),
            ]
        )


def run_grid(body, grid, block, dynamic, places=None):
    """Run every block, or those at places [(z, y, x)].

    Blocks that stop at a grid barrier continue together.
    """
    refuse_shapes(grid, block)
    parked, places = [], list(np.ndindex(grid[2], grid[1], grid[0])) if places is None else places
    with np.errstate(all="ignore"):  # a GPU wraps integers and produces NaN silently
        for z, y, x in reversed(places) if backwards() else places:
            one = Block(body, (x, y, z), block, dynamic)
            if not one.run():
                parked.append(one)
        while parked:
            for one in parked:
                one.release_grid()
            parked = [one for one in parked if not one.run()]


def refuse_shapes(grid, block):
    """Raise an error for a launch that a GPU rejects: over 65,535 blocks along y or z, 2**31 - 1 along x, 1,024
    threads."""
    if max(grid[1:]) > 65535 or grid[0] >= 1 << 31 or np.prod(block) > 1024:
        raise ValueError(f"no GPU takes a grid of {tuple(grid)} blocks of {tuple(block)} threads")


def backwards():
    """Return True if blocks and threads run in reversed order."""
    return os.environ.get("GPUKIT_SIM_ORDER") == "reversed"


def describe(place):
    """Return a readable name of a meeting."""
    if place[0] == "warp":
        return f"{place[3]} with mask {place[2]:#010x}"
    return {"block": f"syncthreads ({place[-1]})" if len(place) > 1 else "syncthreads", "grid": "grid.sync"}[place[0]]


def ranges(numbers):
    """'0-3,7' for [0, 1, 2, 3, 7]."""
    runs = []
    for n in numbers:
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


@functools.cache
def numpy_dtype(dtype):
    """The numpy dtype of a numpy or numba type."""
    return np.dtype(dtype if isinstance(dtype, (type, np.dtype)) else str(dtype))


def undefined(shape, dtype):
    """Return an array of undefined values: NaN, or all bits set."""
    dtype = numpy_dtype(dtype)
    size = math.prod(shape) if isinstance(shape, tuple) else shape
    return np.ndarray(shape, dtype, bytearray(b"\xff") * (size * dtype.itemsize))


class Shared:
    """cuda.shared of one block. A call site is one array for all threads and calls."""

    def __init__(self, dynamic):
        self.sites, self.dynamic = {}, np.full(dynamic, 0xFF, np.uint8)

    def array(self, shape, dtype, alignment=None):
        """Return the array of this call site; shape 0 is the launch's dynamic shared memory."""
        if shape == 0:
            dtype = numpy_dtype(dtype)
            return self.dynamic[: self.dynamic.size // dtype.itemsize * dtype.itemsize].view(dtype)
        frame = sys._getframe(1)
        site = (frame.f_code, frame.f_lasti)
        if site not in self.sites:
            self.sites[site] = undefined(shape, dtype)
        return self.sites[site]


class Local:
    """cuda.local of one thread."""

    def array(self, shape, dtype, alignment=None):
        """Return a new array with undefined contents."""
        return undefined(shape, dtype)
