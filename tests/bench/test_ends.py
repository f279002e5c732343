"""The benchmark of ends, blocks and points: rivals, patterns and rows, on generated tables."""

import importlib.util

import numpy as np
import pandas
import pytest

from gpukit import device
from gpukit.bench import Conditions, recovery


def test_patterns():
    points, blocks, at_end = (recovery.hide_cells((100, 12), pattern, 0) for pattern in recovery.PATTERNS)
    assert 0.05 < points.mean() < 0.15 and not points[0].any()
    assert (
        blocks.any(axis=0).sum() == 6
        and blocks.sum(axis=0).max() <= 20
        and blocks.sum(axis=0)[blocks.any(0)].min() >= 10
    )
    assert at_end.any(axis=0).sum() == 4 and at_end[80:, at_end.any(axis=0)].all() and at_end.sum() == 80
    assert recovery.hide_cells((5, 2), "ends", 0).sum() == 1


def test_rivals_continue_and_keep_what_is_observed():
    time = np.arange(30.0)
    truth = np.column_stack([time, 2 * time + 5, 40 - time])
    hidden = np.zeros(truth.shape, bool)
    hidden[24:, 1] = hidden[10:13, 0] = True
    given = np.where(hidden, np.nan, truth)
    names = ["last value", "interpolation", "column mean", "drift"]
    if importlib.util.find_spec("sklearn"):
        names += ["IterativeImputer", "KNNImputer", "regression"]
    if importlib.util.find_spec("statsmodels"):
        names.append("damped trend")
    completed = {name: np.asarray(recovery.RIVALS[name](pandas.DataFrame(given))) for name in names}
    assert all(np.array_equal(one[~hidden], truth[~hidden]) and np.isfinite(one).all() for one in completed.values())
    assert (completed["last value"][24:, 1] == truth[23, 1]).all() and (completed["last value"][10:13, 0] == 9).all()
    np.testing.assert_allclose(completed["interpolation"][10:13, 0], [10, 11, 12])
    np.testing.assert_allclose(completed["drift"], truth)
    assert np.isnan(given).sum() == 9  # unchanged


@pytest.mark.slow
def test_rows_name_the_best_rival(monkeypatch):
    find_spec = recovery.importlib.util.find_spec
    monkeypatch.setattr(recovery.importlib.util, "find_spec", lambda name: find_spec(name) if "." in name else True)
    monkeypatch.setattr(recovery, "TABLE_SEEDS", range(1))
    monkeypatch.setattr(recovery, "TABLES", {"ramps": lambda: recovery.make_ramps(0.05)})
    rivals = {name: recovery.RIVALS[name] for name in ("last value", "column mean", "drift")}
    monkeypatch.setattr(recovery, "RIVALS", rivals)
    rows = list(recovery.ends(Conditions(device.cpu())))
    assert len(rows) == 3 * 5 and len({(row.what, row.shape) for row in rows}) == 15
    by_what = {(row.what, row.shape): row for row in rows}
    row = by_what["ends missing: default over the best rival", "ramps"]
    assert row.note.startswith("best rivals drift; means") and row.data == "generated"
    mean = by_what["ends missing: default over the best rival, geometric mean", "1 tables"]
    assert mean.samples == pytest.approx(row.samples) and f"worst ramps {row.samples[0]:.3f}" == mean.note
    assert all(0.5 < one.samples[0] <= 1 for (what, _), one in by_what.items() if "intervals" in what)
    assert all(0.3 < one.samples[0] < 2 for (what, _), one in by_what.items() if "CRPS" in what)


def test_without_the_packages_nothing_is_measured(monkeypatch):
    monkeypatch.setattr(recovery.importlib.util, "find_spec", lambda name: None)
    assert not list(recovery.ends(Conditions(device.cpu())))
