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
import struct
from array import array

import numpy as np

from gpukit import _pool
from gpukit._jit import NO_WRAPPERS, Function, njit, typeof
from gpukit.runtime import thread_count
from gpukit.scheduler import intrinsics, workers
from gpukit.scheduler.intrinsics import WORD, Frame

SOURCE = """
def {name}(_start, _stop, _frame):
    _assume_not_negative(_start)
    {arguments}, = _arguments_of(_frame)
    _body(_start, _stop, {arguments})
"""
LAYOUT = 0x0001 | 0x0002 | 0x0100 | 0x0400  # flags of NumPy's C interface: C- and Fortran-contiguous, aligned, writable


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
        self.names, self.options = list(_names_of(body)[2:]), options
        self.rows, self.places = rows, [self.names.index(name) for name in _names_of(rows)]
        self.guard = _pool.single_threaded_blas if blas else None
        self.heavy, self.pace = heavy, workers.keep_forever(np.array([0, blas], np.int64))  # see workers.run
        self.pace_address, self.addresses = self.pace.ctypes.data, {}

    @property
    def __signature__(self):
        return inspect.Signature(list(inspect.signature(self.__wrapped__).parameters.values())[2:])

    @property
    def loop(self):
        """The compiled function of rows, made on first use: most functions are not used in most processes."""
        if "_loop" not in vars(self):  # the lock of functools.cached_property might be held in a fork
            vars(self).setdefault("_loop", _loop_of(self.__wrapped__, self.names, self.options))
        return self._loop

    def __call__(self, *arguments):
        """Process all rows. The first exception of any block is raised when all blocks have ended."""
        count = self.rows(*[arguments[place] for place in self.places])
        if count <= 0:
            return
        if not isinstance(self.loop, Function):  # NUMBA_DISABLE_JIT
            self.__wrapped__(0, count, *arguments)
        elif self.guard is None:
            self._run(count, arguments)
        else:
            with self.guard():
                self._run(count, arguments)

    def _run(self, count, arguments):
        kinds, words = _pack_arguments(arguments)
        frame = array("q", [0, *words])
        pool, first = workers.pool.ready(), 0  # before another process is waited for, which compiles these rows
        rows = self.addresses.get(kinds) or self._address_for(kinds, arguments)
        threads = 0 if _pool.is_worker() else thread_count.get_num_threads()
        if self.heavy:
            self.pace[0] = 1 << 25  # nanoseconds of a row, that are worth all threads
        while True:
            first = workers.run(pool, rows, frame.buffer_info()[0], first, count, threads, self.pace_address)
            if first >= count:
                return
            workers.pool.start(threads - 1)

    def _address_for(self, kinds, arguments):
        """Return the address of the compiled loop for the kinds of arguments that these are."""
        self.addresses[kinds] = self.loop.address((WORD, WORD, Frame(tuple(map(typeof, arguments)))))
        return self.addresses[kinds]


def _names_of(function):
    """Return the names of a function's arguments; inspect.signature takes fifty times as long."""
    return function.__code__.co_varnames[: function.__code__.co_argcount]


def _pack_arguments(arguments):
    """Return a key of the types of arguments, and their words in a frame, see intrinsics.arguments_of."""
    kinds, words = [], []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            words.append(id(argument))
            kinds += argument.dtype, argument.ndim, argument.flags.num & LAYOUT
            continue
        kinds.append(type(argument))
        if isinstance(argument, tuple):
            inner_kinds, inner_words = _pack_arguments(argument)
            kinds += len(argument), *inner_kinds
            words += inner_words
        elif isinstance(argument, (float, np.floating)):
            words += struct.unpack("q", struct.pack("d", argument))
        else:
            words.append(int(argument))
    return tuple(kinds), words


def _loop_of(body, names, options):
    """Return the compiled function of the rows start to stop, (start, stop, frame)."""
    scope = {
        "__name__": body.__module__,
        "_assume_not_negative": intrinsics.assume_not_negative,
        "_arguments_of": intrinsics.arguments_of,
        "_body": njit(body, inline="always", **options),
    }
    exec(SOURCE.format(name=body.__name__, arguments=", ".join(names)), scope)  # numba inlines no call with *arguments
    loop = scope[body.__name__]
    loop.__qualname__, loop.__doc__ = body.__qualname__, body.__doc__
    return njit(loop, **NO_WRAPPERS, **options)
