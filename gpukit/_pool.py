"""Thread pools for work outside the interpreter: numpy loops, checksums, reading."""

import collections
import contextlib
import functools
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, wait

from gpukit._cores import cores
from gpukit.timing import compile_seconds, count_compiling

MOST = 16
NAME = "gpukit-pool"
ROWS = 1 << 16  # numbers per piece of a table


def is_worker():
    """Return True if the calling thread is a worker of a pool."""
    return threading.current_thread().name.startswith(NAME)


@functools.cache
def _threads(count):
    """Return the process's pool of `count` threads, which end at its exit."""
    return ThreadPoolExecutor(count, NAME)


os.register_at_fork(after_in_child=_threads.cache_clear)  # a child has none of its parent's threads


def _submit(count, function, task):
    """Return the future of function(task) on `count` threads. If it is interrupted, the threads end with their tasks.

    A thread that has just been started may be unknown to the pool, and would be waited for at exit.
    """
    pool = _threads(count)
    try:
        return pool.submit(function, task)
    except BaseException:
        _threads.cache_clear()
        pool.shutdown(wait=False)
        raise


@contextlib.contextmanager
def _all_ended(futures):
    """After the context, cancel those of the futures that have not started and wait for the others."""
    try:
        yield
    finally:
        wait([future for future in futures if not future.cancel()])


def parallel_map(function, tasks):
    """Return [function(task)] in order, computed on all cores.

    A single task, a single core, or a call from a worker uses no threads. After an error or a request to stop, tasks
    that have started end, others are cancelled.
    """
    tasks = list(tasks)
    # cores() comes last: it reads several files, which takes as long as a small task.
    if len(tasks) < 2 or is_worker() or (workers := min(cores(), MOST)) < 2:
        return [function(task) for task in tasks]
    futures = []
    with _all_ended(futures):
        for task in tasks:
            futures.append(_submit(workers, function, task))
        return [future.result() for future in futures]


def map_row_blocks(function, shape):
    """Return [function(slice)] of row blocks of a table, on all cores.

    Blocks have at least ROWS numbers and are the same on any machine.
    """
    rows, columns = shape
    each = max(1, -(-ROWS // max(1, columns)), -(-rows // (4 * MOST)))
    return parallel_map(function, [slice(first, min(first + each, rows)) for first in range(0, rows, each)])


def in_order(function, tasks, consume, threads):
    """Call consume(function(task)) for each task in order, a few tasks ahead.

    tasks : iterable, advanced by the calling thread, which also calls consume. threads : int, at most MOST are used; 1:
    the calling thread does everything. After an error or a request to stop, tasks that have started end, others are
    cancelled.
    """
    if threads < 2 or is_worker():
        for task in tasks:
            consume(function(task))
        return
    threads, ahead = min(threads, MOST), collections.deque()
    with _all_ended(ahead):
        for task in tasks:
            ahead.append(_submit(threads, function, task))
            while ahead and (len(ahead) > threads or ahead[0].done()):
                consume(ahead.popleft().result())
        while ahead:
            consume(ahead.popleft().result())


def read_ahead(items):
    """Yield what an iterator yields; a thread gets the next one meanwhile, and is waited for when this closes."""
    items, end = iter(items), object()

    def step():
        before = compile_seconds()
        return next(items, end), compile_seconds() - before

    with ThreadPoolExecutor(1, "gpukit-ahead") as thread:
        coming = thread.submit(step)
        while True:
            item, seconds = coming.result()
            count_compiling(seconds)
            if item is end:
                return
            coming = thread.submit(step)
            yield item


def run_on_threads(calls, aside, begin, heard):
    """Return [call()] in order; run those in `aside` on other threads.

    Each list of numbers in `aside` has its own thread, which first calls begin() and runs its calls one after another.
    The calling thread runs the other calls and passes each result to heard(result).
    """
    calls, out = list(calls), {}
    with ThreadPoolExecutor(max(1, len(aside)), "gpukit-aside", begin) as pool:
        waited = [(batch, pool.submit(lambda batch=batch: [calls[number]() for number in batch])) for batch in aside]
        for number in sorted(set(range(len(calls))).difference(*aside)):
            heard(out.setdefault(number, calls[number]()))
        for batch, future in waited:
            for number, result in zip(batch, future.result()):
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
def single_threaded_blas():
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
