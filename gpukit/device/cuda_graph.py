"""A small computation on a GPU as a CUDA graph: copy, kernels and copy back are launched by one call.

A small copy and a launch take the host about eight microseconds each, longer on a shared processor. A RankSVM training
needs about a hundred products with the Hessian; with several GPUs the slowest delays all.
"""

import os
import weakref

import numpy as np

from gpukit import _driver
from gpukit._cuda import SIMULATED, cuda
from gpukit._driver import DEFAULT, as_dim3, call_driver, copy_in, copy_out, fixed_plan, launch


class GraphFunction:
    """Function of a host array: copy it to `source`, run the launches, return `result` on the host.

    source, result : C-contiguous device arrays
    launches : [(kernel, grid, block, *arguments)], run one after another on the default stream. Arguments are read
        once; the contents of arrays may change.

    The first call launches the kernels one by one, since numba may have to compile; later calls launch the graph. Use
    it on one GPU and from one thread at a time.
    """

    def __init__(self, source, launches, result):
        self.source, self.launches, self.result = source, launches, result
        self.graph, self.is_tried = None, SIMULATED

    def __call__(self, array):
        if self.graph is not None:
            return self.graph(array)
        copy_in(array, self.source)
        for arguments in self.launches:
            launch(*arguments)
        result = copy_out(self.result)
        if not self.is_tried:
            self.graph, self.is_tried = make_graph(self.source, self.launches, self.result), True
        return result


def make_graph(source, launches, result):
    """Return the Graph of a GraphFunction; None if only numba can launch one of the kernels."""
    kernels = [(fixed_plan(kernel, *rest), as_dim3(grid), as_dim3(block)) for kernel, grid, block, *rest in launches]
    return None if any(plan is None for plan, _, _ in kernels) else Graph(source, kernels, result)


class Graph:
    """Executable CUDA graph of copies and kernels; kernels: [(driver.Plan, grid, block)]."""

    def __init__(self, source, kernels, result):
        self.references = kernels, source, result  # the graph holds their addresses
        self.host_source = cuda.pinned_array(source.shape, source.dtype)
        self.host_result = cuda.pinned_array(result.shape, result.dtype)
        graph = call_driver("cuGraphCreate", 0)
        try:
            last = [add_copy(graph, [], (self.host_source, source))]
            for plan, grid, block in kernels:
                last = [add_kernel(graph, last, plan, grid, block)]
            add_copy(graph, last, (result, self.host_result))
            self.executable = call_driver("cuGraphInstantiate", graph, 0)
        finally:
            call_driver("cuGraphDestroy", graph)
        weakref.finalize(self, destroy_graph, self.executable, os.getpid()).atexit = False

    def __call__(self, array):
        if array.shape != self.host_source.shape:  # numpy would broadcast an array of one number
            raise ValueError(f"an array of shape {array.shape} does not fit one of shape {self.host_source.shape}")
        np.copyto(self.host_source, array)
        call_driver("cuGraphLaunch", self.executable, DEFAULT)
        call_driver("cuStreamSynchronize", DEFAULT)
        return self.host_result.copy()


def destroy_graph(executable, process):
    """Destroy an executable graph in the process that made it; forked children leave it to the parent."""
    if os.getpid() == process:
        call_driver("cuGraphExecDestroy", executable)


def add_kernel(graph, dependencies, plan, grid, block):
    """Add the launch of a driver.Plan to a graph and return its node."""
    binding = _driver.api.binding
    parameters = binding.CUDA_KERNEL_NODE_PARAMS()
    parameters.kern = binding.CUkernel(int(plan.function))  # a graph takes no CUfunction, other than a launch
    parameters.kernelParams = plan.addresses
    parameters.gridDimX, parameters.gridDimY, parameters.gridDimZ = grid
    parameters.blockDimX, parameters.blockDimY, parameters.blockDimZ = block
    return call_driver("cuGraphAddKernelNode", graph, dependencies, len(dependencies), parameters)


def add_copy(graph, dependencies, arrays):
    """Add a copy to a graph and return its node; arrays: source and target, one page-locked, one on the device."""
    binding = _driver.api.binding
    host, device = binding.CUmemorytype.CU_MEMORYTYPE_HOST, binding.CUmemorytype.CU_MEMORYTYPE_DEVICE
    parameters = binding.CUDA_MEMCPY3D()
    parameters.WidthInBytes, parameters.Height, parameters.Depth = arrays[0].nbytes, 1, 1
    for side, array in zip(("src", "dst"), arrays):
        is_host = isinstance(array, np.ndarray)
        address = array.ctypes.data if is_host else array.device_ctypes_pointer.value
        setattr(parameters, f"{side}MemoryType", host if is_host else device)
        setattr(parameters, f"{side}{'Host' if is_host else 'Device'}", address)
    return call_driver(
        "cuGraphAddMemcpyNode", graph, dependencies, len(dependencies), parameters, call_driver("cuCtxGetCurrent")
    )
