"""The only `from numba import njit`: compiled code is kept on disk by what it depends on (_cache.py)."""

import contextlib
import functools
import os

from gpukit.runtime import private, settings
from gpukit.runtime.start import check_threads

check_threads()
os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")  # a small problem is no fault of its user's
with settings.refuse_unparsed():
    import numba  # (which reads the environment)
settings.check_features()
private.base_folder()  # refuses a wrong GPUKIT_CACHE before anything is compiled
import numba.extending
from numba import typeof  # noqa: F401
from numba.core import types  # noqa: F401
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from gpukit import interrupt, timing
from gpukit._cache import attach, cache_folder, processor  # noqa: F401
from gpukit._dependencies import wrap_overload


NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
helpers = None  # compilation.helpers.Helpers of a command


class Function(CPUDispatcher):
    """A compiled function. Requests to stop wait while it is compiled or loaded: LLVM calls Python then, and an
    exception that comes out of that is lost or ends in a crash.

    What Python needs to call a function takes as long to compile as a small function. Compiled code calls `callee`,
    which has none of it, and the function itself is compiled if Python calls it.
    """

    @property
    def callee(self):
        """The dispatcher of numba that compiled code uses."""
        if "_callee" not in vars(self):  # the lock of functools.cached_property might be held in a fork
            self._callee = attach(numba.jit(**{**self.targetoptions, **NO_WRAPPERS})(self.py_func))
        return self._callee

    @property
    def is_compiling(self):
        return super().is_compiling or ("_callee" in vars(self) and self._callee.is_compiling)

    def get_call_template(self, args, kws):
        return self.callee.get_call_template(args, kws)

    def get_overload(self, sig):
        return self.callee.get_overload(sig)

    def get_compile_result(self, sig):
        return self.callee.get_compile_result(sig)

    def address(self, signature):
        """Return the address of the code for argument types, compiled or loaded if it is the first time."""
        with self._first_use(), global_compiler_lock:  # LLVM's own lock must not be held in a fork
            self.compile(signature)
            result = self.overloads[signature]
            return result.library.get_pointer_to_function(result.fndesc.llvm_func_name)

    def _compile_for_args(self, *arguments, **named):
        with self._first_use():
            return super()._compile_for_args(*arguments, **named)

    @contextlib.contextmanager
    def _first_use(self):
        with timing.compiling():
            if helpers is not None:
                helpers.claim((self.py_func.__module__, self.py_func.__qualname__))
            with interrupt.defer():
                yield


overload = wrap_overload(numba.extending.overload)

# Sums may be reordered and contracted into fused operations; NaN and infinity keep their meaning.
FASTMATH = {"reassoc", "contract", "nsz"}


@functools.wraps(numba.njit)
def njit(function=None, **options):
    """numba.njit with code kept on disk and floating-point sums free to vectorize."""
    if function is None:
        return functools.partial(njit, **options)
    options = {"fastmath": FASTMATH, "error_model": "numpy", "no_cfunc_wrapper": True, **options}
    result = attach(numba.njit(**options)(function))
    if isinstance(result, CPUDispatcher):  # else plain Python: NUMBA_DISABLE_JIT
        result.__class__ = Function
    return result


@njit
def copy_row(source, target):
    """target[:] = source for vectors, which numba compiles with the text of an error message: a second."""
    for i in range(len(source)):
        target[i] = source[i]


# A child that is forked while another thread compiles would wait for that thread for ever.
os.register_at_fork(
    before=global_compiler_lock.acquire,
    after_in_parent=global_compiler_lock.release,
    after_in_child=global_compiler_lock.release,
)
