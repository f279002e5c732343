"""Threads for work that is done outside the interpreter: numpy's loops, checksums, reading."""

import contextlib
import os
from concurrent.futures import ThreadPoolExecutor

MOST = 8


def cores():
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def shared_out(function, tasks):
    """[function(task)] in order, on all cores; a single task, or a single core, does without threads."""
    tasks = list(tasks)
    workers = min(cores(), MOST, len(tasks))
    if workers < 2:
        return [function(task) for task in tasks]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(function, tasks))


@contextlib.contextmanager
def alone():
    """Within it BLAS and LAPACK take one thread a call: of matrices so small that their threads wait for each other
    longer than they save, the longer the busier the machine, and of calls that come from several threads at once.

    Goes by threadpoolctl; without it they take as many as ever, and the answers are the same.
    """
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        yield
        return
    with threadpool_limits(1, user_api="blas"):
        yield
