"""Work of benchmarks that is shared out to processes."""

import os

import pytest

from gpukit.bench.process import cores, shared_out


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_the_tasks(workers):
    assert list(shared_out(pow, [(2, 3), (3, 2), (5, 1)], workers)) == [8, 9, 5]


@pytest.mark.parametrize("workers", [1, 2])
def test_more_than_one_worker_is_other_processes(workers):
    (process,) = shared_out(eval, [("__import__('os').getpid()",)], workers)
    assert (process == os.getpid()) == (workers == 1)


def test_processes_share_the_processors(monkeypatch):
    monkeypatch.setenv("GPUKIT_NUM_THREADS", "7")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    names = ["GPUKIT_NUM_THREADS", "OPENBLAS_NUM_THREADS"]
    share = str(max(1, cores() // 2))
    assert list(shared_out(os.getenv, [(name,) for name in names], 2)) == [share, share]
    assert [os.getenv(name) for name in names] == ["7", None]
