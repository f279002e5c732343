"""gpukit.svt: one kernel, in the layouts of the benchmarks' shapes."""

import numpy as np
from compile.usage import Case

from gpukit.svt.gpu import find_kernel
from gpukit.svt.plan import plan


def case(m, n, dtype, registers, **limits):
    """The case of slices of m x n numbers on a device of capability 9.0."""
    kernel = find_kernel(m, n, np.dtype(dtype), plan(m, n, dtype, (9, 0)))
    stacks, row = f"{dtype}[:, :, ::1]", f"{dtype}[:, ::1]"
    types = f"{stacks}, {dtype}[::1], {stacks}, {row}, int32[::1], int32[::1], {row}"
    return Case(f"svt.threshold_slices[{m} x {n} {dtype}]", kernel, types, registers, **limits)


CASES = [
    case(50, 50, "float32", 80, spills=160),
    case(128, 128, "float32", 80, spills=192),
    case(512, 512, "float32", 128, spills=512),
    case(50, 50, "float64", 128, float64_ok=True, spills=640),
    case(128, 128, "float64", 128, float64_ok=True, spills=640),
    case(512, 512, "float64", 128, float64_ok=True, spills=12 << 10),
]
