"""A question to the GPU and its answer as one: copy, kernels and copy make a CUDA graph, which one call launches.

A small copy and a launch take the host some eight microseconds each, more on a processor that is shared. A product with
the Hessian is asked for a hundred times in a training; with several GPUs one waits for all.
"""

import os
import weakref

import numpy as np

from gpukit import _driver
from gpukit._cuda import SIMULATED, cuda
from gpukit._driver import DEFAULT, asked, copy_in, copy_out, fixed, launch, three


class Round:
    """A function: question -> what `answer` holds on the host once kernels have worked on `question`.

    question, answer: C-contiguous device arrays, in which the numbers lie meanwhile; launches: [(kernel, grid, block,
    *arguments)], one after the other on the default stream. What the arguments are is read once; what arrays hold may
    change. For one GPU, and one thread at a time.
    """

    def __init__(self, question, launches, answer):
        self.question, self.launches, self.answer = question, launches, answer
        self.graph, self.tried = None, SIMULATED

    def __call__(self, question):
        if self.graph is not None:
            return self.graph(question)
        copy_in(question, self.question)
        for each in self.launches:
            launch(*each)  # the first time numba may have to compile
        answer = copy_out(self.answer)
        if not self.tried:
            self.graph, self.tried = graph_of(self.question, self.launches, self.answer), True
        return answer


def graph_of(question, launches, answer):
    """The Graph of a Round, None where numba has to launch."""
    kernels = [(fixed(kernel, *rest), three(grid), three(block)) for kernel, grid, block, *rest in launches]
    return None if any(plan is None for plan, _, _ in kernels) else Graph(question, kernels, answer)


class Graph:
    """A Round's copies and kernels as the driver keeps them; kernels: [(driver.Plan, grid, block)]."""

    def __init__(self, question, kernels, answer):
        self.kept = kernels, question, answer  # for as long as the driver may ask for them
        self.asked = cuda.pinned_array(question.shape, question.dtype)
        self.told = cuda.pinned_array(answer.shape, answer.dtype)
        graph = asked("cuGraphCreate", 0)
        try:
            last = [copy_node(graph, [], (self.asked, question))]
            for plan, grid, block in kernels:
                last = [kernel_node(graph, last, plan, grid, block)]
            copy_node(graph, last, (answer, self.told))
            self.ready = asked("cuGraphInstantiate", graph, 0)
        finally:
            asked("cuGraphDestroy", graph)
        weakref.finalize(self, give_back, self.ready, os.getpid()).atexit = False

    def __call__(self, question):
        if question.shape != self.asked.shape:  # which numpy would repeat, where it is of one number
            raise ValueError(f"an array of shape {question.shape} does not fit one of shape {self.asked.shape}")
        np.copyto(self.asked, question)
        asked("cuGraphLaunch", self.ready, DEFAULT)
        asked("cuStreamSynchronize", DEFAULT)
        return self.told.copy()


def give_back(ready, process):
    """End what cuGraphInstantiate has made in a process; a forked child leaves it to its parent."""
    if os.getpid() == process:
        asked("cuGraphExecDestroy", ready)


def kernel_node(graph, after, plan, grid, block):
    """A launch of a driver.Plan in a graph."""
    binding = _driver.api.binding
    told = binding.CUDA_KERNEL_NODE_PARAMS()
    told.kern = binding.CUkernel(int(plan.function))  # which a launch takes for a function, and a graph does not
    told.kernelParams = plan.addresses
    told.gridDimX, told.gridDimY, told.gridDimZ = grid
    told.blockDimX, told.blockDimY, told.blockDimZ = block
    return asked("cuGraphAddKernelNode", graph, after, len(after), told)


def copy_node(graph, after, arrays):
    """A copy in a graph; arrays: from which, to which, one of them page-locked and one a device array."""
    binding = _driver.api.binding
    host, device = binding.CUmemorytype.CU_MEMORYTYPE_HOST, binding.CUmemorytype.CU_MEMORYTYPE_DEVICE
    told = binding.CUDA_MEMCPY3D()
    told.WidthInBytes, told.Height, told.Depth = arrays[0].nbytes, 1, 1
    for side, array in zip(("src", "dst"), arrays):
        here = isinstance(array, np.ndarray)
        address = array.ctypes.data if here else array.device_ctypes_pointer.value
        setattr(told, f"{side}MemoryType", host if here else device)
        setattr(told, f"{side}{'Host' if here else 'Device'}", address)
    return asked("cuGraphAddMemcpyNode", graph, after, len(after), told, asked("cuCtxGetCurrent"))
