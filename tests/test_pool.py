"""Concurrent calls: ordered results, the requested threads, BLAS limited for the duration of a request."""

import os
import signal
import threading
import time

import numpy as np  # noqa: F401  (its BLAS is limited)
import pytest
from threadpoolctl import threadpool_info

from gpukit import _pool, timing


def blas():
    """Return the threads of each loaded BLAS."""
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]


def test_beside_has_one_thread_for_what_is_aside():
    here, begun, heard, gate = threading.current_thread(), [], [], threading.Event()

    def call(at):
        if at == 1:
            assert gate.wait(60)  # until the others are done: they do not wait for it
        return at, threading.current_thread()

    def on_result(result):
        heard.append(result[0])
        if heard == [0, 2]:
            gate.set()
        assert threading.current_thread() is here

    found = _pool.run_on_threads(
        [lambda at=at: call(at) for at in range(4)], [[1, 3]], lambda: begun.append(1), on_result
    )
    assert [at for at, _ in found] == [0, 1, 2, 3] and heard == [0, 2, 1, 3] and begun == [1]
    assert found[0][1] is found[2][1] is here and found[1][1] is found[3][1] is not here


def test_lists_aside_have_a_thread_each():
    both = threading.Barrier(2)  # broken unless two wait for each other

    def call(at):
        if at in (0, 2):
            both.wait(60)
        return at, threading.current_thread()

    heard = []
    calls = [lambda at=at: call(at) for at in range(4)]
    found = _pool.run_on_threads(calls, [[2, 1], [0]], lambda: None, lambda result: heard.append(result[0]))
    assert [at for at, _ in found] == [0, 1, 2, 3] and heard == [3, 2, 1, 0]
    assert found[1][1] is found[2][1] and len({thread for _, thread in found}) == 3


def test_beside_raises_what_is_raised_aside():
    with pytest.raises(ZeroDivisionError):
        _pool.run_on_threads([lambda: 1, lambda: 1 // 0], [[1]], lambda: None, lambda result: None)


@pytest.mark.parametrize("threads", [1, 4])
def test_in_order_consumes_in_order_and_stays_a_few_tasks_ahead(threads):
    begun, consumed, here = [], [], threading.current_thread()

    def tasks():
        for at in range(100):
            assert threading.current_thread() is here and len(begun) - len(consumed) <= 2 * threads
            begun.append(at)
            yield at

    def consume(result):
        assert threading.current_thread() is here
        consumed.append(result)

    _pool.in_order(lambda at: at * at, tasks(), consume, threads)
    assert consumed == [at * at for at in range(100)]


def test_in_order_runs_side_by_side():
    both = threading.Barrier(2)  # broken unless two wait for each other
    _pool.in_order(lambda at: both.wait(60), range(4), lambda result: None, 2)


@pytest.mark.parametrize("where", ["function", "consume", "tasks"])
@pytest.mark.parametrize("threads", [1, 4])
def test_in_order_ends_at_the_first_error(where, threads):
    begun = []

    def fail(at, place):
        if (place, at) == (where, 5):
            raise KeyboardInterrupt
        return at

    def tasks():
        for at in range(100):
            begun.append(at)
            yield fail(at, "tasks")

    with pytest.raises(KeyboardInterrupt):
        _pool.in_order(lambda at: fail(at, "function"), tasks(), lambda at: fail(at, "consume"), threads)
    assert len(begun) < 20


def test_the_next_is_made_meanwhile():
    begun = [threading.Event() for _ in range(4)]

    def items():
        for at, event in enumerate(begun):
            event.set()
            yield at
        raise ZeroDivisionError

    found = _pool.read_ahead(items())
    assert next(found) == 0 and begun[1].wait(60) and not begun[2].is_set()
    assert [next(found), next(found), next(found)] == [1, 2, 3]
    with pytest.raises(ZeroDivisionError):
        next(found)


def test_compiling_ahead_counts_for_who_takes_the_items():
    def items():
        for item in range(2):
            with timing.compiling():
                time.sleep(0.02)
            yield item

    before = timing.compile_seconds()
    assert list(_pool.read_ahead(items())) == [0, 1] and timing.compile_seconds() - before >= 0.04


def test_what_is_made_ahead_ends_before_it_is_closed():
    made, gate = [], threading.Event()

    def items():
        yield 0
        gate.wait(0.2)
        made.append(1)
        yield 1

    found = _pool.read_ahead(items())
    next(found)
    found.close()
    assert made == [1]


def test_a_pool_that_is_interrupted_ends(monkeypatch):
    """A thread that was being started may be unknown to the pool, which would wait for it at exit."""
    monkeypatch.setattr(_pool, "cores", lambda: 2)
    pool = _pool._threads(2)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(pool, "_adjust_thread_count", lambda: signal.raise_signal(signal.SIGINT))
        _pool.parallel_map(abs, range(3))
    assert _pool._threads(2) is not pool
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.submit(abs, 1)
    assert _pool.parallel_map(abs, range(-3, 0)) == [3, 2, 1]


def test_the_last_one_takes_the_limit_back():
    """Two overlapping requests, the first to start is the first to end; otherwise one thread would keep the limit."""
    before = blas()
    one, other = _pool.single_threaded_blas(), _pool.single_threaded_blas()
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert set(blas()) == {1}
    other.__exit__(None, None, None)
    assert blas() == before


def test_calls_share_threads(monkeypatch):
    monkeypatch.setattr(_pool, "cores", lambda: 3)
    gate = threading.Barrier(3, timeout=60)

    def who(at):
        gate.wait()
        return threading.current_thread()

    first, again = (_pool.parallel_map(who, range(3)) for _ in range(2))
    assert set(first) == set(again) and len(set(first)) == 3


def test_a_forked_child_has_threads_of_its_own(monkeypatch):
    monkeypatch.setattr(_pool, "cores", lambda: 2)
    _pool.parallel_map(abs, range(2))
    child = os.fork()
    if not child:
        signal.alarm(60)
        os._exit(_pool.parallel_map(abs, range(-3, 0)) != [3, 2, 1])
    assert os.waitpid(child, 0)[1] == 0


def test_shared_out_ends_at_the_first_error(monkeypatch):
    """What has started ends before the error is raised; the rest does not start."""
    monkeypatch.setattr(_pool, "cores", lambda: 2)
    begun, ended, failing = [], [], threading.Event()

    def task(at):
        begun.append(at)
        if at == 0:
            failing.set()
            raise ZeroDivisionError
        assert failing.wait(60)
        threading.Event().wait(0.05)  # until the caller has seen the error
        ended.append(at)

    with pytest.raises(ZeroDivisionError):
        _pool.parallel_map(task, range(200))
    assert sorted(begun) == [0, *sorted(ended)] and len(begun) < 200
