"""Host steps of online updates on the GPU; cpu.py has the same names. Arrays stay on the device."""

from gpukit._cuda import cuda
from gpukit._driver import attached
from gpukit.device.gpu_arrays import empty, fetch, owned, resident, runner, zeros
from gpukit.factorization.online import kernels
from gpukit.primitives.group.gpu import row_starts, scan_parts, sort_by_bits

run = runner(kernels)


def copy(out, source):
    """out = source, arrays of the same shape and type."""
    out.copy_to_device(source)


def finish():
    """Wait for queued operations."""
    cuda.synchronize()
