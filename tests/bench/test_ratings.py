"""Benchmarks of factorization and neighbours on a few ratings."""

import numpy as np
import pytest
from factorization.inputs import planted

from gpukit.bench import Conditions
from gpukit.bench import ratings as bench
from gpukit.bench.measurement import Curve, record_epochs
from gpukit.device import cpu

TINY = 0.0003


def test_unused_ids_are_dropped():
    ratings = planted(30, 20, 0.5)
    chosen = ratings.take((ratings.users % 3 > 0) & (ratings.items != 4))
    result = bench.drop_unused_ids(chosen)
    for side in ("user", "item"):
        (rows, ids), (old_rows, old_ids) = (
            (getattr(table, f"{side}s"), getattr(table, f"{side}_ids")) for table in (result, chosen)
        )
        np.testing.assert_array_equal(ids[rows], old_ids[old_rows])
        assert np.unique(rows).tolist() == list(range(len(ids)))
    np.testing.assert_array_equal(result.values, chosen.values)


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:.* of the neighbour slots are random")
def test_epochs(monkeypatch):
    """Rows of both models."""
    small = {name: lambda factors, kind=kind, **options: kind(4, **options) for name, kind in bench.ESTIMATORS.items()}
    monkeypatch.setattr(bench, "ESTIMATORS", small)
    monkeypatch.setattr(bench, "check_finite", lambda session: None)  # factors hardly move on few ratings
    conditions = Conditions(cpu(), ("ml-10m",), TINY)
    rows = list(bench.epochs(conditions))
    assert sum("CULSH-MF" in row.what for row in rows) == sum("CUSGD++" in row.what for row in rows) == 2
    assert all(np.isfinite(row.samples).all() and min(row.samples) > 0 for row in rows)


def test_seconds_of_epochs_add_up():
    moments, errors = iter((0.0, 1.0, 5.0, 7.0, 9.0)), iter((0.9, 0.8))
    found, times = record_epochs(range(2), lambda: next(errors), lambda: next(moments))
    assert (found, times, list(moments)) == ([0.9, 0.8], [1.0, 3.0], [])
    curve = Curve(found, times, {"neighbours": 0.25, "prepare": 0.5})
    assert (curve.epoch_to(0.9), curve.epoch_to(0.85), curve.epoch_to(0.7)) == (0, 1, None)
    assert curve.text() == "1.750 s 0.9000; 3.750 s 0.8000"
