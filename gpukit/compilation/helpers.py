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
import threading
import zlib

from gpukit import _jit
from gpukit._cores import cores
from gpukit.compilation.signatures import FILE, tasks_of
from gpukit.runtime import private

MOST_HELPERS = 7  # a job has some forty functions, and each process takes a second to start and 200 MB
COMMAND = (sys.executable, "-P", "-m", "gpukit.compilation.worker")


class Helpers:
    """Processes and what they have to compile.

    Parameters
    ----------
    tasks : list of signatures.Task, in the order in which they are needed
    count : int, number of processes
    """

    def __init__(self, tasks, count):
        self.changed = threading.Condition()
        self.left, self.busy, self.processes, self.running = list(tasks), collections.Counter(), [], count
        for _ in range(count):
            threading.Thread(target=self._feed, daemon=True).start()

    def add(self, tasks):
        """Add Tasks to be done after all others."""
        with self.changed:
            self.left += tasks
            self.changed.notify_all()

    def claim(self, function):
        """Leave a function, (module, name), to the calling thread; if a helper is compiling it, wait for the helper."""
        with self.changed:
            self.left = [task for task in self.left if task.function != function]
            self.changed.wait_for(lambda: not self.busy[function])

    def stop(self):
        """End the processes."""
        with self.changed:
            self.left = []
        for process in self.processes:
            process.terminate()

    def _feed(self):
        """Let a process do Tasks, one after the other, until it ends."""
        with contextlib.suppress(OSError), _started() as process:
            self.processes.append(process)
            is_ready = process.stdout.readline()  # until then, the caller compiles faster by itself
            while is_ready and (task := self._take()):
                is_ready = _compiled(process, task)
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


def _started():
    return subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def _compiled(process, task):
    """Return True when a process has done a Task, False if it has ended."""
    try:
        process.stdin.write(" ".join(task).encode() + b"\n")
        process.stdin.flush()
        return bool(process.stdout.readline())
    except OSError:
        return False


def begin(*jobs, alone=True):
    """Start to compile what jobs share, one of which follows; return False if one of them was begun before.

    A file in the cache of compiled code says that a single job was begun. If it cannot be written, neither can code,
    and nothing is started. alone: whether the cores are free for other processes.
    """
    files = [_file_of(job) for job in jobs]
    if any(map(os.path.exists, files)) or not _note(files if len(files) == 1 else []):
        return False
    first, *others = map(tasks_of, jobs)
    tasks = [task for task in first if all(task in other for other in others)]
    count = min(MOST_HELPERS, cores() - 1, len(tasks)) if alone else 0
    if _jit.helpers is not None:
        _jit.helpers.add(tasks)
    elif count > 0:
        _jit.helpers = Helpers(tasks, count)
        atexit.register(_jit.helpers.stop)
    return True


def _file_of(job):
    """Return the path of the file that says that a job, as signatures.txt has it, was begun."""
    return _jit.cache_folder() / f"{job}-{zlib.crc32(FILE.read_bytes()):08x}.begun"


def _note(files):
    """Create empty files in the cache; return False if they cannot be created, or the cache cannot."""
    with contextlib.suppress(OSError):
        private.make_folder(_jit.cache_folder())
        for file in files:
            file.touch(mode=0o600)
        return os.access(_jit.cache_folder(), os.W_OK)
    return False
