"""Steps of the chunk tables on the CPU; gpu.py has the same names."""

from gpukit.device.cpu_arrays import empty, fetch, resident, runner
from gpukit.factorization.solvers.sgd.chunks import twins
from gpukit.primitives.group.cpu import sort_by_bits

__all__ = ["empty", "fetch", "resident", "run", "sort_by_bits"]

run = runner(twins)
