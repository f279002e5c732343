"""Benchmarks of epochs on a few clicks."""

import numpy as np
import pytest

from bench.clicks.test_table10 import planted
from gpukit import bench
from gpukit.bench import Conditions, ratings
from gpukit.bench import clicks as ncf_data
from gpukit.device import cpu
from gpukit.errors import DataError
from gpukit.factorization.settings import ROW_SOLVERS


@pytest.mark.nightly
def test_an_epoch_by_each_row_solver(monkeypatch):
    monkeypatch.setattr(ncf_data, "FACTORS", (4,))
    rows = list(bench.find("ials")(Conditions(cpu(), (ncf_data.LARGE,), 0.0005)))
    assert [row.what for row in rows] == [f"one epoch iALS F=4 by {solver}" for solver in ROW_SOLVERS[1:]]
    assert all(min(row.samples) > 0 and row.data == "generated" for row in rows)


def test_quality_on_real_clicks():
    """The candidates are the negatives."""
    ncf = planted()
    samples, note = ncf_data.measure_ials(ncf.clicks, 8, "gradients", cpu(), ncf)
    assert len(samples) == ncf_data.SAMPLES[False] and "after 12 epochs" in note
    assert float(note.split()[3]) > 0.8


def test_many_factors_have_one_row_solver(monkeypatch):
    monkeypatch.setattr(ncf_data, "FACTORS", (256, 512))
    monkeypatch.setattr(ncf_data, "measure_ials", lambda clicks, factors, solver, *_: ([1.0], ""))
    rows = bench.find("ials")(Conditions(cpu(), (ncf_data.LARGE,), 0.0005))
    expected = [f"F=256 by {solver}" for solver in ROW_SOLVERS[1:]] + ["F=512 by gradients"]
    assert [row.what.removeprefix("one epoch iALS ") for row in rows] == expected


def test_a_model_that_has_not_learned_is_an_error():
    run = ncf_data.prepare_ials(ncf_data.make_clicks(0.0005), 4, "cholesky", cpu())
    with pytest.raises(DataError, match="clicks score -?0.0"):
        ncf_data.check_scores(run)


def test_clicks_are_ones():
    table = ncf_data.as_clicks(ratings.generate_split("ml-10m", 0.0003)[0])
    assert (np.asarray(table.values) == 1).all() and len(table)
