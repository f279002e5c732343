"""The kernels that a test launches, in the simulator and on a GPU."""

import contextlib
import functools
import os
from unittest import mock

from sanitize.kernels import short

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"


@contextlib.contextmanager
def launches():
    """Yield a set to which the names of launched kernels are added."""
    names = set()
    with contextlib.ExitStack() as stack:
        for owner, method, kernel_of in _doors():
            stack.enter_context(mock.patch.object(owner, method, _noted(names, getattr(owner, method), kernel_of)))
        yield names


def _noted(names, function, kernel_of):
    """Return the function with a wrapper that adds the name of the launched kernel."""

    @functools.wraps(function)
    def noted(first, *arguments, **options):
        if (kernel := kernel_of(first)) is not None:
            names.add(short(kernel))
        return function(first, *arguments, **options)

    return noted


def _doors():
    """Return [(owner, the name of its function, the kernel's Python function by the first argument)] of all launch
    functions."""
    if SIMULATED:
        from greenlet import getcurrent

        import cudasim

        return [(cudasim.Kernel, "__call__", lambda own: None if isinstance(getcurrent(), cudasim.Thread) else own.fn)]
    from numba.cuda.dispatcher import CUDADispatcher

    from gpukit import _driver

    return [
        (owner, name, lambda own: own.py_func) for owner, name in ((CUDADispatcher, "call"), (_driver, "_plan_launch"))
    ]
