"""The benchmark of iALS on a handful of clicks: what it times is what it says."""

import pytest

from bench.clicks.test_table10 import planted
from gpukit.bench.clicks import epochs as bench
from gpukit.bench.conditions import Conditions
from gpukit.device import cpu
from gpukit.errors import DataError
from gpukit.factorization.solvers.ials import plan


@pytest.mark.nightly
def test_epochs(monkeypatch):
    """One row a way, of training that has learned."""
    monkeypatch.setattr(bench, "FACTORS", (4,))
    rows = list(bench.epochs(Conditions(cpu(), (bench.LARGE,), 0.0005)))
    assert [row.what for row in rows] == [f"one epoch iALS F=4 by {way}" for way in plan.WAYS]
    assert ["the fastest way" in row.note for row in rows].count(True) == 1
    assert all(min(row.samples) > 0 and row.data == "generated" for row in rows)


def test_what_they_come_to():
    """On real clicks, judged among the negatives; ways that can be had."""
    ncf = planted()
    samples, told = bench.measure(ncf.clicks, 8, "blocks", cpu(), ncf)
    assert len(samples) == bench.SAMPLES[False] and "after 12 epochs" in told
    assert float(told.split()[3]) > 0.8
    assert bench.ways_for(256) == list(plan.WAYS) and bench.ways_for(512) == ["gradients", "blocks"]


def test_what_has_not_learned_is_refused():
    conditions = Conditions(cpu(), (), 0.0005)
    run = bench.begun(bench.clicks_of(bench.LARGE, conditions)[0], 4, "cholesky", cpu())
    with pytest.raises(DataError, match="clicks score -?0.0"):
        bench.check_learned(run)


def test_without_real_data():
    with pytest.raises(DataError, match="set GPUKIT_DATA"):
        bench.clicks_of(bench.REAL, Conditions(cpu()))
