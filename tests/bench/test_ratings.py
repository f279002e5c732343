"""Benchmarks of factorization and neighbours on a few ratings."""

import numpy as np
import pytest
from factorization.inputs import planted
from support import small_launches

from gpukit.bench import Conditions
from gpukit.bench import kernels as bench_kernels
from gpukit.bench import ratings as bench
from gpukit.bench.measurement import Curve, record_epochs
from gpukit.device import Device, cpu

TINY = 0.0003


def test_hashing():
    rows = list(bench.hashing(Conditions(cpu(), ("ml-10m",), TINY)))
    assert [row.what for row in rows] == [f"simLSH {search} p=3 q=100 K=32" for search in ("hamming", "buckets")]
    assert all(np.isfinite(row.samples).all() and min(row.samples) > 0 for row in rows)


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
def test_epochs_and_convergence(monkeypatch):
    """Rows of both models."""
    models = bench.make_estimators(4)
    monkeypatch.setattr(bench, "make_estimators", lambda factors: models)
    monkeypatch.setattr(bench, "check_finite", lambda session: None)  # factors hardly move on few ratings
    conditions = Conditions(cpu(), ("ml-10m",), TINY)
    epochs, times = list(bench.epochs(conditions)), list(bench.convergence(conditions))
    assert sum("CULSH-MF" in row.what for row in epochs) == sum("CUSGD++" in row.what for row in epochs) == 2
    notes = [row.note for row in times if "preparation" in row.what]
    assert len(notes) == 1 and "neighbours" in notes[0] and all(min(row.samples) > 0 for row in (*epochs, *times))


@pytest.mark.nightly
@pytest.mark.kernel
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_arguments_of_the_papers_kernel(monkeypatch):
    """Rows are sorted by falling length and have all ratings, centred and scaled."""
    small_launches(monkeypatch)
    launches = []
    record = {(2112, 128): lambda *arguments: launches.append(arguments)}
    monkeypatch.setattr(bench_kernels, "make_paper_epoch", lambda lanes, factors: record)
    train = bench.generate_split("ml-10m", TINY)[0].take(slice(300))
    once, Q = bench.paper_step(train, Device("cuda", 0, ""))
    once()
    once()
    (rows, indptr, minor, values), rates = (a.copy_to_host() for a in launches[0][:4]), [a[6] for a in launches]
    counts = np.bincount(train.users, minlength=train.shape[0])
    assert (np.diff(counts[rows]) <= 0).all() and indptr.tolist() == [0, *np.cumsum(counts)]
    z = (train.values - train.values.mean(dtype=np.float64)) / train.values.astype(np.float64).std()
    expected = sorted(zip(train.users.tolist(), train.items.tolist(), z.tolist()))
    result = sorted(zip(np.repeat(np.arange(len(counts)), counts).tolist(), minor.tolist(), values.tolist()))
    np.testing.assert_allclose(result, expected, atol=1e-5)
    assert Q.shape == (train.shape[1], 32) and rates[1] < rates[0]


def test_seconds_of_epochs_add_up():
    moments, errors = iter((0.0, 1.0, 5.0, 7.0, 9.0)), iter((0.9, 0.8))
    found, times = record_epochs(range(2), lambda: next(errors), lambda: next(moments))
    assert (found, times, list(moments)) == ([0.9, 0.8], [1.0, 3.0], [])
    curve = Curve(found, times, {"neighbours": 0.25, "prepare": 0.5})
    assert (curve.epoch_to(0.9), curve.epoch_to(0.85), curve.epoch_to(0.7)) == (0, 1, None)
    assert curve.text() == "1.750 s 0.9000; 3.750 s 0.8000"
