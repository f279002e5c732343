"""Host steps of online updates on the CPU; gpu.py has the same names."""

from contextlib import nullcontext as attached

import numpy as np

from gpukit.device.cpu_arrays import empty, fetch, owned, resident, runner, zeros
from gpukit.factorization.online import twins
from gpukit.primitives.group.cpu import row_starts, scan_parts, sort_by_bits

run = runner(twins)
copy = np.copyto


def finish():
    """Wait for queued operations."""
