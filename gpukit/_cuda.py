"""The only `from numba import cuda`. The name must stay `cuda`: the simulator replaces the module's global of that name."""

import functools

from gpukit import _jit  # noqa: F401  (sets the cache folder first)
from numba import cuda

__all__ = ["cuda", "kernel"]


def kernel(function=None, **options):
    """cuda.jit with the disk cache on and products fused into sums; no other liberty with floating point."""
    if function is None:
        return functools.partial(kernel, **options)
    return cuda.jit(function, **{"cache": True, "fastmath": {"contract"}, **options})
