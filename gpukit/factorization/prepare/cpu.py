"""Steps of the preparation on the CPU; gpu.py has the same names."""

from gpukit.device.cpu_arrays import empty, fetch, finish, owned, resident, runner, zeros
from gpukit.factorization.prepare import twins
from gpukit.primitives.group.cpu import row_starts, sort_by_bits

PARTS = 16  # partial sums of errors, for any number of threads
GRAIN, MOST_BLOCKS = 6000, 16  # ratings of a block, blocks of a stratum; independent of the number of threads
run = runner(twins)


def add_errors(*arguments):
    """Run error_sums."""
    run("error_sums", *arguments)
