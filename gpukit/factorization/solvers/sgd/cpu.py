"""Host steps of SGD on the CPU: chunk tables; gpu.py has the same names."""

from gpukit.device.cpu_arrays import empty, fetch, resident, runner
from gpukit.factorization.solvers.sgd import chunk_twins
from gpukit.primitives.group.cpu import sort_by_bits

__all__ = ["empty", "fetch", "resident", "run", "sort_by_bits"]

run = runner(chunk_twins)
