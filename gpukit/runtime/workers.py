"""Threads that help the calling thread with a loop. They start when a loop first needs them, and sleep between loops.

Each worker waits for a lock of its own. A caller takes as many idle workers as it wants and there are, so that several
callers share them and none waits for another. A worker never calls for helpers, and neither does a thread of
gpukit/_pool.py. A forked child begins without workers.
"""

import atexit
import contextlib
import os
import signal
import threading

from gpukit import _pool, interrupt

NAME = f"{_pool.NAME}-blocks"  # a name of the pool's: what runs within shares nothing out itself
# Python answers a signal in the main thread, which the system wakes only if it gives the signal to that thread.
BLOCKED = [*interrupt.SIGNALS, *interrupt.OF_RANKS, signal.SIGALRM]

_lock = threading.Lock()  # of _all
_all, _idle = [], []  # workers that run; those that wait
_calling = threading.local()


class Task:
    """One call of a function by a worker, which the caller waits for or takes back."""

    def __init__(self, function):
        self.function, self.unclaimed = function, [None]
        self.is_over, self._over = False, threading.Lock()
        self._over.acquire()

    def claim(self):
        """Return True for the first who asks: the worker, which computes then, or the caller, who takes it back."""
        try:
            self.unclaimed.pop()
        except IndexError:
            return False
        return True

    def end(self):
        """Release the caller."""
        self.is_over = True
        self._over.release()

    def wait(self):
        """Return when the worker has ended; at once if it has not begun. An exception in here leaves it as it was."""
        if not self.claim():
            while not self.is_over:
                self._over.acquire()


class Worker(threading.Thread):
    """A thread that runs one task after another, and ends at one that is None."""

    def __init__(self, number):
        super().__init__(name=f"{NAME}-{number}", daemon=True)
        self.task, self._wake = None, threading.Lock()
        self._wake.acquire()

    def give(self, task):
        """Wake the worker, which is not in _idle any more."""
        self.task = task
        self._wake.release()

    def run(self):
        """Work until there is no task; what a task refers to is let go before its caller is released."""
        signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)
        while True:
            self._wake.acquire()
            task, self.task = self.task, None
            if task is None:
                return
            begun = task.claim()
            if begun:
                task.function()
            task.function = None
            _idle.append(self)  # before the end: the caller's next loop finds it
            if begun:
                task.end()
            del task


def is_nested():
    """Return True in a thread that is one of several at work, whose loops run inline."""
    return _pool.within() or getattr(_calling, "now", False)


def run_together(part, rest, stop, count):
    """Return rest() of the calling thread, while up to `count` workers run part(); ends when all have ended.

    part : callable
        Raises nothing, and ends soon once rest() has ended or stop() was called.
    stop : callable
        Called when an exception ends rest(), a request to stop included.
    """
    tasks, request = [], None
    _calling.now = True
    try:
        _hand_out(part, count, tasks)
        return rest()
    except BaseException:
        stop()
        raise
    finally:
        while tasks:  # not in a function: a request to stop at its start would leave before the tasks have ended
            try:
                tasks[-1].wait()
                tasks.pop()
            except BaseException as error:
                request = request or error
        _calling.now = False
        if request is not None:
            raise request


@interrupt.undisturbed
def _hand_out(function, count, tasks):
    """Give a task each to `count` workers, or to those that can be had. A task is listed before it is given."""
    for _ in range(count):
        worker = _take(count)
        if worker is None:
            return
        tasks.append(Task(function))
        worker.give(tasks[-1])


def _take(most):
    """Return an idle worker, or a new one while there are fewer than `most`; None if there is neither."""
    try:
        return _idle.pop()
    except IndexError:
        pass
    with _lock:
        if len(_all) >= most:
            return None
        worker = Worker(len(_all) + 1)
        try:
            worker.start()
        except RuntimeError:  # the system's limit, or the end of the process
            return None
        _all.append(worker)
        return worker


def _end():
    """End the idle workers, at the end of the process."""
    ended = []
    with contextlib.suppress(IndexError):
        while True:
            ended.append(_idle.pop())
            ended[-1].give(None)
    for worker in ended:
        worker.join()


def _in_child():
    """Forget the parent's workers, and what its other threads held."""
    global _lock
    _lock = threading.Lock()
    _all.clear()
    _idle.clear()
    _calling.now = False


os.register_at_fork(after_in_child=_in_child)
atexit.register(_end)
