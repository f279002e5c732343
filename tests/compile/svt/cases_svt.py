"""gpukit.svt: the five kernels, in the layouts of the benchmarks' shapes."""

import collections
import contextlib

import numpy as np
from compile.usage import TARGETS, Case

from gpukit.errors import DeviceError
from gpukit.svt.gpu import dynamic_bytes, find_kernels
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


def launches(n, dtype):
    """Return {(name, kernel, dynamic): targets}: the launches for slices of n x n numbers on each device.

    The memory layout of a slice, and so its kernel, depends on the shared memory; targets without a layout have no
    launch.
    """
    found = {}
    for target, (_, room) in TARGETS.items():
        with contextlib.suppress(DeviceError):
            how = plan(n, n, dtype, room)
            kernels, dynamic = find_kernels(n, np.dtype(dtype), how), dynamic_bytes(n, dtype, how)
            for launch in zip(NAMES, kernels, dynamic):
                found.setdefault(launch, []).append(target)
    return found


def cases(n, dtype, registers, spills=None, **limits):
    """Return the cases of slices of n x n numbers.

    registers: most of each kernel; spills: {name: bytes}, 0 for omitted ones. If devices differ, a case's name ends
    with the first of its targets.
    """
    registers, found = dict(zip(NAMES, registers)), launches(n, dtype)
    kinds = collections.Counter(name for name, _, _ in found)
    for (name, kernel, dynamic), targets in found.items():
        variant = f"{n} x {n} {dtype}" + (f", {targets[0]}" if kinds[name] > 1 else "")
        limits |= {"spills": (spills or {}).get(name, 0), "dynamic": dynamic, "targets": tuple(targets)}
        yield Case(f"svt.{name}[{variant}]", kernel, signature(name, dtype), registers[name], **limits)


CASES = [
    *cases(50, "float32", (112, 68, 36, 56, 64)),
    *cases(128, "float32", (112, 68, 36, 56, 100)),
    *cases(512, "float32", (128, 68, 36, 56, 255), spills={"bidiagonalize": 160, "multiply": 320}),
    *cases(50, "float64", (128, 100, 44, 60, 84), spills={"bidiagonalize": 32}, float64_ok=True),
]
