"""Threads for work that is done outside the interpreter: numpy's loops, checksums, reading."""

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
ROWS = 1 << 16  # numbers of a piece of a table


def within():
    """Whether the calling thread is one of several that work side by side."""
    return threading.current_thread().name.startswith(NAME)


def shared_out(function, tasks):
    """[function(task)] in order, on all cores; a single task, a single core, or a thread that shares its work already,
    does without threads."""
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
    """Threads that stay while somebody is within staying() or has borrowed them; a child that is forked has none."""

    def __init__(self):
        self.lock, self.count, self.kept, self.process = threading.Lock(), 0, None, None

    def enter(self):
        """Use the threads, which the first user starts."""
        with self.lock:
            self.count += 1
            if self.count == 1:
                self.kept, self.process = ThreadPoolExecutor(min(cores(), MOST), NAME), os.getpid()

    def borrow(self):
        """Return the threads, which then stay until leave(), or None where there are none."""
        if self.process != os.getpid():
            return None
        with self.lock:
            self.count += self.kept is not None
            return self.kept

    def leave(self):
        """Use the threads no longer; the last user ends them."""
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
    """Within it the threads of shared_out stay: for work of many short pieces, which starting threads would double."""
    _stay.enter()
    try:
        yield
    finally:
        _stay.leave()


def by_rows(function, shape):
    """[function(slice)] of the rows of a table (N, T), piece by piece, on all cores: pieces of ROWS numbers at least,
    the same on any machine."""
    rows, columns = shape
    each = max(1, -(-ROWS // max(1, columns)), -(-rows // (4 * MOST)))
    return shared_out(function, [slice(first, min(first + each, rows)) for first in range(0, rows, each)])


def in_order(function, tasks, consume, threads):
    """Call consume(function(task)) for each task in order. The functions run on threads, a few tasks ahead.

    tasks : iterable, advanced by the calling thread, which also calls consume. threads : int, at most MOST are used; 1:
    the calling thread does everything. After an error or a request to stop, only tasks that have begun end.
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


def beside(calls, aside, begin, heard):
    """[call()] in order; those whose numbers are in a list of `aside` in a thread of their own, one after another,
    beside the rest.

    begin(): what such a thread does first. heard(result): told of each by the calling thread, of the rest as they come.
    """
    calls, out = list(calls), {}
    with ThreadPoolExecutor(max(1, len(aside)), "gpukit-beside", begin) as pool:
        waited = [(some, pool.submit(lambda some=some: [calls[number]() for number in some])) for some in aside]
        for number in sorted(set(range(len(calls))).difference(*aside)):
            heard(out.setdefault(number, calls[number]()))
        for some, future in waited:
            for number, result in zip(some, future.result()):
                heard(out.setdefault(number, result))
    return [out[number] for number in range(len(calls))]


class _Limit:
    """Who is within alone(): the first of several threads sets the limit, the last takes it back."""

    def __init__(self):
        self.lock, self.count, self.kept = threading.Lock(), 0, None


_limit = _Limit()


@contextlib.contextmanager
def alone():
    """Within it BLAS and LAPACK take one thread a call: of matrices so small that their threads wait for each other
    longer than they save, the longer the busier the machine, and of calls that come from several threads at once."""
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
    """threadpoolctl's controller of the libraries that are loaded; scipy: whether that brought its own."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
