"""The benchmark of iALS on a handful of clicks: what it times is what it says."""

import pytest

from gpukit.bench.clicks import squares as bench
from gpukit.bench.conditions import Conditions
from gpukit.device import cpu
from gpukit.errors import DataError


def test_epochs(monkeypatch):
    """One row a way, of training that has learned."""
    monkeypatch.setattr(bench, "FACTORS", {bench.LARGE: (4,)})
    rows = list(bench.epochs(Conditions(cpu(), (bench.LARGE,), 0.0005)))
    assert [row.what for row in rows] == [f"one epoch iALS F=4 by {way}" for way in ("cholesky", "gradients")]
    assert all(min(row.samples) > 0 and row.data == "generated" for row in rows)


def test_what_has_not_learned_is_refused():
    conditions = Conditions(cpu(), (), 0.0005)
    run = bench.begun(bench.clicks_of(bench.LARGE, conditions)[0], 4, "cholesky", cpu())
    with pytest.raises(DataError, match="clicks score -?0.0"):
        bench.check_learned(run)


def test_without_real_data():
    with pytest.raises(DataError, match="set GPUKIT_DATA"):
        bench.clicks_of(bench.REAL, Conditions(cpu()))
