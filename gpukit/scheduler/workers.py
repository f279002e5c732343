"""Threads that help the calling thread with the rows of a loop. They do not need the interpreter: a worker is one call
of a compiled function, which sleeps until it is woken, takes chunks of rows until none is left, and sleeps again.

The pool is a few lines of memory. One caller at a time has it; another that comes meanwhile works alone. A job is open
while the caller is in it: who joins is counted, and the caller closes the job and waits for those inside. A worker that
comes too late finds the job closed, and touches nothing. Each that joins first wakes two others, so that the last of
many is awake soon.

The rows of a chunk depend on time and on the number of threads; what a row writes must not.
"""

import atexit
import contextlib
import ctypes
import os
import signal
import threading

import numpy as np

from gpukit import interrupt, timing
from gpukit._jit import njit
from gpukit.runtime.start import MOST_THREADS
from gpukit.scheduler import intrinsics
from gpukit.scheduler.intrinsics import call_rows, compare_and_swap, exchange, fetch_add, load, nanoseconds, store

NAME = "gpukit-blocks"
# Python answers a signal in the main thread, which the system wakes only if it gives the signal to that thread.
BLOCKED = [*interrupt.SIGNALS, *interrupt.OF_RANKS, signal.SIGALRM]

# Bytes from the start of the pool; what several threads write has a line of the cache for itself.
LINE = 64
SLICE, WORTH, SPIN, PATIENCE, SWITCH = range(0, 40, 8)  # nanoseconds, see DEFAULTS
WORKERS = LINE  # how many there are, those included that the system would not start
ENDS = LINE + 8  # 1 once the process ends
BUSY, STATE, NEXT = 2 * LINE, 3 * LINE, 4 * LINE
ROWS, FRAME, END, CHUNK, HELPERS = range(5 * LINE, 5 * LINE + 40, 8)  # of the job
EVENTS, EVENT = 8 * LINE, 3 * LINE  # of the caller, then of each worker: a flag, a mutex, a condition
MUTEX, CONDITION = LINE, 2 * LINE
ASKS = 8  # from the start of `pace`
NOBODY = MOST_THREADS + 1  # the number of an event that does not come
OPEN = 1 << 32  # in STATE, which counts those inside
STOPPED = 1 << 62  # a next row past any end
OF_RUN, OF_SERVE = (intrinsics.WORD,) * 7, (intrinsics.WORD,) * 2  # types of arguments

DEFAULTS = {
    SLICE: 10_000,  # of the calling thread alone at first, and of a chunk
    WORTH: 20_000,  # of work for which another thread is woken
    SPIN: 20_000,  # that the caller looks for the last worker before it sleeps
    PATIENCE: 200_000_000,  # until the caller goes back to the interpreter, which looks for requests to stop
    SWITCH: 5_000_000,  # of work during which the interpreter is kept, as long as Python's own threads keep it
}


@njit
def wake(event):
    """Let the thread that waits, or will wait, for an event go on."""
    intrinsics.mutex_lock(event + MUTEX)
    store(event, 1)
    intrinsics.mutex_unlock(event + MUTEX)
    intrinsics.condition_signal(event + CONDITION)


@njit
def wait(event):
    """Sleep until an event has come, and clear it."""
    intrinsics.mutex_lock(event + MUTEX)
    while load(event) == 0:
        intrinsics.condition_wait(event + CONDITION, event + MUTEX)
    store(event, 0)
    intrinsics.mutex_unlock(event + MUTEX)


@njit
def take_work(pool, late):
    """Process chunks of the job until none is left or it is late; returns how many."""
    rows, frame, end, chunk = load(pool + ROWS), load(pool + FRAME), load(pool + END), load(pool + CHUNK)
    done = 0
    while late == 0 or done == 0 or nanoseconds() < late:
        start = fetch_add(pool + NEXT, chunk)
        if start >= end:
            break
        if call_rows(rows, frame, start, min(start + chunk, end)) != 0:
            store(pool + NEXT, STOPPED)
            break
        done += 1
    return done


@njit
def join(pool):
    """Return True once the calling worker is counted among those inside; False if the job is closed or has enough."""
    while True:
        state = load(pool + STATE)
        if state < OPEN or state - OPEN >= load(pool + HELPERS):
            return False
        if compare_and_swap(pool + STATE, state, state + 1) == state:
            return True


@njit(nogil=True)
def serve(pool, number):
    """The life of worker `number`, counted from 1."""
    while True:
        wait(pool + EVENTS + EVENT * number)
        if join(pool):
            for other in range(2 * number, 2 * number + 2):
                if other <= load(pool + HELPERS):
                    wake(pool + EVENTS + EVENT * other)
            take_work(pool, 0)
            if fetch_add(pool + STATE, -1) == 1:  # the caller has closed the job and waits
                wake(pool + EVENTS)


@njit
def share(pool, rows, frame, first, count, pace, chunk, helpers, late):
    """Process the rows first to count with helpers; returns the next row if it is late before the end."""
    began = nanoseconds()
    store(pool + ROWS, rows)
    store(pool + FRAME, frame)
    store(pool + END, count)
    store(pool + CHUNK, chunk)
    store(pool + HELPERS, helpers)
    store(pool + NEXT, first)
    store(pool + STATE, OPEN)
    wake(pool + EVENTS + EVENT)
    done = take_work(pool, late)
    if done > 0:
        store(pace, max((nanoseconds() - began) // (done * chunk), 1))
    end = exchange(pool + NEXT, STOPPED)
    if fetch_add(pool + STATE, -OPEN) != OPEN:
        spin_until = nanoseconds() + load(pool + SPIN)
        while load(pool + EVENTS) == 0 and nanoseconds() < spin_until:
            pass
        wait(pool + EVENTS)
    return min(end, count)


@njit
def work_alone(rows, frame, first, count, chunk, late):
    """Process the rows first to count; returns the next row if it is late before the end, count after an exception."""
    while first < count:
        stop = min(first + chunk, count)
        if call_rows(rows, frame, first, stop) != 0:
            return count
        first = stop
        if nanoseconds() > late:
            break
    return first


@njit
def plan(left, each, slice_of_time, worth, threads):
    """Return how many workers the `left` rows of `each` nanoseconds are worth, and the rows of a chunk."""
    chunks = 8  # for each thread, at least
    chunk = min(slice_of_time // each, left // (chunks * max(threads, 1)))
    return max(0, min(threads - 1, left - 1, left * each // worth)), max(1, chunk)


@njit
def run(pool, rows, frame, first, count, threads, pace):
    """Process the rows first to count, or some of them, with the calling thread and up to threads - 1 workers, and
    raise the first exception.

    The cost of a row in the last call decides how many workers are used. If it is unknown or low, the calling thread
    begins alone, in chunks that double, so that a small loop costs no other thread; when time is up and rows are left,
    their cost is known.

    pool, rows, frame, pace: addresses, see intrinsics.call_rows. At `pace` are the nanoseconds of a row in the last
    call, and 1 where a row may ask for the interpreter, which the caller must not keep then. Returns the next row. It
    comes back early when it is time to look for requests to stop, or when it wants more workers than were started.
    """
    began, start, each, ends = nanoseconds(), first, load(pace), load(pool + ENDS)
    if each * (count - first) < load(pool + WORTH):
        chunk, elapsed = 1, 0
        while elapsed <= load(pool + SLICE):
            stop = min(start + chunk, count)
            if call_rows(rows, frame, start, stop) != 0 or stop == count:
                intrinsics.raise_first(frame)
                return count
            start, chunk = stop, 2 * chunk
            elapsed = nanoseconds() - began
        each = max(elapsed // (start - first), 1)
        store(pace, each)
    left = count - start
    helpers, chunk = plan(left, each, load(pool + SLICE), load(pool + WORTH), threads)
    if helpers > load(pool + WORKERS):
        return start
    patient_rows = 20  # of one thread that pass, at least, before the caller goes back to the interpreter
    late, state = began + max(load(pool + PATIENCE), patient_rows * each), 0
    asks = helpers > 0 and load(pace + ASKS) != 0
    if threads == 0 or asks or left * each // (helpers + 1) > load(pool + SWITCH):
        state = intrinsics.release_interpreter()
    if helpers > 0 and compare_and_swap(pool + BUSY, 0, 1) == 0:
        end = share(pool, rows, frame, start, count, pace, chunk, helpers, late)
        store(pool + BUSY, 0)
    else:
        if threads > 1:  # others may be free soon, or the rows turn out longer
            late = nanoseconds() + (load(pool + SWITCH) if helpers > 0 else 2 * load(pool + WORTH))
        end = work_alone(rows, frame, start, count, chunk, late)
    if state != 0:
        while load(pool + ENDS) != ends:  # a daemon thread's: there may be no interpreter to come back to
            wait(pool + EVENTS + EVENT * NOBODY)
        intrinsics.take_interpreter(state)
    intrinsics.raise_first(frame)
    return end


def keep_forever(array):
    """Return an array that stays to the very end of the process: threads use its address while Python lets all go."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(array))
    return array


class _Pool:
    """The memory of the pool, and its threads.

    address : int
        Of the pool; 0 until it is ready.
    """

    def __init__(self):
        self.memory = keep_forever(np.zeros((EVENTS + EVENT * (NOBODY + 1) + LINE) // 8, np.int64))
        self.lock, self.address, self.threads = threading.Lock(), 0, []

    def ready(self):
        """Return the address of the pool, whose first user compiles what runs in it."""
        if not self.address:
            with interrupt.defer(), timing.compiling(), self.lock:
                run.compile(OF_RUN)
                if not self.address:  # another thread may have been here meanwhile
                    self._begin()
        return self.address

    def _begin(self):
        start = -(-self.memory.ctypes.data // LINE) * LINE
        for place, value in DEFAULTS.items():
            self.set(start + place, value)
        for number in (0, NOBODY):
            _new_event(start + EVENTS + EVENT * number)
        self.address = start

    def set(self, address, value):
        """Write a word."""
        ctypes.c_int64.from_address(address).value = value

    def start(self, count):
        """Start workers until there are `count`, or until the system starts no more."""
        if count <= len(self.threads):
            return
        with interrupt.defer(), timing.compiling(), self.lock:
            serve.compile(OF_SERVE)
            while len(self.threads) < count:
                number = len(self.threads) + 1
                _new_event(self.address + EVENTS + EVENT * number)
                thread = threading.Thread(target=_serve, args=(self.address, number), name=NAME, daemon=True)
                self.threads.append(thread)
                with contextlib.suppress(RuntimeError):  # the system's limit, or the end of the process
                    thread.start()
            self.set(self.address + WORKERS, len(self.threads))

    def end(self):
        """The process ends: daemon threads that are in a loop stay there."""
        if self.address:
            self.set(self.address + ENDS, 1)

    def forget(self):
        """In a forked child: no threads, and no traces of those of the parent."""
        self.lock, self.threads = threading.Lock(), []
        self.memory[:] = 0
        if self.address:
            self._begin()


def _new_event(address):
    system = ctypes.CDLL(None)
    system.pthread_mutex_init(ctypes.c_void_p(address + MUTEX), None)
    system.pthread_cond_init(ctypes.c_void_p(address + CONDITION), None)


def _serve(pool, number):
    signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)
    serve(pool, number)


pool = _Pool()
os.register_at_fork(after_in_child=pool.forget)
atexit.register(pool.end)
