"""Loops over rows on several threads: results, exceptions, stop requests, forks, the end of a process."""

import ctypes
import gc
import inspect
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from threadpoolctl import threadpool_info

import gpukit
from gpukit import _pool
from gpukit._jit import Function, njit
from gpukit.errors import ParameterError
from gpukit.runtime import thread_count
from gpukit.scheduler import BlockFunction, by_block, workers
from gpukit.scheduler.intrinsics import fetch_add, load, nanoseconds, store


@intrinsic
def thread_id(context):
    """Return threading.get_ident()."""

    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.IntType(64), [])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, "pthread_self"), [])

    return types.int64(), generate


@njit
def _harmonic(terms):
    total = 0.0
    for t in range(terms):
        total += 1.0 / (t + 1)
    return total


@by_block(lambda sums: sums.size)
def uneven_sums(start, stop, lengths, sums, visits):
    """Compute sums of different lengths; each row counts its executions."""
    for row in range(start, stop):
        sums[row] = _harmonic(lengths[row])
        visits[row] += 1


@by_block(lambda out: out.size, blas=True)
def products(start, stop, A, caller, multiplied, out):
    """np.dot of a worker; the caller waits for the first one."""
    for row in range(start, stop):
        if thread_id() == caller:
            while load(multiplied.ctypes.data) == 0:
                pass
        out[row] = np.dot(A, A[0])[0]
        store(multiplied.ctypes.data, 1)


@by_block(lambda visits: visits.size)
def fail_at(start, stop, bad, visits):
    """Raise ValueError at row `bad`; take some microseconds elsewhere."""
    for row in range(start, stop):
        if row == bad:
            raise ValueError("a bad row")
        visits[row] += 1 + 0 * int(_harmonic(3000))


@by_block(lambda visits: visits.size)
def meet(start, stop, caller, failing, next_row, places, visits):
    """Fail in the calling thread, or in another one, while another thread runs a long loop.

    places: addresses of three words: of the caller's start, a helper's start, the failure. next_row: 0, or the address
    of the pool's next row, for a second failure once the first one has stopped the loop.
    """
    for row in range(start, stop):
        is_caller = thread_id() == caller
        if row > 0:
            store(places[0] if is_caller else places[1], 1)
            while load(places[1] if is_caller else places[0]) == 0:
                pass
            if is_caller == failing:
                store(places[2], 1)
                raise ValueError("the first", row)
            while load(places[2]) == 0:
                pass
            if next_row != 0:
                while load(next_row) < workers.STOPPED:
                    pass
                raise ValueError("the second", row)
        visits[row] = int(_harmonic(100_000_000 if row > 0 else 1) > 0)


@by_block(lambda visits: visits.size)
def count_visits(start, stop, address, threads, visits):
    """visits[row] += 1, atomically, by the thread threads[row]; address: of visits."""
    for row in range(start, stop):
        fetch_add(address + 8 * row, 1)
        threads[row] = thread_id()


@by_block(lambda out: out.size)
def pass_time(start, stop, cheap, each, out):
    """Take `each` nanoseconds for a row, none for the first `cheap` rows; count."""
    for row in range(start, stop):
        end = nanoseconds() + (each if row >= cheap else 0)
        while nanoseconds() < end:
            pass
        out[row] += 1


@by_block(lambda visits: visits.size, heavy=True)
def both_begin(start, stop, begun, visits):
    """No row ends before two have started."""
    for row in range(start, stop):
        fetch_add(begun, 1)
        while load(begun) < 2:
            pass
        visits[row] += 1


@by_block(lambda limit, out: min(limit, out.size), fastmath=False)
def count_up(start, stop, limit, out, pool, first):
    """Arguments named like the loop's own."""
    for k in range(stop - start):
        out[start + k] = pool + first + start + k
    return


@by_block(lambda out: out.size)
def invert(start, stop, rows, out):
    """Return early; rows in descending order."""
    if rows.size == 0:
        return
    for row in range(start, stop):
        out[row] = rows[rows.size - 1 - row]


def word(place):
    """Return a word of the pool."""
    return ctypes.c_int64.from_address(workers.pool.ready() + place)


@pytest.fixture
def settings():
    """Restore the settings of the pool; no pending requests, and four threads."""
    before, threads = {place: word(place).value for place in workers.DEFAULTS}, thread_count._setting.count
    word(workers.HELPERS).value = 0
    for function in (uneven_sums, fail_at, meet, count_visits, pass_time, count_up, invert):
        function.pace[0] = 0
    gpukit.set_num_threads(4)
    yield
    thread_count._setting.count = threads
    for place, value in before.items():
        word(place).value = value
    assert is_at_rest(), "a worker did not come back"


@pytest.fixture
def eager(settings):
    """Wake helpers after the first chunk of any loop; four threads."""
    hurry()


def hurry():
    """See `eager`."""
    word(workers.SLICE).value = word(workers.WORTH).value = 1


def asked():
    """Return and reset the number of helpers of the last loop."""
    found, word(workers.HELPERS).value = word(workers.HELPERS).value, 0
    return found


def is_at_rest():
    """Return True if no caller has the pool and no worker is in its job."""
    return word(workers.BUSY).value == word(workers.STATE).value == 0


def lengths_of(rows):
    return (np.arange(rows) * 7919 % 3001).astype(np.int64)


def sums_of(rows):
    """Return the bytes of uneven_sums."""
    sums = np.zeros(rows)
    with thread_count.limit_threads(1):
        uneven_sums(lengths_of(rows), sums, np.zeros(rows, np.int64))
    return sums.tobytes()


@pytest.mark.parametrize("rows", [0, 1, 2, 31, 1000])
def test_results_are_the_same_for_any_number_of_threads(eager, rows):
    lengths = lengths_of(rows)
    results, helpers = set(), []
    for threads in (1, 2, 5):
        gpukit.set_num_threads(threads)
        sums, visits = np.zeros(rows), np.zeros(rows, np.int64)
        uneven_sums(lengths, sums, visits)
        results.add(sums.tobytes())
        helpers.append(asked())
        assert visits.tolist() == [1] * rows
    np.testing.assert_allclose(sums, [np.sum(1 / np.arange(1, length + 1)) for length in lengths], rtol=1e-12)
    assert len(results) == 1
    assert helpers == ([0, 1, 4] if rows > 2 else helpers)


def test_no_row_is_taken_by_two_threads(eager):
    """Rows of nanoseconds, one by one, until threads have taken them in turn ten thousand times, or for two seconds."""
    turns, end = 0, time.monotonic() + 2
    while turns < 10_000 and time.monotonic() < end:
        visits, threads = np.zeros((2, 100_000), np.int64)
        count_visits(visits.ctypes.data, threads, visits)
        turns += np.count_nonzero(np.diff(threads))
        assert np.flatnonzero(visits != 1).size == 0 and asked() == 3


def test_arguments_may_be_called_anything_and_options_are_njits():
    out = np.zeros(10, np.int64)
    count_up(7, out, 100, 1000)
    assert out.tolist() == [*range(1100, 1107), 0, 0, 0]
    assert count_up.loop.targetoptions["fastmath"] is False
    invert(np.arange(10), out)
    assert out.tolist() == [*range(9, -1, -1)]
    assert list(inspect.signature(count_up).parameters) == ["limit", "out", "pool", "first"]
    with pytest.raises(ValueError, match="nothing"):
        by_block(lambda nothing: 1)(lambda start, stop, out: None)


class Pair(NamedTuple):
    first: object
    second: object


@by_block(lambda out: out.size)
def copy_all(start, stop, array, pair, flag, small, real, number, out):
    """out = all entries of the arrays, in order, and the numbers."""
    for _ in range(start, stop):
        at = 0
        for row in array:
            for value in row.flat:
                out[at] = value
                at += 1
        for value in pair.first[1]:
            out[at] = value
            at += 1
        out[at], out[at + 1], out[at + 2], out[at + 3] = flag, small, real, number
        out[at + 4] = pair.second + len(pair.first[0])


BASE = np.arange(24, dtype=np.float32).reshape(4, 6)


def read_only():
    array = BASE.astype(np.int16)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "array",
    [BASE, BASE.T, BASE[::-1, ::2], np.asfortranarray(BASE), BASE.reshape(2, 3, 4), BASE[:0], BASE > 7, read_only()],
    ids=["C", "transposed", "strided", "F", "3 dimensions", "empty", "bool", "read-only"],
)
def test_arrays_arrive_as_numpy_has_them(settings, array):
    """All arguments are passed by address or in one word, see intrinsics.arguments_of."""
    arrive(array, (np.empty(5), np.array([1.5, 2.5])), (True, np.int8(-3), np.float32(0.1), -(2**62)))


@pytest.mark.parametrize("first", [(np.empty(5), np.array([1.5, 2.5])), (np.empty((3, 2)), np.arange(2)[::-1])])
def test_numbers_and_tuples_arrive_as_numpy_has_them(settings, first):
    arrive(BASE, first, (np.False_, np.uint32(2**32 - 1), 0.1, 5))


def arrive(array, first, numbers):
    """Copy all arguments in a compiled function and compare them."""
    out = np.zeros(array.size + 7)
    copy_all(array, Pair(first, 2.25), *numbers, out)
    want = [*array.ravel(), *first[1], *numbers, 2.25 + len(first[0])]
    np.testing.assert_array_equal(out, np.array(want, float))


def test_tuples_of_other_lengths_are_other_types(settings):
    @by_block(lambda out: out.size)
    def last(start, stop, some, other, out):
        for row in range(start, stop):
            out[row] = some[len(some) - 1] + 10 * other[len(other) - 1]

    out = np.zeros(1, np.int64)
    last((1, 2), (3,), out)
    assert out[0] == 32
    last((1,), (2, 3), out)
    assert out[0] == 31


def test_a_number_that_no_word_holds_is_refused():
    with pytest.raises(OverflowError):
        count_up(2**64, np.zeros(3, np.int64), 0, 0)


def test_a_small_loop_wakes_nobody(settings):
    word(workers.SLICE).value = 1 << 40
    uneven_sums(lengths_of(1000), np.zeros(1000), np.zeros(1000, np.int64))
    assert asked() == 0


def test_heavy_rows_begin_with_all_threads(settings):
    """Two rows run at the same time; so do the next ones, although these were short."""
    begun, visits = np.zeros(1, np.int64), np.zeros(2, np.int64)
    both_begin(begun.ctypes.data, visits)
    assert visits.tolist() == [1, 1] and asked() == 1
    both_begin(begun.ctypes.data, visits)
    assert visits.tolist() == [2, 2] and asked() == 1


@pytest.mark.parametrize(
    "threads, left, helpers",
    [(4, 5, 0), (4, 6, 1), (4, 12, 2), (4, 1000, 3), (1, 1000, 0), (0, 1000, 0)],
)
def test_helpers_are_woken_for_what_is_worth_it(threads, left, helpers):
    """Rows of 5 microseconds: another thread for each 30 of the remaining rows."""
    assert workers.plan(left, 5000, 10_000, 30_000, threads)[0] == helpers


def test_a_chunk_is_a_share_of_the_rows_and_of_time():
    chunks = [workers.plan(left, each, 50_000, 1, 2)[1] for left, each in [(1600, 1), (1 << 30, 50), (100, 10**9)]]
    assert chunks == [100, 1000, 1] and workers.plan(1600, 1, 50_000, 1, 0)[1] == 200


def test_work_that_turns_out_longer_is_shared_later(eager):
    """First rows without cost predict a short loop; the calling thread requests helpers when its time is up."""
    word(workers.WORTH).value = 10_000_000  # far more than a delay of the first row
    word(workers.PATIENCE).value = 60 * 10**9  # one job, however busy the cores are
    out = np.zeros(40, np.int64)
    pass_time(3, 5_000_000, out)
    assert out.tolist() == [1] * 40 and asked() == 3


def test_a_long_loop_lets_other_threads_run(settings):
    """The calling thread keeps the interpreter for 5 ms at most."""
    ticks, over = [], threading.Event()

    def tick():
        while not over.wait(0.001):
            ticks.append(out.copy())

    out = np.zeros(8, np.int64)
    pass_time(0, 1, out)
    other = threading.Thread(target=tick)
    other.start()
    pass_time(0, 100_000_000, out)
    over.set()
    other.join()
    assert any(1 < seen.sum() - 8 < 7 for seen in ticks)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("bad", [0, 1, 40])
def test_an_exception_is_raised_in_the_caller(eager, threads, bad):
    gpukit.set_num_threads(threads)
    visits = np.zeros(100_000, np.int64)
    with pytest.raises(ValueError, match="a bad row"):
        fail_at(bad, visits)
    assert visits.sum() < visits.size - 1  # the others stopped
    after = visits.sum()
    fail_at(-1, visits)
    assert visits.sum() == after + visits.size


@pytest.mark.parametrize("failing", ["caller", "helper"])
def test_who_fails_stops_the_others_and_the_call_waits_for_them(eager, failing):
    words, visits = np.zeros(3, np.int64), np.zeros(1000, np.int64)
    word(workers.PATIENCE).value = 10**11  # a caller that checks for stop requests would stop all alone
    gpukit.set_num_threads(2)
    with pytest.raises(ValueError) as raised:
        meet(threading.get_ident(), failing == "caller", 0, words.ctypes.data + 8 * np.arange(3), visits)
    assert words.tolist() == [1, 1, 1] and raised.value.args[0] == "the first" and raised.value.args[1] > 0
    assert visits[0] == 1 and 2 <= visits.sum() < 10 and is_at_rest()


@pytest.mark.parametrize("failing", ["caller", "helper"])
def test_the_first_of_two_exceptions_is_raised(eager, failing):
    words, visits = np.zeros(3, np.int64), np.zeros(1000, np.int64)
    word(workers.PATIENCE).value = 10**11
    gpukit.set_num_threads(2)
    next_row = workers.pool.ready() + workers.NEXT
    with pytest.raises(ValueError, match="the first"):
        meet(threading.get_ident(), failing == "caller", next_row, words.ctypes.data + 8 * np.arange(3), visits)
    assert visits.sum() == 1 and is_at_rest()


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="the system does not show the signals of threads")
def test_workers_leave_signals_to_the_main_thread(eager):
    uneven_sums(lengths_of(300), np.zeros(300), np.zeros(300, np.int64))
    assert workers.pool.threads
    for thread in workers.pool.threads:
        lines = Path(f"/proc/self/task/{thread.native_id}/status").read_text().splitlines()
        mask = int(next(line for line in lines if line.startswith("SigBlk")).split()[1], 16)
        assert all(mask >> number - 1 & 1 for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))


def test_a_thread_of_several_works_alone(eager):
    def call():
        sums, visits = np.zeros(50), np.zeros(50, np.int64)
        uneven_sums(lengths_of(50), sums, visits)
        return asked(), visits.tolist() == [1] * 50

    with _pool.ThreadPoolExecutor(1, _pool.NAME) as pool:
        assert pool.submit(call).result() == (0, True)
    assert call() == (3, True)


def test_a_function_is_compiled_once_and_by_the_caller(eager, monkeypatch):
    noted, address = [], Function.address

    def noted_address(self, types):
        noted.append((self.py_func.__name__, threading.current_thread()))
        return address(self, types)

    monkeypatch.setattr(Function, "address", noted_address)

    @by_block(lambda out: out.size)
    def fill(start, stop, out):
        for row in range(start, stop):
            out[row] = row + _harmonic(1000)

    out = np.zeros(1000)
    fill(out)
    fill(out[:500])
    assert noted == [("fill", threading.main_thread())] and len(fill.loop.signatures) == 1


def test_several_threads_call_at_once(eager):
    lengths, wrong, want = lengths_of(300), [], sums_of(300)

    def calls():
        for _ in range(100):
            sums, visits = np.zeros(300), np.zeros(300, np.int64)
            uneven_sums(lengths, sums, visits)
            if sums.tobytes() != want or visits.tolist() != [1] * 300:
                wrong.append(visits)

    threads = [threading.Thread(target=calls) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.slow
def test_helpers_let_arguments_go(eager):
    sums = np.zeros(300)
    uneven_sums(lengths_of(300), sums, np.zeros(300, np.int64))
    gone = weakref.ref(sums)
    del sums
    gc.collect()
    assert gone() is None


def test_without_new_threads_the_caller_works_alone(monkeypatch):
    def refused(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(workers, "pool", workers._Pool())
    monkeypatch.setattr(threading.Thread, "start", refused)
    monkeypatch.setattr(thread_count._setting, "count", 4)
    hurry()
    visits = np.zeros(300, np.int64)
    uneven_sums(lengths_of(300), np.zeros(300), visits)
    assert visits.tolist() == [1] * 300 and asked() == 3


@pytest.mark.parametrize(
    "state, is_in, after",
    [
        (0, False, 0),
        (2, False, 2),
        (workers.OPEN, True, workers.OPEN + 1),
        (workers.OPEN + 2, True, workers.OPEN + 3),
        (workers.OPEN + 3, False, workers.OPEN + 3),
    ],
)
def test_a_worker_joins_a_job_that_is_open_and_wants_more(state, is_in, after):
    words = np.zeros(workers.EVENTS // 8, np.int64)
    words[workers.STATE // 8], words[workers.HELPERS // 8] = state, 3
    assert workers.join(words.ctypes.data) == is_in and words[workers.STATE // 8] == after


def test_blas_has_one_thread_in_blocks_that_ask_for_it(monkeypatch):
    def blas():
        return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

    def recording(self, count, arguments):
        seen.append(blas())

    monkeypatch.setattr(BlockFunction, "_run", recording)
    before = blas()
    for guarded in (True, False):
        seen = []
        function = by_block(lambda out: out.size, blas=guarded)(invert.__wrapped__)
        function(np.zeros(3), np.zeros(3))
        assert seen == [[1] * len(before) if guarded else before] and blas() == before


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "2", True, 1 << 15])
def test_a_wrong_number_of_threads_is_refused(wrong):
    with pytest.raises(ParameterError, match="number of threads is .* 1 to 16,384"):
        gpukit.set_num_threads(wrong)


def test_the_number_of_threads_is_set_for_all_and_limited_for_one(monkeypatch):
    monkeypatch.setattr(thread_count._setting, "count", None)
    gpukit.set_num_threads(np.int64(5))
    assert gpukit.get_num_threads() == 5
    elsewhere = []
    with thread_count.limit_threads(3), thread_count.limit_threads(None), thread_count.limit_threads(4):
        assert gpukit.get_num_threads() == 3
        thread = threading.Thread(target=lambda: elsewhere.append(gpukit.get_num_threads()))
        thread.start()
        thread.join()
    assert elsewhere == [5] and gpukit.get_num_threads() == 5
    monkeypatch.setattr(thread_count, "_initial_count", lambda: 7)
    gpukit.set_num_threads(None)
    assert gpukit.get_num_threads() == 7


@pytest.mark.parametrize(
    "environment, count",
    [
        ({}, 6),
        ({"NUMBA_NUM_THREADS": "3"}, 3),
        ({"NUMBA_NUM_THREADS": "3", "GPUKIT_NUM_THREADS": "9"}, 9),
    ],
)
def test_the_environment_comes_before_the_cores(monkeypatch, environment, count):
    monkeypatch.setattr(thread_count, "cores", lambda: 6)
    assert thread_count._initial_count(environment) == count
    for name in environment:
        with pytest.raises(ParameterError, match=f"^{name}='0'"):
            thread_count._initial_count({**environment, name: "0"})


BEGIN = "import scheduler.test_scheduler; globals().update(vars(scheduler.test_scheduler))"


def run(code, before="", **environment):
    """Return the standard output of a script with the functions of this file, which must end by itself.

    before: a line that runs before gpukit is imported.
    """
    done = subprocess.run(
        [sys.executable, "-c", f"{before}\n{BEGIN}\n{inspect.cleandoc(code)}"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


LONG = """
    from gpukit import interrupt
    interrupt.heed() if HEED else None
    if EAGER:
        hurry()
    lengths, sums, visits = np.full(1 << 20, 1 << 16), np.zeros(1 << 20), np.zeros(1 << 20, np.int64)
    uneven_sums(lengths[:1], sums[:1], visits[:1])
    def kill():
        while not visits[10]:
            pass
        os.kill(os.getpid(), NUMBER)
    threading.Thread(target=kill).start()
    try:
        uneven_sums(lengths, sums, visits)
    except KeyboardInterrupt as request:
        before = visits.sum()
        threading.Event().wait(0.05)
        print(type(request).__name__, before < visits.size, is_at_rest() and visits.sum() == before)
    interrupt.ignore_requests()
"""


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("heed, number, name", [(0, 2, "KeyboardInterrupt"), (1, 15, "Interrupted")])
def test_a_signal_ends_a_long_loop(threads, heed, number, name):
    code = LONG.replace("HEED", str(heed)).replace("NUMBER", str(number)).replace("EAGER", str(int(threads > 1)))
    assert run(code, GPUKIT_NUM_THREADS=str(threads)) == f"{name} True True"


@pytest.mark.slow
def test_forked_children_compute():
    """While other threads of the parent run loops and compile; a child has no workers, and starts its own."""
    code = """
        hurry()
        lengths, kinds = lengths_of(300), [np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32]
        want = sums_of(300)
        def check(kind):
            sums, visits = np.zeros(300), np.zeros(300, kind)
            uneven_sums(lengths, sums, visits)
            return sums.tobytes() == want and visits.tolist() == [1] * 300
        def busy():
            for kind in kinds * 20:
                results.append(check(kind))
        def child():
            forgotten = not workers.pool.threads and is_at_rest()
            hurry()
            return forgotten and check(np.float32) and check(np.int64) and len(workers.pool.threads) == 2
        results = [check(np.int64)]
        threads = [threading.Thread(target=busy) for _ in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(10):
            process = os.fork()
            if not process:
                signal.alarm(100)
                os._exit(0 if child() else 1)
            results.append(os.waitpid(process, 0)[1] == 0)
        for thread in threads:
            thread.join()
        print(len(results), all(results))
    """
    assert run(code, GPUKIT_NUM_THREADS="3", PYTHONWARNINGS="ignore") == f"{1 + 2 * 120 + 10} True"


@pytest.mark.slow
@pytest.mark.parametrize("caller", ["main", "daemon", "atexit"])
def test_the_process_ends(caller):
    """After loops, during a loop of another thread, and with loops at the end."""
    code = """
        import atexit
        hurry()
        visits = np.zeros(1 << 20, np.int64)
        def long():
            uneven_sums(np.full(1 << 20, 1 << 16), np.zeros(1 << 20), visits)
        def short(last):
            own = np.zeros(300, np.int64)
            uneven_sums(lengths_of(300), np.zeros(300), own)
            print(own.tolist() == [1] * 300, end=last)
        if "CALLER" == "daemon":
            threading.Thread(target=long, daemon=True).start()
            while not visits[10]:
                pass
        if "CALLER" == "atexit":
            atexit.register(short, "\\n")
            workers.atexit.unregister(workers.pool.end)
            workers.atexit.register(workers.pool.end)
        short(" ")
    """
    shown = run(code.replace("CALLER", caller), GPUKIT_NUM_THREADS="3")
    assert shown == ("True True" if caller == "atexit" else "True")


@pytest.mark.slow
def test_the_end_of_the_process_reaches_the_pool():
    """Callbacks of atexit run in reverse, so the first one of all sees what the pool's has done."""
    before = "import atexit; atexit.register(lambda: print(word(workers.ENDS).value))"
    assert run("uneven_sums(lengths_of(3), np.zeros(3), np.zeros(3, np.int64))", before) == "1"


@pytest.mark.slow
def test_without_the_compiler_a_loop_is_one_block():
    code = """
        sums, visits = np.zeros(20), np.zeros(20, np.int64)
        uneven_sums(lengths_of(20), sums, visits)
        same = sums.tolist() == [_harmonic(n) for n in lengths_of(20)]
        print(visits.tolist() == [1] * 20, same, workers.pool.threads)
    """
    assert run(code, NUMBA_DISABLE_JIT="1") == "True True []"


@pytest.mark.slow
def test_a_worker_may_be_the_first_to_call_a_function_of_blas():
    """Python looks it up: a caller that kept the interpreter would wait for the worker forever."""
    code = """
        gpukit.set_num_threads(2)
        workers.pool.ready()
        workers.pool.start(1)
        products.pace[0] = 100_000
        out = np.zeros(8)
        products(np.ones((2, 2)), threading.get_ident(), np.zeros(1, np.int64), out)
        print(out.tolist() == [2] * 8)
    """
    assert run(code) == "True"
