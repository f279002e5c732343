"""Steps of the hashes on the CPU; gpu.py has the same names. plan.py runs them."""

import functools
import sys

from gpukit.device.cpu_arrays import empty, resident, zeros  # noqa: F401
from gpukit.neighbors.hashes import plan
from gpukit.neighbors.hashes.twins import (  # noqa: F401
    add_chunks,
    add_totals,
    hash_columns,
    hash_minwise,
    join_chunks,
    join_parts,
    project_columns,
)

SLICES = 1  # sums have a multiple of this number of bits
add_columns = functools.partial(plan.add_columns, sys.modules[__name__])
