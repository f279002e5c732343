"""A CUDA machine in pure Python: numba-cuda's simulator with its own scheduler; kernels run unmodified.

The original simulator has no warp intrinsics; it starts an operating-system thread per CUDA thread and polls them. Here
a CUDA thread is a greenlet. It runs until a *meeting* (a barrier, a vote, a shuffle) and waits there for all required
threads; then all get the values of all. The order is fixed, so a run is reproducible, and a meeting that can never be
complete is an error with the waiting threads and lines instead of a deadlock.

Values that are undefined on a GPU are made visible: shared and local arrays start as NaN (integers: all bits set), and
so does a value shuffled from an inactive lane. GPUKIT_SIM_ORDER=reversed runs blocks and threads in reversed order; a
kernel with a different result lacks a barrier or has a race; see support.launch_repeatably.

Import this before any kernel module, with NUMBA_ENABLE_CUDASIM=1 (`make test` does). It uses private names of
numba-cuda 0.30.4 and is therefore in tests/.
"""

import copy
import functools

from greenlet import getcurrent
from numba import cuda
from numba.cuda.simulator import kernel as stock
from numba.cuda.simulator.cudadrv import devices
from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray

from cudasim.intrinsics import Cuda
from cudasim.machine import Divergence, Thread, run_grid

__all__ = ["Divergence", "install", "run_blocks"]


REPLACEABLE = {}  # see replaceable(): id of a module's globals -> (globals, names)


class Kernel(stock.FakeCUDAKernel):
    """A kernel that can be bound to several launch shapes, and a device function with a low call cost."""

    lent = {}  # globals of modules that are changed until the launch ends: id -> (globals, {name: value})

    def __getitem__(self, configuration):
        bound = copy.copy(self)
        return super(Kernel, bound).__getitem__(configuration)

    def __call__(self, *arguments):
        if type(getcurrent()) is Thread:
            if id(self.fn.__globals__) not in self.lent:
                self.lend(self.fn)
            return self.fn(*arguments)
        if self._device:
            raise RuntimeError(f"{self.fn.__name__} is a device function: call it from a kernel")
        try:
            super().__call__(*map(within, arguments))
        finally:
            self._take_back()

    @classmethod
    def lend(cls, function):
        """Replace `cuda` and device functions in the modules of a function and of those that it may call.

        A plain function costs less than a Kernel's call, which also deepens the stack that each switch copies.
        """
        modules = [function.__globals__]
        for names in modules:  # grows
            if id(names) in cls.lent:
                continue
            cls.lent[id(names)] = names, (lent := {})
            for name in replaceable(names):
                value = names[name]
                if value is cuda:
                    lent[name], names[name] = value, stock._get_kernel_context()
                elif isinstance(value, Kernel):
                    lent[name], names[name] = value, value.fn
                    modules.append(value.fn.__globals__)

    def _take_back(self):
        while self.lent:
            names, lent = self.lent.popitem()[1]
            names.update(lent)


def replaceable(names):
    """Return the names in a module's globals of `cuda` and of device functions."""
    if id(names) not in REPLACEABLE:
        found = [
            name
            for name, value in names.items()
            if value is cuda or isinstance(value, Cuda) or isinstance(value, Kernel) and value._device
        ]
        REPLACEABLE[id(names)] = names, found  # globals that are kept keep their id
    return REPLACEABLE[id(names)][1]


def within(argument):
    """Return the argument as the original launcher takes it.

    Device arrays are passed to the kernel without copies, so that two views of one array share memory.
    """
    return argument if isinstance(argument, FakeCUDAArray) else plain(argument)


def plain(argument):
    """Return the argument; for a named tuple, with the arrays in place of their device objects."""
    if hasattr(argument, "_fields"):
        return type(argument)(*map(plain, argument))
    return getattr(argument, "_ary", argument) if isinstance(argument, FakeCUDAArray) else argument


class Launch:
    """Replacement of the original block manager, which requests one block after the other.

    The first request runs the grid, because a grid barrier needs all blocks.
    """

    def __init__(self, function, grid, block, debug):
        self.function, self.grid, self.block = function, grid, block

    def run(self, point, *arguments):
        """Run the whole grid for its first block; do nothing for the others."""
        if any(point):
            return

        body = functools.partial(self.function, *arguments)
        Kernel.lend(self.function)
        try:
            run_grid(body, self.grid, self.block, stock._get_kernel_context().dynamic)
        except Exception as error:
            error.add_note(f"in kernel {self.function.__qualname__}")
            raise


def run_blocks(kernel, grid, block, places, *arguments):
    """Run only the blocks at places [(x, y, z)] of a launch, with their indices in the whole launch.

    This tests offsets far into large arrays without all threads before them. Arrays are numpy's.
    """
    grid, block = stock.normalize_kernel_dimensions(grid, block)
    context = Cuda(grid, block, 0)
    body = functools.partial(kernel.fn, *arguments)

    with stock._push_kernel_context(context), stock.swapped_cuda_module(kernel.fn, context):
        Kernel.lend(kernel.fn)
        try:
            run_grid(body, grid, block, 0, [place[::-1] for place in places])
        finally:
            kernel._take_back()


def jit(function=None, device=False, **options):
    """cuda.jit; compiler options (max_registers, launch_bounds, cache...) have no effect."""
    if function is None or not callable(function):
        return functools.partial(jit, device=device, **options)
    return Kernel(function, device=device)


def install():
    """Replace the original simulator by this machine."""
    stock.FakeCUDAModule, stock.BlockManager = Cuda, Launch
    stock.FakeWithinKernelCUDAArray = lambda array: array._ary  # kernels index plain arrays: a third of the time
    stock.FakeOverload.max_cooperative_grid_blocks = lambda self, blockdim: 64
    cuda.jit = jit
    devices.FakeCUDADevice.name = "simulator"
    devices.FakeCUDADevice.id = 0
    devices.FakeCUDAContext.deallocations = []
    devices.FakeCUDAContext.get_memory_info = lambda self: devices._MemoryInfo(8 << 30, 8 << 30)


install()
