"""Compiled loops over rows, shared by threads: the `by_block` of CPU twins.

    @by_block(lambda scores: scores.size)  # number of rows, of the arguments that it names
    def document_scores(start, stop, X, w, scores):
        for i in range(start, stop):
            scores[i] = row_dot(X[i], w)

    document_scores(X, w, scores)

The function processes the rows start to stop, as a block of a kernel does. Threads take chunks of rows from a counter
until none are left (workers.py), so uneven rows balance themselves. A row writes what no other row writes: then
results are the same for any number of threads. Sums are kept for each of a fixed number of blocks, which are the rows
then.
"""

import functools
import inspect

import numpy as np

from gpukit import _pool
from gpukit._jit import Function, njit
from gpukit.runtime import thread_count
from gpukit.scheduler import intrinsics, workers

SOURCE = """
def {name}_rows(_start, _stop, {arguments}):
    _assume_not_negative(_start)
    _body(_start, _stop, {arguments})

def {name}(_pool, _first, _count, _threads, _pace, {arguments}):
    return _run_rows(_pool, _first, _count, _threads, _pace, _rows, ({arguments},))
"""
HEAVY = 1 << 25  # nanoseconds of a row, that are worth all threads


def by_block(rows, *, heavy=False, blas=False, **options):
    """Return a decorator of functions (start, stop, ...) that process rows start to stop; see the module.

    Parameters
    ----------
    rows : callable
        Number of rows; its parameters name arguments of the function.
    heavy : bool
        A row is worth a thread, a piece of a file, say: every call begins with all threads.
    blas : bool
        The function calls np.dot or np.linalg: BLAS keeps to one thread a call meanwhile, and each of its functions is
        looked up in Python by the thread that is the first to call it.
    **options
        Of njit.
    """
    return lambda body: BlockFunction(body, rows, heavy, blas, options)


class BlockFunction:
    """A function over rows, called without start and stop, from Python only. Arguments are given by position."""

    def __init__(self, body, rows, heavy, blas, options):
        functools.update_wrapper(self, body)
        names = list(inspect.signature(body).parameters)
        self.__signature__ = inspect.Signature(list(inspect.signature(body).parameters.values())[2:])
        self.rows, self.places = rows, [names.index(name) - 2 for name in inspect.signature(rows).parameters]
        self.guard = _pool.alone if blas else None
        self.heavy, self.pace = heavy, workers.kept(np.array([0, blas], np.int64))  # see workers.run
        self.launcher = _launcher_of(body, names[2:], options)
        self.is_compiled = isinstance(self.launcher, Function)

    def __call__(self, *arguments):
        """Process all rows. The first exception of any block is raised when all blocks have ended."""
        count = self.rows(*[arguments[place] for place in self.places])
        if count <= 0:
            return
        if not self.is_compiled:  # NUMBA_DISABLE_JIT
            self.__wrapped__(0, count, *arguments)
        elif self.guard is None:
            self._run(count, arguments)
        else:
            with self.guard():
                self._run(count, arguments)

    def _run(self, count, arguments):
        pool, first = workers.pool.ready(), 0
        threads, pace = 0 if _pool.within() else thread_count.get_num_threads(), self.pace.ctypes.data
        if self.heavy:
            self.pace[0] = HEAVY
        while True:
            first = self.launcher(pool, first, count, threads, pace, *arguments)
            if first >= count:
                return
            workers.pool.start(threads - 1)


def _launcher_of(body, names, options):
    """Return the compiled function of the whole loop, (pool, first, count, threads, pace, ...): the next row."""
    scope = {
        "__name__": body.__module__,
        "_assume_not_negative": intrinsics.assume_not_negative,
        "_run_rows": intrinsics.run_rows,
        "_body": njit(body, inline="always", **options),
    }
    exec(SOURCE.format(name=body.__name__, arguments=", ".join(names)), scope)  # numba inlines no call with *arguments
    launcher = scope[body.__name__]
    scope["_rows"] = njit(scope[f"{body.__name__}_rows"], no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)
    launcher.__qualname__, launcher.__doc__ = body.__qualname__, body.__doc__
    return njit(launcher)
