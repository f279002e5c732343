"""Steps of the chunk tables on the GPU; cpu.py has the same names. Arrays stay on the device."""

from gpukit.device.gpu_arrays import empty, fetch, resident, runner
from gpukit.factorization.solvers.sgd.chunks import kernels
from gpukit.primitives.group.gpu import sort_by_bits

__all__ = ["empty", "fetch", "resident", "run", "sort_by_bits"]

run = runner(kernels)
