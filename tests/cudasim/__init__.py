"""A CUDA machine in plain Python: numba-cuda's simulator with a scheduler of its own; kernels run unmodified.

The stock simulator has no warp intrinsics, starts one operating-system thread a CUDA thread and polls them. Here a CUDA
thread is a greenlet. It runs until a *meeting* - a barrier, a vote, a shuffle - and waits there until everybody who
must come has come; then all get the values that all brought. Order is fixed, so a run repeats exactly, and a meeting
that can never be complete is an error that says who waits where, instead of a machine that hangs.

What is undefined on a GPU is made visible: shared and local arrays start as NaN (integers: all bits set), and so does a
value shuffled from a lane that takes no part. GPUKIT_SIM_ORDER=reversed runs blocks and threads in the opposite order;
a kernel whose result changes lacks a barrier or is racy: support.launch_repeatably finds out.

Import this before any kernel module, with NUMBA_ENABLE_CUDASIM=1 (`make test` does). It uses private names of
numba-cuda 0.30.4, which is why it lives with the tests.
"""

import copy
import functools

import numpy as np
from greenlet import getcurrent
from numba import cuda
from numba.cuda.simulator import kernel as stock
from numba.cuda.simulator.cudadrv import devices
from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray

from cudasim.intrinsics import Cuda
from cudasim.machine import Divergence, Thread, run_grid

__all__ = ["Divergence", "install", "run_blocks"]


class Kernel(stock.FakeCUDAKernel):
    """A kernel that can be bound to several launch shapes, and a device function that costs little to call."""

    lent = {}  # globals of modules whose `cuda` is replaced until the launch ends: id -> (globals, names)

    def __getitem__(self, configuration):
        bound = copy.copy(self)
        return super(Kernel, bound).__getitem__(configuration)

    def __call__(self, *arguments):
        if isinstance(getcurrent(), Thread):
            if id(self.fn.__globals__) not in self.lent:
                self._lend()
            return self.fn(*arguments)
        if self._device:
            raise RuntimeError(f"{self.fn.__name__} is a device function: call it from a kernel")
        try:
            super().__call__(*map(within, arguments))
        finally:
            self._take_back()

    def _lend(self):
        names = self.fn.__globals__
        mine = [name for name, value in names.items() if value is cuda]
        self.lent[id(names)] = (names, mine)
        for name in mine:
            names[name] = stock._get_kernel_context()

    def _take_back(self):
        while self.lent:
            names, mine = self.lent.popitem()[1]
            for name in mine:
                names[name] = cuda


def within(argument):
    """The argument as the stock launcher takes it: device arrays are lent to the kernel as they are, not copied there
    and back, so that two views of one array are one memory."""
    return argument if isinstance(argument, FakeCUDAArray) else plain(argument)


def plain(argument):
    """The argument; of a named tuple, the arrays themselves in place of what stands for them on a device."""
    if hasattr(argument, "_fields"):
        return type(argument)(*map(plain, argument))
    return getattr(argument, "_ary", argument) if isinstance(argument, FakeCUDAArray) else argument


class Launch:
    """Stands in for the stock block manager. The launcher asks for block after block; the first request runs the grid,
    because a grid barrier needs all blocks at once."""

    def __init__(self, function, grid, block, debug):
        self.function, self.grid, self.block = function, grid, block

    def run(self, point, *arguments):
        """Run the whole grid at its first point; nothing at the others."""
        if any(point):
            return

        def body():
            with np.errstate(all="ignore"):  # a GPU wraps integers and makes NaN without a word
                self.function(*arguments)

        try:
            run_grid(body, self.grid, self.block, stock._get_kernel_context().dynamic)
        except Exception as error:
            error.add_note(f"in kernel {self.function.__qualname__}")
            raise


def run_blocks(kernel, grid, block, places, *arguments):
    """Run only the blocks at places [(x, y, z)] of a launch, each of which takes itself for a part of the whole: what
    lies far back in large arrays is seen without a thread for all that lies before it. Arrays are numpy's."""
    grid, block = stock.normalize_kernel_dimensions(grid, block)
    context = Cuda(grid, block, 0)

    def body():
        with np.errstate(all="ignore"):
            kernel.fn(*arguments)

    with stock._push_kernel_context(context), stock.swapped_cuda_module(kernel.fn, context):
        kernel._lend()
        try:
            run_grid(body, grid, block, 0, [place[::-1] for place in places])
        finally:
            kernel._take_back()


def jit(function=None, device=False, **options):
    """cuda.jit; what only the compiler understands (max_registers, launch_bounds, cache...) changes nothing here."""
    if function is None or not callable(function):
        return functools.partial(jit, device=device, **options)
    return Kernel(function, device=device)


def install():
    """Put this machine in the place of the stock simulator."""
    stock.FakeCUDAModule, stock.BlockManager = Cuda, Launch
    stock.FakeWithinKernelCUDAArray = lambda array: array._ary  # kernels index plain arrays: a third of the time
    stock.FakeOverload.max_cooperative_grid_blocks = lambda self, blockdim: 64
    cuda.jit = jit
    devices.FakeCUDADevice.name = "simulator"
    devices.FakeCUDADevice.id = 0
    devices.FakeCUDAContext.deallocations = []
    devices.FakeCUDAContext.get_memory_info = lambda self: devices._MemoryInfo(8 << 30, 8 << 30)


install()
