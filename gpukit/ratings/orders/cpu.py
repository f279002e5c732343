"""Steps of ordering on the CPU; gpu.py has the same names."""

from gpukit.device.cpu_arrays import empty, fetch, owned, resident, runner, zeros
from gpukit.primitives.group.cpu import row_starts, sort_by_bits
from gpukit.ratings.orders import twins

__all__ = ["empty", "fetch", "owned", "resident", "row_starts", "run", "sort_by_bits", "zeros"]

run = runner(twins)
