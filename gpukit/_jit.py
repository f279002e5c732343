"""The only `from numba import njit`: compiled code is kept on disk by what it depends on (_cache.py)."""

import contextlib
import functools
import os

from gpukit.runtime import private, settings, thread_count
from gpukit.runtime.start import check_threads

check_threads()
os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")  # a small problem is no fault of its user's
with settings.parsed():
    import numba  # (which reads the environment)
settings.check_settings()
private.base_folder()  # refuses a wrong GPUKIT_CACHE before anything is compiled
import numba.extending
from numba.core.registry import CPUDispatcher

from gpukit import interrupt, timing
from gpukit._cache import attach, cache_folder  # noqa: F401
from gpukit._dependencies import recorded
from gpukit.runtime.threads import Parallel


class Function(CPUDispatcher):
    """A compiled function. Requests to stop wait while it is compiled or loaded: LLVM calls Python then, and an
    exception that comes out of that is lost or ends in a crash."""

    def _compile_for_args(self, *arguments, **named):
        with interrupt.deferred(), timing.compiling():
            return super()._compile_for_args(*arguments, **named)


class ParallelFunction(Parallel, Function):
    """A compiled function with parallel loops."""


prange, overload = numba.prange, recorded(numba.extending.overload)

# Sums may be reordered and contracted into fused operations; NaN and infinity keep their meaning.
FASTMATH = {"reassoc", "contract", "nsz"}


@functools.wraps(numba.njit)
def njit(function=None, **options):
    """numba.njit with code kept on disk and floating-point sums free to vectorize."""
    if function is None:
        return functools.partial(njit, **options)
    made = attach(numba.njit(**{"fastmath": FASTMATH, "error_model": "numpy", **options})(function))
    if isinstance(made, CPUDispatcher):  # else plain Python: NUMBA_DISABLE_JIT
        made.__class__ = ParallelFunction if options.get("parallel") else Function
    return made


@contextlib.contextmanager
def threads(count):
    """Within it compiled code runs on `count` threads (None: as many as before), afterwards on as many as before.

    For work so small that waiting for the other threads costs more than they do, above all on a busy machine.
    """
    before = numba.get_num_threads()
    numba.set_num_threads(before if count is None else min(count, before))
    try:
        with thread_count.limited(count):
            yield
    finally:
        numba.set_num_threads(before)
