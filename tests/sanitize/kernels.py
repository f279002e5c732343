"""The kernels of gpukit by name, "sorting.kernels.first_nan", and those with shared memory."""

import ast
import functools
from pathlib import Path

from gates import gates

ROOT = Path(__file__).resolve().parent.parent.parent


@functools.cache
def kernels(package=ROOT / "gpukit"):
    """Return {name: syntax tree} of all kernels."""
    return {
        f"{module.partition('.')[2]}.{name}": node
        for module, found in gates.kernels_by_module(package)
        for name, node in found.items()
    }


def uses_shared_memory(node):
    """Return True if a kernel declares shared arrays; device functions do not, but take them as arguments."""
    return any(isinstance(n, ast.Attribute) and ast.unparse(n) == "cuda.shared.array" for n in ast.walk(node))


def short(function):
    """Return the name of a kernel's Python function."""
    return f"{function.__module__.removeprefix('gpukit.')}.{function.__name__}"
