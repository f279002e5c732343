"""Processes that compile a job's functions while the calling process begins with it.

The calling process needs functions in the order of signatures.txt and compiles the first ones itself. The helpers
begin with the last ones, so that all are done when they meet. A function that a helper is compiling is waited for, and
loaded from the cache on disk.
"""

import atexit
import collections
import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import warnings
import zlib

from gpukit import _jit, timing
from gpukit._cores import cores
from gpukit._version import __version__
from gpukit.compilation.signatures import FILE, is_missing, missing_tasks, tasks_of
from gpukit.device import available_memory
from gpukit.errors import GpukitError
from gpukit.runtime import private

MEMORY = 200 << 20  # bytes of a process
COMMAND = (sys.executable, "-P", "-m", "gpukit.compilation.worker")


class Helpers:
    """Processes and what they have to compile.

    Parameters
    ----------
    tasks : list of signatures.Task, in the order in which they are needed
    count : int, number of processes; without any, the Tasks are only counted
    expected : int, number of Tasks if more will be added
    capability : (major, minor), compute capability of the GPU that kernels are for; None: there are none
    """

    def __init__(self, tasks, count, expected=0, capability=None):
        self.capability = capability
        self.changed = threading.Condition()
        self.left, self.busy, self.processes, self.running = list(tasks), collections.Counter(), [], count
        self.added, self.expected = len(self.left), expected
        for _ in range(count):
            threading.Thread(target=self._feed, daemon=True).start()

    def add(self, tasks, capability=None):
        """Add Tasks to be done after all others, kernels for a GPU of this compute capability."""
        with self.changed:
            self.capability = capability or self.capability
            new = [task for task in tasks if task not in self.left]
            self.left += new
            self.added += len(new)
            self.changed.notify_all()

    def claim(self, function):
        """Leave a function, (module, name), to the calling thread; if a helper is compiling it, wait for the helper."""
        with self.changed:
            self.left = [task for task in self.left if task.function != function]
            if self.busy[function]:
                timing.announce(function[1])
            self.changed.wait_for(lambda: not self.busy[function])

    def progress(self):
        """Return the number of Tasks that are done or claimed, and of all."""
        with self.changed:
            return self.added - len(self.left) - self.busy.total(), max(self.added, self.expected)

    def finish(self, progress):
        """Wait until all Tasks are done or all processes have ended; call progress(done, total) meanwhile."""
        while True:
            progress(*self.progress())
            with self.changed:
                if not self.running or not (self.left or self.busy.total()):
                    return
                self.changed.wait(0.5)

    def stop(self):
        """End the processes."""
        with self.changed:
            self.left = []
        for process in self.processes:
            process.terminate()

    def _feed(self):
        """Let a process do Tasks, one after the other, until it ends."""
        with contextlib.suppress(OSError), _start_process() as process:
            self.processes.append(process)
            is_ready = process.stdout.readline()  # until then, the caller compiles faster by itself
            while is_ready and (task := self._take()):
                is_ready = _compile_task(process, task, self.capability)
                with self.changed:
                    self.busy[task.function] -= 1
                    self.changed.notify_all()
        with self.changed:
            self.running -= 1
            self.changed.notify_all()

    def _take(self):
        """Return the last Task that is left, once there is one."""
        with self.changed:
            self.changed.wait_for(lambda: self.left)
            task = self.left.pop()
            self.busy[task.function] += 1
            return task


def _start_process():
    return subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def _compile_task(process, task, capability):
    """Return True when a process has done a Task, a kernel for a compute capability; False if it has ended."""
    words = [*task, "{}.{}".format(*capability)] if task.is_kernel and capability else task
    try:
        process.stdin.write(" ".join(words).encode() + b"\n")
        process.stdin.flush()
        return bool(process.stdout.readline())
    except OSError:
        return False


def begin(*jobs, alone=True, capability=None):
    """Start to compile what possible jobs share; return the largest number of functions that one of them lacks.

    It is 0 if one of them was begun before: a file in the cache of compiled code says so of a single job. If it cannot
    be written, neither can code, and nothing is started. alone: whether the cores are free for other processes.
    capability: compute capability of the GPU that kernels are for; None: there are none.
    """
    files = [_file_of(job, capability) for job in jobs]
    if any(map(os.path.exists, files)) or not _note(files if len(files) == 1 else []):
        return 0
    first, *others = lacking = [missing_tasks(job, capability) for job in jobs]
    tasks, expected = [task for task in first if all(task in other for other in others)], max(map(len, lacking))
    most = 15  # a job has some fifty functions, and each process takes a second to start
    count = min(most, cores() - 1, available_memory() // MEMORY // 2, len(tasks)) if alone else 0
    if _jit.helpers is not None:
        _jit.helpers.add(tasks, capability)
    elif tasks:
        _jit.helpers = Helpers(tasks, count, expected, capability)
        atexit.register(_jit.helpers.stop)
    return expected


def is_of_other_processor(job, capability=None):
    """Return True if a job was begun with this cache, but for another processor or GPU, whose code cannot be used."""
    file = _file_of(job, capability)
    return not file.exists() and any(file.parent.glob(file.name.rpartition("-")[0] + "-*.begun"))


def compile_jobs(jobs, count, progress, capabilities=()):
    """Compile what jobs lack.

    Parameters
    ----------
    jobs : list of str
    count : int, most processes
    progress : function of the number of Tasks that are done and of all, called meanwhile
    capabilities : compute capabilities, (major, minor), of the GPUs that kernels are compiled for

    Returns
    -------
    compiled, total : int
        Number of functions that were compiled, and of all functions of the jobs. A kernel counts once for each
        compute capability.

    Raises GpukitError if the cache cannot be written, or a function cannot be compiled.
    """
    check_cache()
    jobs = [*jobs, "scheduler"]
    tasks_by_machine = {machine: _tasks_of(jobs, machine) for machine in (None, *capabilities)}
    lacking = {
        machine: [task for task in tasks if is_missing(task, machine)] for machine, tasks in tasks_by_machine.items()
    }
    counted = [0, sum(map(len, lacking.values()))]
    for capability, tasks in lacking.items():
        _compile(tasks, min(count, len(tasks)), capability, counted, progress)
        _note(_file_of(job, capability) for job in jobs if job.endswith("-gpu") == (capability is not None))
    return counted[1], sum(map(len, tasks_by_machine.values()))


def _tasks_of(jobs, capability):
    """Return the Tasks of jobs: kernels for a compute capability, or, for None, the other functions."""
    tasks = dict.fromkeys(task for job in jobs for task in tasks_of(job, capability))
    return [task for task in tasks if task.is_kernel == (capability is not None)]


def _compile(tasks, count, capability, counted, progress):
    """Compile Tasks by `count` processes; counted: numbers of Tasks that are done, which grows, and of all."""
    done, total = counted
    processes = Helpers(tasks, count, capability=capability)
    try:
        processes.finish(lambda number, _: progress(done + number, total))
    finally:
        processes.stop()
    if failed := [task for task in tasks if task.is_missing(capability)]:
        raise GpukitError(
            f"{len(failed)} of {len(tasks)} functions could not be compiled, among them "
            f"{'.'.join(failed[0].function)}. Check the free space in {_jit.cache_folder()} and the free memory "
            f"({MEMORY >> 20} MB for each process), and repeat it."
        )
    counted[0] += len(tasks)


def check_cache():
    """Raise GpukitError if compiled code cannot be written to the cache."""
    folder = _jit.cache_folder()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the error says the same
            private.make_folder(folder)
        with tempfile.TemporaryFile(dir=folder):
            return
    except OSError as error:
        raise GpukitError(
            f"compiled code cannot be written to {folder} ({error.strerror or error}). "
            "Set GPUKIT_CACHE to a folder that can be written."
        ) from error


def _file_of(job, capability=None):
    """Return the path of the file that says that a job, as this version lists it, was begun on these processors."""
    checksum, machine = zlib.crc32(FILE.read_bytes() + __version__.encode()), f"{_jit.processor()}{capability or ''}"
    return _jit.cache_folder() / f"{job}-{checksum:08x}-{zlib.crc32(machine.encode()):08x}.begun"


def _note(files):
    """Create empty files in the cache; return False if they cannot be created, or the cache cannot."""
    with contextlib.suppress(OSError):
        private.make_folder(_jit.cache_folder())
        for file in files:
            file.touch(mode=0o600)
        return os.access(_jit.cache_folder(), os.W_OK)
    return False
