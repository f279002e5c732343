"""Wall-clock seconds of computation, with compiling and loading code counted apart.

The first call of a compiled function compiles it, or loads it from disk. `work_clock` stops during that time, so that
differences of its readings are computation alone; `compile_seconds` has the rest.
"""

import contextlib
import threading
import time
from concurrent.futures import Future

COMPILING = "compiling"  # the stage that compiling and loading code are reported as
listener = None  # a function of the command line, see announce


class _Thread(threading.local):
    seconds, since = 0.0, None


_thread = _Thread()


@contextlib.contextmanager
def compiling():
    """Count the time within as compiling or loading code, for the calling thread; nested contexts count once."""
    if _thread.since is not None:
        yield
        return
    _thread.since = time.perf_counter()
    try:
        yield
    finally:
        _thread.seconds, _thread.since = compile_seconds(), None
        announce(None)


def announce(name):
    """Report to the listener that a function of this name is about to be compiled; None: that nothing more is."""
    if listener is not None:
        listener(name)


def compile_seconds():
    """Return the seconds that the calling thread has spent compiling or loading code."""
    return _thread.seconds + (0.0 if _thread.since is None else time.perf_counter() - _thread.since)


def work_clock():
    """Return a reading in seconds of a clock that stops while the calling thread compiles or loads code."""
    return time.perf_counter() - compile_seconds()


def count_compiling(seconds):
    """Count seconds that another thread has spent compiling as the calling thread's."""
    _thread.seconds += seconds


def in_background(function):
    """Call function() on a thread that ends with the process; return a function that waits for its result.

    The waiting thread gets its exception, and its compiling counts as the waiting thread's own.
    """
    future = Future()

    def run():
        try:
            future.set_result((function(), compile_seconds()))
        except BaseException as error:
            future.set_exception(error)

    def wait():
        result, seconds = future.result()
        count_compiling(seconds)
        return result

    threading.Thread(target=run, name="gpukit-background", daemon=True).start()
    return wait


class Clock:
    """Seconds by stage: `with clock("prepare"): ...` adds to that stage, and compiling within it to "compiling"."""

    def __init__(self, seconds=None):
        self.seconds = {} if seconds is None else seconds

    @contextlib.contextmanager
    def __call__(self, stage):
        work, compiled = work_clock(), compile_seconds()
        try:
            yield
        finally:
            self.add(stage, work_clock() - work)
            self.add(COMPILING, compile_seconds() - compiled)

    def add(self, stage, seconds):
        """Add seconds to a stage."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds
