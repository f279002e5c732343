"""Worker threads of a loop over rows, without Python's interpreter.

A worker is one call of a compiled function, which sleeps until it is woken, takes chunks of rows until none is left,
and sleeps again. The pool is a small piece of memory that one caller uses at a time; a second caller runs its loop
alone. A job is open while its caller is in the loop. The pool counts the workers that join; the caller closes the job
and waits for them. A worker that wakes too late finds the job closed and returns to sleep. Each worker that joins
first wakes two others, so that many are awake soon.

The rows of a chunk depend on time and on the number of threads; the results must not.
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

# Bytes from the start of the pool; each word that several threads write has its own cache line.
LINE = 64
SLICE, WORTH, SPIN, PATIENCE, SWITCH = range(0, 40, 8)  # nanoseconds, see DEFAULTS
WORKERS = LINE  # number of workers, including those that the system did not start
ENDS = LINE + 8  # 1 once the process ends
BUSY, STATE, NEXT = 2 * LINE, 3 * LINE, 4 * LINE
ROWS, FRAME, END, CHUNK, HELPERS = range(5 * LINE, 5 * LINE + 40, 8)  # of the job
EVENTS, EVENT = 8 * LINE, 3 * LINE  # of the caller, then of each worker: a flag, a mutex, a condition
MUTEX, CONDITION = LINE, 2 * LINE
ASKS = 8  # from the start of `pace`
NOBODY = MOST_THREADS + 1  # number of an event that never occurs
OPEN = 1 << 32  # flag in STATE, which counts the workers in the job
STOPPED = 1 << 62  # a next row past any end
OF_RUN, OF_SERVE = (intrinsics.WORD,) * 7, (intrinsics.WORD,) * 2  # types of arguments

DEFAULTS = {
    SLICE: 10_000,  # of the calling thread alone at first, and of a chunk
    WORTH: 20_000,  # of computation per additional thread
    SPIN: 20_000,  # of polling for the last worker, before the caller sleeps
    PATIENCE: 200_000_000,  # until the caller returns to the interpreter, which handles stop requests
    SWITCH: 5_000_000,  # during which the caller keeps the interpreter, as Python's own threads do
}


@njit
def wake(event):
    """Set an event and wake the thread that waits for it."""
    intrinsics.mutex_lock(event + MUTEX)
    store(event, 1)
    intrinsics.mutex_unlock(event + MUTEX)
    intrinsics.condition_signal(event + CONDITION)


@njit
def wait(event):
    """Sleep until an event is set, and clear it."""
    intrinsics.mutex_lock(event + MUTEX)
    while load(event) == 0:
        intrinsics.condition_wait(event + CONDITION, event + MUTEX)
    store(event, 0)
    intrinsics.mutex_unlock(event + MUTEX)


@njit
def take_work(pool, late):
    """Process chunks of the job until none is left or the time `late` is reached; return their number."""
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
    """Count the calling worker and return True; return False if the job is closed or has enough workers."""
    while True:
        state = load(pool + STATE)
        if state < OPEN or state - OPEN >= load(pool + HELPERS):
            return False
        if compare_and_swap(pool + STATE, state, state + 1) == state:
            return True


@njit(nogil=True)
def serve(pool, number):
    """Run worker `number`, counted from 1, for ever."""
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
    """Process the rows first to count with helpers; return the next row if the time `late` is reached before."""
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
    """Process the rows first to count; return the next row at the time `late`, count at the end or after an error."""
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
    """Return (number of workers, rows of a chunk) for `left` rows of `each` nanoseconds."""
    chunks = 8  # for each thread, at least
    chunk = min(slice_of_time // each, left // (chunks * max(threads, 1)))
    return max(0, min(threads - 1, left - 1, left * each // worth)), max(1, chunk)


@njit
def run(pool, rows, frame, first, count, threads, pace):
    """Process rows from first to count with the calling thread and up to threads - 1 workers; return the next row.

    The number of workers depends on the cost of a row in the last call. If it is unknown or low, the calling thread
    begins alone, with chunks of doubling size, and measures it. Thus a small loop wakes no other thread. The function
    returns before the last row to handle stop requests, or if more workers are needed than were started. It raises the
    first exception of a row.

    pool, rows, frame, pace: addresses, see intrinsics.call_rows. `pace` points to the nanoseconds per row in the last
    call, followed by 1 if a row may need the interpreter, which the caller then releases.
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
    patient_rows = 20  # that one thread processes, at least, before the caller returns to the interpreter
    late, state = began + max(load(pool + PATIENCE), patient_rows * each), 0
    asks = helpers > 0 and load(pace + ASKS) != 0
    if threads == 0 or asks or left * each // (helpers + 1) > load(pool + SWITCH):
        state = intrinsics.release_interpreter()
    if helpers > 0 and compare_and_swap(pool + BUSY, 0, 1) == 0:
        end = share(pool, rows, frame, start, count, pace, chunk, helpers, late)
        store(pool + BUSY, 0)
    else:
        if threads > 1:  # workers may be free soon, or rows may take longer
            late = nanoseconds() + (load(pool + SWITCH) if helpers > 0 else 2 * load(pool + WORTH))
        end = work_alone(rows, frame, start, count, chunk, late)
    if state != 0:
        while load(pool + ENDS) != ends:  # at exit, a daemon thread may have no interpreter to return to
            wait(pool + EVENTS + EVENT * NOBODY)
        intrinsics.take_interpreter(state)
    intrinsics.raise_first(frame)
    return end


def keep_forever(array):
    """Return an array that is never freed: threads use its address until the process ends."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(array))
    return array


class _Pool:
    """Memory and threads of the pool.

    address : int
        Address of the pool; 0 until it is ready.
    """

    def __init__(self):
        self.memory = keep_forever(np.zeros((EVENTS + EVENT * (NOBODY + 1) + LINE) // 8, np.int64))
        self.lock, self.address, self.threads = threading.Lock(), 0, []

    def ready(self):
        """Return the address of the pool; the first call compiles its functions."""
        if not self.address:
            with interrupt.defer(), timing.compiling(), self.lock:
                run.compile(OF_RUN)
                if not self.address:  # unless another thread was first
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
        """Start workers until there are `count`, or until the system refuses."""
        if count <= len(self.threads):
            return
        with interrupt.defer(), timing.compiling(), self.lock:
            serve.compile(OF_SERVE)
            while len(self.threads) < count:
                number = len(self.threads) + 1
                _new_event(self.address + EVENTS + EVENT * number)
                thread = threading.Thread(target=_serve, args=(self.address, number), name=NAME, daemon=True)
                self.threads.append(thread)
                with contextlib.suppress(RuntimeError):  # limit of the system, or exit of the process
                    thread.start()
            self.set(self.address + WORKERS, len(self.threads))

    def end(self):
        """Keep daemon threads in their loops at the end of the process."""
        if self.address:
            self.set(self.address + ENDS, 1)

    def forget(self):
        """Reset the pool in a forked child, which has no threads."""
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
