"""Tasks of benchmarks in processes."""

import multiprocessing
import os
import time

import pytest

from gpukit.bench.measurement import environment
from gpukit.bench.process import cores, map_in_processes


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_the_tasks(workers):
    assert list(map_in_processes(pow, [(2, 3), (3, 2), (5, 1)], workers)) == [8, 9, 5]


@pytest.mark.parametrize("workers", [1, 2])
def test_two_workers_are_other_processes(workers):
    (process,) = map_in_processes(eval, [("__import__('os').getpid()",)], workers)
    assert (process == os.getpid()) == (workers == 1)


def test_processes_share_the_cores(monkeypatch):
    monkeypatch.setenv("GPUKIT_NUM_THREADS", "7")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    names = ["GPUKIT_NUM_THREADS", "OPENBLAS_NUM_THREADS"]
    share = str(max(1, cores() // 2))
    assert list(map_in_processes(os.getenv, [(name,) for name in names], 2)) == [share, share]
    assert [os.getenv(name) for name in names] == ["7", None]


@pytest.mark.parametrize("before", [None, "2GiB"])
def test_the_environment_is_restored(before, monkeypatch):
    monkeypatch.delenv("GPUKIT_GPU_MEMORY", raising=False)
    if before:
        monkeypatch.setenv("GPUKIT_GPU_MEMORY", before)
    with pytest.raises(KeyError), environment(GPUKIT_GPU_MEMORY="1000"):
        assert os.environ["GPUKIT_GPU_MEMORY"] == "1000"
        raise KeyError
    with environment(GPUKIT_GPU_MEMORY=None):
        assert "GPUKIT_GPU_MEMORY" not in os.environ
    assert os.environ.get("GPUKIT_GPU_MEMORY") == before


def test_processes_end_with_an_interrupted_run():
    results, begun = map_in_processes(time.sleep, [(0,), (300,), (300,)], 2), time.monotonic()
    next(results)
    with pytest.raises(KeyboardInterrupt):
        results.throw(KeyboardInterrupt)
    assert time.monotonic() - begun < 60 and not multiprocessing.active_children()
