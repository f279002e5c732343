"""Compiled loops over rows, shared by threads: the `by_block` of CPU twins.

    @by_block(lambda scores: scores.size)  # number of rows, of the arguments that it names
    def document_scores(start, stop, X, w, scores):
        for i in range(start, stop):
            scores[i] = row_dot(X[i], w)

    document_scores(X, w, scores)

The function processes the rows start to stop, as a block of a kernel does. It is compiled as one loop without the
interpreter's lock: take the next chunk of rows from a counter in memory, process it, until no rows are left. Each
thread calls it once, so uneven rows balance themselves.

The calling thread begins alone, in chunks that double, so a small loop costs no thread. When time is up and rows are
left, their cost is known, and helpers are woken for what is worth it. The rows of a chunk depend on time, and results
must not: a row writes what no other row writes. Sums are kept for each of a fixed number of blocks, which are the rows
then.
"""

import functools
import inspect

import numpy as np

from gpukit import _pool
from gpukit._jit import Function, njit
from gpukit.runtime import thread_count, workers
from gpukit.runtime.intrinsics import assume_not_negative, fetch_add, nanoseconds

STOPPED = 1 << 62  # a next row past any end, a limit that no clock reaches
SLICE = 50_000  # nanoseconds: of the calling thread alone at first, and of a chunk
WORTH = 300_000  # nanoseconds of work for which another thread is woken, which takes about 60,000
PATIENCE = 50_000_000  # nanoseconds until a thread looks for requests to stop
CHUNKS = 8  # for each thread, at least

WORKER = """
def {name}(_state, _chunk, _growth, _limit, {arguments}):
    _began, _end = _nanoseconds(), _state[1]
    while True:
        _start = _fetch_add(_state, _chunk)
        if _start >= _end:
            return 0
        _assume_not_negative(_start)
        _body(_start, min(_start + _chunk, _end), {arguments})
        _elapsed = _nanoseconds() - _began
        if _elapsed > _limit:
            return _elapsed
        _chunk *= _growth
"""
COMPILED = {
    "_assume_not_negative": assume_not_negative,
    "_fetch_add": fetch_add,
    "_nanoseconds": nanoseconds,
}


def by_block(rows, *, blas=False, **options):
    """Return a decorator of functions (start, stop, ...) that process rows start to stop; see the module.

    Parameters
    ----------
    rows : callable
        Number of rows; its parameters name arguments of the function.
    blas : bool
        The function calls np.dot or np.linalg: BLAS keeps to one thread a call meanwhile.
    **options
        Of njit.
    """
    return lambda body: BlockFunction(body, rows, blas, options)


class BlockFunction:
    """A function over rows, called without start and stop, from Python only. Arguments are given by position."""

    def __init__(self, body, rows, blas, options):
        functools.update_wrapper(self, body)
        names = list(inspect.signature(body).parameters)
        self.__signature__ = inspect.Signature(list(inspect.signature(body).parameters.values())[2:])
        self.rows, self.places = rows, [names.index(name) - 2 for name in inspect.signature(rows).parameters]
        self.guard = _pool.alone if blas else None
        self.worker = njit(_worker_of(body, names[2:], options), nogil=True, **options)
        self.is_compiled = isinstance(self.worker, Function)

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
        state = np.array((0, count), np.int64)
        elapsed = self.worker(state, 1, 2, SLICE, *arguments)
        if elapsed:
            _Loop(self.worker, state, arguments).finish(elapsed)


class _Loop:
    """A loop whose first chunks are done.

    worker : callable
        (state, chunk, growth, limit, ...) takes chunks of rows until none is left, and returns 0, or until `limit`
        nanoseconds have passed, and returns how many have. A chunk is `growth` times the one before.
    """

    def __init__(self, worker, state, arguments):
        self.worker, self.state, self.arguments, self.errors = worker, state, arguments, []
        self.threads = 1 if workers.is_nested() else thread_count.get_num_threads()

    def finish(self, elapsed):
        """Process the rows that are left; elapsed: nanoseconds that those before took."""
        first, alone = 0, WORTH if self.threads > 1 else PATIENCE
        while elapsed:
            done, end = self.state.tolist()
            each = max(elapsed // (done - first), 1)
            chunk, helpers = self._plan(max(end - done, 0), each)
            if helpers > 0:
                self._share(chunk, helpers)
                return
            first, elapsed = done, self.worker(self.state, chunk, 1, alone, *self.arguments)

    def _plan(self, rows, each):
        """Return the rows of a chunk, and how many helpers rows of `each` nanoseconds are worth."""
        chunk = min(SLICE // each, -(-rows // (CHUNKS * self.threads)))
        return max(chunk, 1), min(self.threads - 1, rows * each // WORTH)

    def _share(self, chunk, helpers):
        workers.run_together(lambda: self._help(chunk), lambda: self._work(chunk), self._stop, helpers)
        if self.errors:
            raise self.errors[0]

    def _help(self, chunk):
        try:
            self.worker(self.state, chunk, 1, STOPPED, *self.arguments)
        except BaseException as error:
            self.errors.append(error)
            self._stop()

    def _work(self, chunk):
        """The calling thread's part: it comes back to the interpreter for requests to stop."""
        while self.worker(self.state, chunk, 1, PATIENCE, *self.arguments):
            pass

    def _stop(self):
        self.state[0] = STOPPED


def _worker_of(body, names, options):
    """Return the Python function of the loop over chunks, with the body inlined by njit."""
    inlined = njit(body, inline="always", **options)
    scope = {**COMPILED, "__name__": body.__module__, "_body": inlined}
    exec(WORKER.format(name=body.__name__, arguments=", ".join(names)), scope)  # numba inlines no call with *arguments
    worker = scope[body.__name__]
    worker.__qualname__, worker.__doc__ = body.__qualname__, body.__doc__
    return worker
