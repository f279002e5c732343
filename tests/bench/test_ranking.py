"""The benchmarks of learning to rank on the CPU: each has rows, and fails on a wrong result."""

from types import SimpleNamespace

import numpy as np
import pytest

from gpukit import bench, device
from gpukit.bench import Conditions, measurement, ranking
from gpukit.documents import synth_letor, write_folds
from gpukit.errors import DataError

CPU = device.resolve("cpu")


def rows_of(name, **conditions):
    """Return the rows of a benchmark after a check of their form."""
    rows = list(bench.find(name)(Conditions(CPU, **conditions)))
    for row in rows:
        assert row.samples and np.isfinite(row.samples).all() and min(row.samples) >= 0 and row.note
        assert row.data in ("generated", "real") and len(measurement.line(row, CPU)) == len(measurement.COLUMNS)
    assert len({(row.what, row.shape) for row in rows}) == len(rows)  # the key of the table
    return rows


@pytest.fixture(scope="module")
def tiny():
    return synth_letor("mq2007", 0.02, 0)


@pytest.fixture
def folder(tmp_path):
    """Five folds of generated documents in place of MQ2008."""
    write_folds(synth_letor("mq2008", 0.06, 0), tmp_path / "MQ2008")
    ranking.mq2008_folds.cache_clear()
    yield str(tmp_path)
    ranking.mq2008_folds.cache_clear()


@pytest.mark.nightly
def test_every_shape_is_trained():
    rows = rows_of("ranking", scale=0.003)
    assert [row.shape for row in rows[::3]] == [f"{name} x 0.003" for name in ranking.SHAPES]
    assert [row.what.split(",")[0] for row in rows[:3]] == [
        "training",
        "the same without a preconditioner",
        "the whole fit",
    ]
    assert "CG steps without a preconditioner" in rows[0].note


@pytest.mark.nightly
def test_solvers(folder):
    rows = rows_of("solvers", scale=0.02, data=folder)
    assert len(rows) == 4 * 10 and {row.data for row in rows} == {"generated", "real"}


def test_real_data_must_be_there(tmp_path):
    with pytest.raises(DataError, match="GPUKIT_DATA"):
        ranking.mq2008_folds(None)


def test_a_wrong_training_is_an_error(tiny):
    run = ranking.prepare_run(tiny, CPU)
    right = ranking.minimize(run)
    ranking.check_solution(run.problem, right)
    with pytest.raises(DataError, match="objective has a relative error"):
        ranking.check_solution(run.problem, right._replace(objective=right.objective * (1 + 1e-8)))
    w = right.w * 1.01
    session = ranking.make_pair_sums(run.problem, "ost", ranking.cpu)
    early = right._replace(w=w, objective=ranking.Objective(session, 1.0).evaluate(w)[0])
    with pytest.raises(DataError, match="stopped at"):
        ranking.check_solution(run.problem, early)
    with pytest.raises(DataError, match="path has a relative error"):
        measurement.check_near("path", early.objective, right.objective, 1e-6)
    with pytest.raises(DataError, match="objective has a relative error of nan"):
        ranking.check_solution(run.problem, right._replace(objective=np.nan))
    with pytest.raises(DataError, match="objective of a fit"):
        ranking.fit_row(tiny, "tiny", CPU, right.objective * 1.01)


def test_a_wrong_training_is_not_timed(tiny, monkeypatch):
    run = ranking.prepare_run(tiny, CPU)
    right = ranking.minimize(run)
    monkeypatch.setattr(ranking, "minimize", lambda *_, **__: right._replace(objective=right.objective * 1.01))
    with pytest.raises(DataError, match="objective has a relative error"):
        ranking.time_minimize(run)


def test_solvers_that_disagree_are_an_error(tiny, monkeypatch):
    def fit(documents, solver, precondition, threads):
        objective = 5.0 if solver == "scan" else 5.0001
        return [1.0], SimpleNamespace(objective_=objective, n_pairs_=1, n_iter_=1, n_cg_=1)

    monkeypatch.setattr(ranking, "time_fit", fit)
    rows = ranking.solver_rows(tiny, "tiny", "generated")
    assert next(rows).what == "the whole fit by scan, 1 thread"
    with pytest.raises(DataError, match="objective by ost"):
        next(rows)


def test_shapes_can_be_named():
    assert Conditions(CPU).select(("a", "b"), ("c",)) == ("a", "b")
    assert Conditions(CPU, ("c", "b")).select(("a", "b"), ("c",)) == ("b", "c")
