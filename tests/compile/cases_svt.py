"""gpukit.svt: the five kernels, in the layouts of the benchmarks' shapes."""

import numpy as np
from compile.usage import Case

from gpukit.svt.gpu import find_kernels
from gpukit.svt.plan import plan

NAMES = ("bidiagonalize", "chase", "rotate", "arrange", "multiply")
ARGUMENTS = {
    "bidiagonalize": "stacks, grid, grid, row, table, stacks, grid",
    "chase": "grid, grid, table, table, stacks",
    "rotate": "table, table, stacks, stacks",
    "arrange": "grid, row, row, integers, table, grid, integers, grid",
    "multiply": "stacks, stacks, table, grid, integers, stacks",
}


def signature(name, dtype):
    """The argument types of a kernel."""
    kinds = {"stacks": f"{dtype}[:, :, ::1]", "grid": f"{dtype}[:, ::1]", "row": f"{dtype}[::1]",
             "table": "int32[:, ::1]", "integers": "int32[::1]"}
    return ", ".join(kinds[part] for part in ARGUMENTS[name].split(", "))


def cases(n, dtype, registers, **limits):
    """The cases of slices of n x n numbers on a device of capability 9.0; registers: of each kernel, at most."""
    kernels = find_kernels(n, np.dtype(dtype), plan(n, n, dtype, (9, 0)))
    return [Case(f"svt.{name}[{n} x {n} {dtype}]", kernel, signature(name, dtype), most, **limits)
            for name, kernel, most in zip(NAMES, kernels, registers)]


CASES = [
    *cases(50, "float32", (128, 64, 64, 64, 64)),
    *cases(128, "float32", (128, 64, 64, 64, 64)),
    *cases(512, "float32", (168, 64, 64, 64, 128)),
    *cases(50, "float64", (168, 96, 64, 64, 96), float64_ok=True),
]
