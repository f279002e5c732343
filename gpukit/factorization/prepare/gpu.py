"""Steps of the preparation on the GPU; cpu.py has the same names. Arrays stay on the device."""

from gpukit._driver import launch
from gpukit.device.gpu_arrays import BLOCK, empty, fetch, finish, owned, resident, runner, zeros
from gpukit.factorization.prepare import kernels
from gpukit.primitives.group.gpu import row_starts, sort_by_bits

PARTS = 1024
GRAIN, MOST_BLOCKS = 32, 1024  # see cpu.py; a stratum is one launch, whose longest block sets its time
run = runner(kernels)


def add_errors(*arguments):
    """Launch error_sums with one block for each line of sums, the last argument."""
    launch(kernels.error_sums, arguments[-1].shape[0], BLOCK, *arguments)
