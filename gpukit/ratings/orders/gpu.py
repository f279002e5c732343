"""Steps of ordering on the GPU; cpu.py has the same names.

Arrays stay on the device.
"""

from gpukit.device.gpu_arrays import empty, fetch, owned, resident, runner, zeros
from gpukit.primitives.group.gpu import row_starts, sort_by_bits
from gpukit.ratings.orders import kernels

__all__ = ["empty", "fetch", "owned", "resident", "row_starts", "run", "sort_by_bits", "zeros"]

run = runner(kernels)
