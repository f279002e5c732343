"""Benchmarks in fresh processes: readers and commands with cached code, and tasks that are not timed."""

import contextlib
import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

from gpukit._pool import cores

READER = """
import sys, time
{reader}

def peak():
    line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])

read(sys.argv[2])
before, start = peak(), time.perf_counter()
table = read(sys.argv[1])
print(time.perf_counter() - start, peak() - before, {figures})
"""


class Reading(NamedTuple):
    """Seconds and peak bytes above the start of each process; figures: printed by all of them."""

    seconds: list
    peaks: list
    figures: list


def read_in_processes(reader, figures, big, small, repeat=3):
    """Return the Reading of a big file after a small one; one more process warms up.

    reader: Python code that defines `read`, a function of a path; figures: expressions of `table`, its result, that
    show whether it is right.
    """
    call = [sys.executable, "-c", READER.format(reader=reader, figures=figures), str(big), str(small)]
    outputs = [subprocess.run(call, check=True, capture_output=True, text=True).stdout for _ in range(repeat + 1)]
    runs = [[float(word) for word in output.split()] for output in outputs[1:]]
    return Reading([run[0] for run in runs], [run[1] for run in runs], runs[0][2:])


def map_in_processes(function, tasks, workers):
    """Yield function(*task) in order, from `workers` processes that share the cores if there are two or more.

    The function must belong to a module.
    """
    if workers < 2:
        yield from (function(*task) for task in tasks)
        return
    threads = str(max(1, cores() // workers))
    with (
        environment(GPUKIT_NUM_THREADS=threads, OMP_NUM_THREADS=threads, OPENBLAS_NUM_THREADS=threads),
        ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool,
    ):
        yield from pool.map(function, *zip(*tasks))


@contextlib.contextmanager
def environment(**variables):
    """Set environment variables within the context, also for processes that are started in it; None removes one."""
    before = {name: os.environ.get(name) for name in variables}
    set_environment(variables)
    try:
        yield
    finally:
        set_environment(before)


def set_environment(variables):
    """Set {name: text} in the environment; None removes a name."""
    for name, value in variables.items():
        os.environ.pop(name, None)
        os.environ.update({} if value is None else {name: value})
