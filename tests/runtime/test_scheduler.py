"""Loops over rows that threads share: results, exceptions, requests to stop, forks, the end of a process."""

import gc
import inspect
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import gpukit
from gpukit import _pool, _scheduler
from gpukit._jit import Function, njit
from gpukit._scheduler import STOPPED, by_block
from gpukit.errors import ParameterError
from gpukit.runtime import thread_count, workers
from gpukit.runtime.intrinsics import fetch_add

PATIENT = 60  # seconds until a test that waits for another thread fails


@njit
def _harmonic(terms):
    total = 0.0
    for t in range(terms):
        total += 1.0 / (t + 1)
    return total


@by_block(lambda sums: sums.size)
def uneven_sums(start, stop, lengths, sums, visits):
    """Sums of different lengths; each row notes how often it was processed."""
    for row in range(start, stop):
        sums[row] = _harmonic(lengths[row])
        visits[row] += 1


@by_block(lambda visits: visits.size)
def fail_at(start, stop, bad, visits):
    """Raise ValueError at row `bad`, and take some microseconds elsewhere."""
    for row in range(start, stop):
        if row == bad:
            raise ValueError("a bad row")
        visits[row] += 1 + 0 * int(_harmonic(3000))


@by_block(lambda ended: ended.size)
def meet(start, stop, begun, ended):
    """The first to begin row 1 or a later one fails when another has begun; that one needs long, and then notes it."""
    for row in range(start, stop):
        if row > 0:
            number = fetch_add(begun, 1)
            if number == 0:
                while fetch_add(begun, 0) < 2:
                    pass
                raise ValueError("the first")
            if number == 1:
                ended[row] = int(_harmonic(100_000_000) > 0)


@by_block(lambda limit, out: min(limit, out.size), fastmath=False)
def count_up(start, stop, limit, out, state, chunk):
    """Arguments called as the loop's own might be."""
    for k in range(stop - start):
        out[start + k] = state + chunk + start + k
    return


@by_block(lambda out: out.size)
def invert(start, stop, rows, out):
    """Return early; rows in descending order."""
    if rows.size == 0:
        return
    for row in range(start, stop):
        out[row] = rows[rows.size - 1 - row]


@pytest.fixture
def eager(monkeypatch):
    """Wake helpers after the first chunk, whatever the work; four threads."""
    monkeypatch.setattr(_scheduler, "SLICE", 1)
    monkeypatch.setattr(_scheduler, "WORTH", 1)
    monkeypatch.setattr(thread_count._setting, "count", 4)
    yield
    assert all_come_back(), "a worker did not come back"


def all_come_back():
    """Return True once all workers are idle: those whose task was taken back are on their way."""
    late = time.monotonic() + PATIENT
    while set(workers._idle) != set(workers._all) and time.monotonic() < late:
        time.sleep(0.001)
    return len(workers._idle) == len(workers._all)


@pytest.fixture
def helped(monkeypatch):
    """The numbers of helpers that loops asked for."""
    asked, hand_out = [], workers._hand_out

    def noted(part, count, tasks):
        asked.append(count)
        hand_out(part, count, tasks)

    monkeypatch.setattr(workers, "_hand_out", noted)
    return asked


def loop_of(worker, rows=100):
    """A loop whose first row is done, with a Python function for its compiled worker."""
    return _scheduler._Loop(worker, np.array((1, rows)), ())


def lengths_of(rows):
    return (np.arange(rows) * 7919 % 3001).astype(np.int64)


def sums_of(rows):
    """The bytes of uneven_sums."""
    sums = np.zeros(rows)
    with thread_count.limited(1):
        uneven_sums(lengths_of(rows), sums, np.zeros(rows, np.int64))
    return sums.tobytes()


@pytest.mark.parametrize("rows", [0, 1, 2, 31, 1000])
def test_results_are_the_same_for_any_number_of_threads(eager, helped, rows):
    lengths = lengths_of(rows)
    results = set()
    for threads in (1, 2, 5):
        gpukit.set_num_threads(threads)
        sums, visits = np.zeros(rows), np.zeros(rows, np.int64)
        uneven_sums(lengths, sums, visits)
        results.add(sums.tobytes())
        assert visits.tolist() == [1] * rows
    np.testing.assert_allclose(sums, [np.sum(1 / np.arange(1, length + 1)) for length in lengths], rtol=1e-12)
    assert len(results) == 1
    assert helped == ([1, 4] if rows > 2 else helped)


def test_arguments_may_be_called_anything_and_options_are_njits():
    out = np.zeros(10, np.int64)
    count_up(7, out, 100, 1000)
    assert out.tolist() == [*range(1100, 1107), 0, 0, 0]
    assert count_up.worker.targetoptions["fastmath"] is False and count_up.worker.targetoptions["nogil"]
    invert(np.arange(10), out)
    assert out.tolist() == [*range(9, -1, -1)]
    assert list(inspect.signature(count_up).parameters) == ["limit", "out", "state", "chunk"]
    with pytest.raises(ValueError, match="nothing"):
        by_block(lambda nothing: 1)(lambda start, stop, out: None)


def test_a_small_loop_wakes_nobody(monkeypatch, helped):
    monkeypatch.setattr(_scheduler, "SLICE", 1 << 40)
    uneven_sums(lengths_of(1000), np.zeros(1000), np.zeros(1000, np.int64))
    assert helped == []


@pytest.mark.parametrize(
    "threads, rows, elapsed, helpers",
    [(4, 6, 50_000, 0), (4, 7, 50_000, 1), (4, 13, 50_000, 2), (4, 1000, 50_000, 3), (1, 1000, 50_000, 0)],
)
def test_helpers_are_woken_for_what_is_worth_it(monkeypatch, threads, rows, elapsed, helpers):
    """One row took `elapsed`: another thread for each 0.3 ms of the rest."""
    monkeypatch.setattr(thread_count._setting, "count", threads)
    assert loop_of(None)._plan(rows - 1, elapsed)[1] == helpers


def test_work_that_turns_out_longer_is_shared_later(eager, helped, monkeypatch):
    """First rows that cost nothing promise little; the calling thread asks again when its time is up."""
    monkeypatch.setattr(_scheduler, "WORTH", 1_000_000)

    def worker(state, chunk, growth, limit):
        if state[0] == 1:
            state[0] = 2
            return 10_000_000
        state[0] = STOPPED
        return 0

    loop_of(worker).finish(10)
    assert helped == [3]


def test_a_chunk_is_a_share_of_the_rows_and_of_time(monkeypatch):
    monkeypatch.setattr(thread_count._setting, "count", 2)
    assert loop_of(None)._plan(1600, 1)[0] == 100 and loop_of(None)._plan(1 << 30, 50)[0] == 1000
    assert loop_of(None)._plan(100, 10**9)[0] == 1


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


def test_an_exception_waits_for_running_blocks(eager):
    begun, ended = np.zeros(1, np.int64), np.zeros(1000, np.int64)
    with pytest.raises(ValueError, match="the first"):
        meet(begun, ended)
    assert begun[0] >= 2 and ended.sum() == 1


@pytest.mark.parametrize("failing", ["caller", "helper"])
def test_who_fails_stops_the_others_and_the_call_waits_for_them(eager, failing):
    main, failed, stopped, ended = threading.main_thread(), threading.Event(), [], []

    def worker(state, chunk, growth, limit):
        is_caller = threading.current_thread() is main
        if is_caller == (failing == "caller"):
            assert both.wait(PATIENT)
            failed.set()
            raise ZeroDivisionError
        both.set()
        assert failed.wait(PATIENT)
        while state[0] < STOPPED:
            pass
        stopped.append(True)
        threading.Event().wait(0.05)
        ended.append(True)
        return 0

    both = threading.Event()
    gpukit.set_num_threads(2)
    with pytest.raises(ZeroDivisionError):
        loop_of(worker).finish(50_000)
    assert stopped and ended


@pytest.mark.parametrize("moment", ["at work", "waiting"])
def test_a_request_to_stop_waits_for_running_blocks(eager, moment):
    """KeyboardInterrupt while the caller works, and while it waits for a helper."""
    main, helps, ended = threading.main_thread(), threading.Event(), []

    def worker(state, chunk, growth, limit):
        if threading.current_thread() is not main:
            helps.set()
            while moment == "at work" and state[0] < STOPPED:
                pass
            if moment == "waiting":
                while sys._current_frames()[main.ident].f_code is not workers.Task.wait.__code__:
                    pass
                os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(0.1)
            ended.append(True)
            return 0
        assert helps.wait(PATIENT)
        if moment == "at work":
            signal.raise_signal(signal.SIGINT)
        return 0

    gpukit.set_num_threads(2)
    with pytest.raises(KeyboardInterrupt):
        loop_of(worker).finish(50_000)
    assert ended == [True]


def test_workers_leave_signals_to_the_main_thread(eager):
    found = []

    def worker(state, chunk, growth, limit):
        if threading.current_thread() is threading.main_thread():
            while not found:
                pass
        else:
            found.append(signal.pthread_sigmask(signal.SIG_BLOCK, []))
        return 0

    loop_of(worker).finish(50_000)
    assert {signal.SIGINT, signal.SIGTERM, signal.SIGHUP} <= found[0]


def test_nested_calls_run_inline(eager, helped):
    """Within a block, in the calling thread and in a helper; and in a thread of gpukit._pool."""
    main, nested, both = threading.main_thread(), [], threading.Barrier(2, timeout=PATIENT)

    def call():
        sums, visits = np.zeros(50), np.zeros(50, np.int64)
        uneven_sums(lengths_of(50), sums, visits)
        nested.append((threading.current_thread() is main, visits.tolist() == [1] * 50))

    def worker(state, chunk, growth, limit):
        both.wait()
        call()
        return 0

    gpukit.set_num_threads(2)
    loop_of(worker).finish(50_000)
    assert sorted(nested) == [(False, True), (True, True)] and helped == [1]
    with _pool.ThreadPoolExecutor(1, _pool.NAME) as pool:
        pool.submit(call).result()
    assert helped == [1]
    call()
    assert helped == [1, 1]


def test_a_function_is_compiled_once_and_by_the_caller(eager, monkeypatch):
    compiled, compile_for = [], Function._compile_for_args

    def noted(self, *arguments, **named):
        compiled.append((self.py_func.__name__, threading.current_thread()))
        return compile_for(self, *arguments, **named)

    monkeypatch.setattr(Function, "_compile_for_args", noted)

    @by_block(lambda out: out.size)
    def fill(start, stop, out):
        for row in range(start, stop):
            out[row] = row + _harmonic(1000)

    out = np.zeros(1000)
    fill(out)
    assert compiled == [("fill", threading.main_thread())] and len(fill.worker.signatures) == 1


def test_several_threads_call_at_once(eager, monkeypatch):
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


def test_helpers_let_arguments_go(eager):
    sums = np.zeros(300)
    uneven_sums(lengths_of(300), sums, np.zeros(300, np.int64))
    gone = weakref.ref(sums)
    del sums
    gc.collect()
    assert gone() is None


def test_without_new_threads_the_caller_works_alone(eager, monkeypatch):
    def refused(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(workers, "_idle", [])
    monkeypatch.setattr(workers, "_all", [])
    monkeypatch.setattr(threading.Thread, "start", refused)
    visits = np.zeros(300, np.int64)
    uneven_sums(lengths_of(300), np.zeros(300), visits)
    assert visits.tolist() == [1] * 300 and workers._all == []


def test_a_task_that_has_not_begun_is_taken_back():
    task = workers.Task(None)
    task.wait()
    assert not task.claim()


def test_blas_has_one_thread_in_blocks_that_ask_for_it():
    def blas():
        return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

    def recording(*arguments):
        seen.append(blas())
        return 0

    before = blas()
    for guarded in (True, False):
        seen = []
        function = by_block(lambda out: out.size, blas=guarded)(invert.__wrapped__)
        function.worker = recording
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
    with thread_count.limited(3), thread_count.limited(None), thread_count.limited(4):
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


BEGIN = "import runtime.test_scheduler; globals().update(vars(runtime.test_scheduler))"


def run(code, **environment):
    """Standard output of a script with the functions of this file, which must end by itself."""
    done = subprocess.run(
        [sys.executable, "-c", f"{BEGIN}\n{inspect.cleandoc(code)}"],
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
        _scheduler.SLICE = _scheduler.WORTH = 1
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
        print(type(request).__name__, visits.sum() < visits.size, all_come_back())
    interrupt.over()
"""


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("heed, number, name", [(0, 2, "KeyboardInterrupt"), (1, 15, "Interrupted")])
def test_a_signal_ends_a_long_loop(threads, heed, number, name):
    code = LONG.replace("HEED", str(heed)).replace("NUMBER", str(number)).replace("EAGER", str(int(threads > 1)))
    assert run(code, GPUKIT_NUM_THREADS=str(threads)) == f"{name} True True"


def test_forked_children_compute():
    """While other threads of the parent are in loops and compile; a child has no workers, and starts its own."""
    code = """
        _scheduler.SLICE = _scheduler.WORTH = 1
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
            forgotten = not workers._all and not workers._idle
            return forgotten and check(np.float32) and check(np.int64) and len(workers._all) == 2
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


@pytest.mark.parametrize("caller", ["main", "daemon", "atexit"])
def test_the_process_ends(caller):
    """After loops; while another thread is in one; and loops as it ends."""
    code = """
        import atexit
        _scheduler.SLICE = _scheduler.WORTH = 1
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
            workers.atexit.unregister(workers._end)
            atexit.register(short, "\\n")
            workers.atexit.register(workers._end)
        short(" ")
    """
    shown = run(code.replace("CALLER", caller), GPUKIT_NUM_THREADS="3")
    assert shown == ("True True" if caller == "atexit" else "True")


def test_threads_that_wait_end_with_the_process():
    code = """
        import atexit
        workers.atexit.unregister(workers._end)
        atexit.register(lambda: print([worker.is_alive() for worker in workers._all]))
        workers.atexit.register(workers._end)
        _scheduler.SLICE = _scheduler.WORTH = 1
        uneven_sums(lengths_of(300), np.zeros(300), np.zeros(300, np.int64))
        all_come_back()
    """
    assert run(code, GPUKIT_NUM_THREADS="3") == "[False, False]"


def test_without_the_compiler_a_loop_is_one_block():
    code = """
        sums, visits = np.zeros(20), np.zeros(20, np.int64)
        uneven_sums(lengths_of(20), sums, visits)
        print(visits.tolist() == [1] * 20, sums.tolist() == [_harmonic(n) for n in lengths_of(20)], workers._all)
    """
    assert run(code, NUMBA_DISABLE_JIT="1") == "True True []"
