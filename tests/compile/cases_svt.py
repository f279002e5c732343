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
    "arrange": "grid, table, row, row, integers, table, grid, integers, grid",
    "multiply": "stacks, stacks, table, grid, integers, stacks",
}


def signature(name, dtype):
    """The argument types of a kernel."""
    kinds = {
        "stacks": f"{dtype}[:, :, ::1]",
        "grid": f"{dtype}[:, ::1]",
        "row": f"{dtype}[::1]",
        "table": "int32[:, ::1]",
        "integers": "int32[::1]",
    }
    return ", ".join(kinds[part] for part in ARGUMENTS[name].split(", "))


def cases(n, dtype, registers, **limits):
    """The cases of slices of n x n numbers on a device of capability 9.0; registers: of each kernel, at most; spills:
    {name: bytes}, 0 for those that it leaves out."""
    kernels, spills = find_kernels(n, np.dtype(dtype), plan(n, n, dtype)), limits.pop("spills", {})
    return [
        Case(
            f"svt.{name}[{n} x {n} {dtype}]", kernel, signature(name, dtype), most, spills=spills.get(name, 0), **limits
        )
        for name, kernel, most in zip(NAMES, kernels, registers)
    ]


CASES = [
    *cases(50, "float32", (112, 68, 36, 56, 64)),
    *cases(128, "float32", (112, 68, 36, 56, 100)),
    *cases(512, "float32", (128, 68, 36, 56, 255), spills={"bidiagonalize": 160, "multiply": 320}),
    *cases(50, "float64", (128, 100, 44, 60, 84), spills={"bidiagonalize": 32}, float64_ok=True),
]
