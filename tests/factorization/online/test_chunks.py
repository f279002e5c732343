"""Chunks of rows, few of them learning: those that the host cuts."""

from types import SimpleNamespace

import numpy as np
import pytest

from gpukit.device.engine import common_steps
from gpukit.factorization import cpu as steps
from gpukit.factorization.online import run as learning
from gpukit.factorization.solvers import rates
from gpukit.factorization.solvers.sgd import schedule
from gpukit.factorization.solvers.sgd.schedule import cut_table


@pytest.mark.parametrize("kind", ["adaptive", "paper"])
@pytest.mark.parametrize("rows, share", [(1, 1.0), (300, 0.1), (5000, 0.02), (900, 0.0)])
def test_they_are_the_hosts(kind, rows, share):
    rng = np.random.default_rng(rows)
    flags = (rng.random(rows) < share).astype(np.uint8)
    counts = np.where(flags, rng.integers(50, 4000, rows), rng.poisson(0.4, rows))
    counts[-1] = max(counts[-1], 1)
    starts, n, most = np.append(0, np.cumsum(np.append(counts, 0))), int(counts.sum()), 4096
    settings = SimpleNamespace(rates=kind, learning_rate=0.15, seed=3)
    usual = SimpleNamespace(**{**vars(steps), "most_workers": lambda layout: most})
    task = SimpleNamespace(
        data=SimpleNamespace(side=SimpleNamespace(starts=starts)),
        settings=settings,
        orders=range(n),
        steps=usual,
        layout=SimpleNamespace(slots=0),
    )
    (table,), workers = learning.cut_chunks(task, flags, common_steps("cpu", "gpukit.factorization.online"))
    rate = rates.row_rates(kind, 0.15, counts) * flags
    assert workers == schedule.still_workers(n, counts * rate, (schedule.worker_count(n, most), most))
    pace = schedule.Pace(workers, rate, 1, schedule.longest_still(n, workers))
    np.testing.assert_array_equal(table, cut_table(counts, starts, pace, 3, steps))
