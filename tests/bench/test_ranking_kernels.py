"""The benchmarks of learning to rank by kernels, on a few documents, without a clock."""

import numpy as np
import pytest

pytestmark = pytest.mark.kernel

from gpukit import device as devices
from gpukit.bench import ranking
from gpukit.documents.table import Documents
from gpukit.errors import DataError
from gpukit.ranking import gpu

GPU = devices.Device("cuda", 0, "a GPU", (9, 0))


@pytest.fixture
def documents(monkeypatch):
    monkeypatch.setattr(devices.memory, "_free_on_gpu", lambda: 1 << 30)
    monkeypatch.setattr(gpu, "walk_blocks", lambda: 2)
    monkeypatch.setattr("gpukit.bench.sorting.holder", lambda: None)
    monkeypatch.setattr(ranking, "queued_milliseconds", lambda step, repeat, hold: [step() or 1.0] * repeat)
    random, offsets = np.random.default_rng(0), np.array([0, 9, 20, 33])
    X, y = random.normal(size=(33, 5)).astype(np.float32), random.integers(0, 3, 33).astype(np.float64)
    return Documents(X, y, offsets, np.arange(3))


@pytest.mark.nightly
def test_steps_are_timed_and_checked_on_a_gpu(documents):
    run = ranking.prepare_run(documents, GPU, solver="scan")
    result = ranking.minimize(run)
    ranking.check_solution(run.problem, result)
    v, right = np.arange(-2.0, 3.0), ranking.session_on_cpu(run.problem, result.w)
    run.session.move(result.w)
    with pytest.raises(DataError, match="product with the Hessian has"):
        next(ranking.product_rows(run, v, "few", ranking.session_on_cpu(run.problem, 2 * result.w)))
    rows = [ranking.scores_row(run, v, "few", right), *ranking.product_rows(run, v, "few", right)]
    assert [row.what for row in rows] == [
        "X v",
        "one product with the Hessian in float32",
        "one product with the Hessian in float64",
    ]
