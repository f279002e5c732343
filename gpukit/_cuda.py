"""The only `from numba import cuda`. The name must stay `cuda`: the simulator replaces the module's global of that
name."""

import functools

from gpukit import _jit  # noqa: F401  (sets the cache folder first)
from numba import cuda
from numba.core import config, types

__all__ = ["cuda", "kernel", "device", "intrinsic", "types", "SIMULATED"]

SIMULATED = bool(config.ENABLE_CUDASIM)
if not SIMULATED:
    from numba.cuda.extending import intrinsic
else:
    intrinsic = None

# Products are fused into sums, divisions and roots use the approximate units (2 ulp); NaN and infinity keep their
# meaning.
FASTMATH = {"contract", "arcp", "afn"}


def kernel(function=None, **options):
    """cuda.jit of a kernel, with the disk cache on."""
    if function is None:
        return functools.partial(kernel, **options)
    return cuda.jit(function, **{"cache": True, "fastmath": FASTMATH, **options})


def device(function=None, **options):
    """cuda.jit of a device function, inlined wherever it is called."""
    if function is None:
        return functools.partial(device, **options)
    return cuda.jit(function, **{"device": True, "forceinline": True, "fastmath": FASTMATH, **options})
