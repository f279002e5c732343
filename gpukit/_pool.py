"""Thread pools for work outside the interpreter: numpy loops, checksums, reading."""

import collections
import contextlib
import functools
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from gpukit._cores import cores

MOST = 16
NAME = "gpukit-pool"
ROWS = 1 << 16  # numbers per piece of a table


def within():
    """Return True if the calling thread is a worker of a pool."""
    return threading.current_thread().name.startswith(NAME)


def shared_out(function, tasks):
    """Return [function(task)] in order, computed on all cores.

    A single task, a single core, or a call from a worker uses no threads.
    """
    tasks = list(tasks)
    # cores() comes last: it reads several files, which takes as long as a small task.
    if len(tasks) < 2 or within() or (workers := min(cores(), MOST, len(tasks))) < 2:
        return [function(task) for task in tasks]
    pool = _stay.borrow()
    if pool is None:
        with ThreadPoolExecutor(workers, NAME) as pool:
            return list(pool.map(function, tasks))
    try:
        return list(pool.map(function, tasks))
    finally:
        _stay.leave()


class _Stay:
    """Thread pool that is shared within staying(); a forked child has none."""

    def __init__(self):
        self.lock, self.count, self.kept, self.process = threading.Lock(), 0, None, None

    def enter(self):
        """Register a user; the first one starts the threads."""
        with self.lock:
            self.count += 1
            if self.count == 1:
                self.kept, self.process = ThreadPoolExecutor(min(cores(), MOST), NAME), os.getpid()

    def borrow(self):
        """Return the pool and register a user, or None without a pool.

        The pool stays until leave().
        """
        if self.process != os.getpid():
            return None
        with self.lock:
            self.count += self.kept is not None
            return self.kept

    def leave(self):
        """Unregister a user; the last one ends the threads."""
        with self.lock:
            self.count -= 1
            done = None if self.count else self.kept
            if done:
                self.kept = self.process = None
        if done:
            done.shutdown()


_stay = _Stay()


@contextlib.contextmanager
def staying():
    """Keep the threads of shared_out alive within the context.

    For many short tasks, whose time starting threads would double.
    """
    _stay.enter()
    try:
        yield
    finally:
        _stay.leave()


def by_rows(function, shape):
    """Return [function(slice)] of row blocks of a table, on all cores.

    Blocks have at least ROWS numbers and are the same on any machine.
    """
    rows, columns = shape
    each = max(1, -(-ROWS // max(1, columns)), -(-rows // (4 * MOST)))
    return shared_out(function, [slice(first, min(first + each, rows)) for first in range(0, rows, each)])


def in_order(function, tasks, consume, threads):
    """Call consume(function(task)) for each task in order, a few tasks ahead.

    tasks : iterable, advanced by the calling thread, which also calls consume. threads : int, at most MOST are used; 1:
    the calling thread does everything. After an error or a request to stop, tasks that have started end, others are
    cancelled.
    """
    if threads < 2 or within():
        for task in tasks:
            consume(function(task))
        return
    threads, ahead = min(threads, MOST), collections.deque()
    with ThreadPoolExecutor(threads, NAME) as pool:
        try:
            for task in tasks:
                ahead.append(pool.submit(function, task))
                while ahead and (len(ahead) > threads or ahead[0].done()):
                    consume(ahead.popleft().result())
            while ahead:
                consume(ahead.popleft().result())
        finally:
            for future in ahead:
                future.cancel()


def run_on_threads(calls, aside, begin, heard):
    """Return [call()] in order; run those in `aside` on other threads.

    Each list of numbers in `aside` has its own thread, which first calls begin() and runs its calls one after another.
    The calling thread runs the other calls and passes each result to heard(result).
    """
    calls, out = list(calls), {}
    with ThreadPoolExecutor(max(1, len(aside)), "gpukit-aside", begin) as pool:
        waited = [(some, pool.submit(lambda some=some: [calls[number]() for number in some])) for some in aside]
        for number in sorted(set(range(len(calls))).difference(*aside)):
            heard(out.setdefault(number, calls[number]()))
        for some, future in waited:
            for number, result in zip(some, future.result()):
                heard(out.setdefault(number, result))
    return [out[number] for number in range(len(calls))]


class _Limit:
    """Shared state of alone().

    The first of several threads sets the limit, the last restores it.
    """

    def __init__(self):
        self.lock, self.count, self.kept = threading.Lock(), 0, None


_limit = _Limit()


@contextlib.contextmanager
def alone():
    """Limit BLAS and LAPACK to one thread per call within the context.

    For matrices so small that threads cost more than they save, and for calls from several threads at once.
    """
    control = libraries("scipy.linalg" in sys.modules)
    with _limit.lock:
        _limit.count += 1
        if _limit.count == 1:
            _limit.kept = control.limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _limit.lock:
            _limit.count -= 1
            if not _limit.count:
                _limit.kept.restore_original_limits()


@functools.cache
def libraries(scipy):
    """Return threadpoolctl's controller of the loaded libraries.

    scipy: True if scipy's are loaded, part of the cache key.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
