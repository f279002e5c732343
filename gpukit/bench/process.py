"""What is measured in fresh processes, whose compiled code is cached: readers and whole commands; and work whose
accuracy alone counts, shared out to processes."""

import contextlib
import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

from gpukit._pool import cores
from gpukit.bench.timing import seconds

READER = """
import sys, time
{reader}

def peak():
    line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])

read(sys.argv[2])
before, begun = peak(), time.perf_counter()
found = read(sys.argv[1])
print(time.perf_counter() - begun, peak() - before, {figures})
"""


class Reading(NamedTuple):
    """seconds, and peak bytes above the start, of each process; the figures that all of them printed."""

    seconds: list
    peaks: list
    figures: list


def read_in_processes(reader, figures, big, small, repeat=3):
    """The Reading of a big file after a small one, one process more than counts.

    reader: lines of Python that define `read`, a function of a path; figures: expressions of `found`, what was read,
    that show whether it is right.
    """
    call = [sys.executable, "-c", READER.format(reader=reader, figures=figures), str(big), str(small)]
    outputs = [subprocess.run(call, check=True, capture_output=True, text=True).stdout for _ in range(repeat + 1)]
    runs = [[float(word) for word in output.split()] for output in outputs[1:]]
    return Reading([run[0] for run in runs], [run[1] for run in runs], runs[0][2:])


def command_seconds(words, device, repeat=5):
    """[seconds] of whole `gpukit WORDS --device DEVICE --quiet` commands."""
    name = "cpu" if not device.is_cuda else f"cuda:{device.index}"
    call = [sys.executable, "-m", "gpukit", *words, "--device", name, "--quiet"]
    return seconds(lambda: subprocess.run(call, check=True, capture_output=True), repeat, 1)


def shared_out(work, tasks, workers):
    """Yield work(*task) in order; with more than one worker in so many processes, which share the processors, and where
    work must be a module's."""
    if workers < 2:
        yield from (work(*task) for task in tasks)
        return
    share = str(max(1, cores() // workers))
    with (
        settings(GPUKIT_NUM_THREADS=share, OMP_NUM_THREADS=share, OPENBLAS_NUM_THREADS=share),
        ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool,
    ):
        yield from pool.map(work, *zip(*tasks))


@contextlib.contextmanager
def settings(**environment):
    """Within it, the environment has these variables too: what is started then reads them."""
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            os.environ.update({} if value is None else {name: value})
