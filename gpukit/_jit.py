"""The only `from numba import njit`: compiled code is kept on disk by what it depends on (_cache.py)."""

import contextlib
import functools
import os

os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")  # a small problem is no fault of its user's
import numba  # (which reads the environment)
import numba.extending

from gpukit._cache import attach, cache_folder  # noqa: F401
from gpukit._dependencies import recorded
from gpukit._threads import Parallel

prange, overload = numba.prange, recorded(numba.extending.overload)

# Sums may be reordered and contracted into fused operations; NaN and infinity keep their meaning.
FASTMATH = {"reassoc", "contract", "nsz"}


@functools.wraps(numba.njit)
def njit(function=None, **options):
    """numba.njit with code kept on disk and floating-point sums free to vectorize."""
    if function is None:
        return functools.partial(njit, **options)
    made = attach(numba.njit(**{"fastmath": FASTMATH, "error_model": "numpy", **options})(function))
    if options.get("parallel") and hasattr(made, "py_func"):  # else plain Python: NUMBA_DISABLE_JIT
        made.__class__ = Parallel
    return made


@contextlib.contextmanager
def threads(count):
    """Within it compiled code runs on `count` threads (None: as many as before), afterwards on as many as before.

    For work so small that waiting for the other threads costs more than they do, above all on a busy machine.
    """
    before = numba.get_num_threads()
    numba.set_num_threads(before if count is None else min(count, before))
    try:
        yield
    finally:
        numba.set_num_threads(before)
