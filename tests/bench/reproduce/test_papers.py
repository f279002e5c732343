"""Items of the papers by name, printed values next to ours, and runs of those of imputation and RankSVM."""

import importlib

import numpy as np
import pytest

from gpukit.bench import Conditions, imputation, ranking, solvers
from gpukit.bench import reproduce as papers
from gpukit.bench.measurement import Curve, Row
from gpukit.device import cpu


def test_every_item_has_a_benchmark():
    for items in papers.PAPERS.values():
        for path in items.values():
            module, _, function = path.rpartition(".")
            assert callable(getattr(importlib.import_module(f"gpukit.bench.{module}"), function))


def row(note, unit="ms", sample=3.0):
    return Row("Table 4 time", "ml-10m", "generated", [sample], unit, note)


@pytest.mark.parametrize(
    "what, shape, unit, value",
    [
        ("Table 4 time to RMSE 0.8 ALS", "ml-10m", "ms", 1300.0),
        ("online: rise of RMSE, rows=move", "netflix", "RMSE", 0.00015),
        ("Table 7 space simLSH buckets p=3 q=100", "MovieLens 1M", "MiB", 12.219),
        ("Table 3 accuracy of DCM", "mq2008", "%", 80.24),
        ("Fig. 9 k=600, gpukit's default", "64x64xk", "relative error", 1e-5),
        ("Fig. 9 speed of K=32 over K=0, F=64", "ml-10m", "times", 2.97),
        ("Fig. 9 F=64 K=32", "ml-10m", "RMSE", None),
        ("online: test RMSE trained anew", "netflix", "RMSE", None),
        ("Table 2 basis", "64x64x2100", "s", None),
    ],
)
def test_printed_values_are_in_the_unit_of_the_row(what, shape, unit, value):
    printed = Row(what, shape, "generated", [3.0], unit)
    result = papers.Reproduction("table4", printed, papers.printed_value(printed), 3.0)
    assert result.paper == value and result.ratio == (value and 3.0 / value)


def test_curves_are_read_from_notes():
    assert papers.curve_of(row("0.1 s 0.9; 0.25 s 1e-05")) == [(0.1, 0.9), (0.25, 1e-5)]
    assert papers.curve_of(row("0.1 s")) == []


@pytest.mark.parametrize("errors, ratio", [([0.95, 0.8, 0.7], 1.5), ([0.95, 0.94, 0.93], np.nan)])
def test_a_speedup_is_of_the_times_to_the_lowest_rmse_without_neighbours(errors, ratio):
    parts = {"neighbours": 9.0, "prepare": 9.0}
    alone = Curve([1.0, 0.9, 0.85, 0.86], [1.0, 2.0, 3.0, 4.0], parts)
    trained = {"F=64 K=0": alone, "F=64 K=32": Curve(errors, [1.0, 2.0, 3.0], parts)}
    result = solvers.speed_row(trained, 64, ("ml-10m", "generated"))
    assert result.what.endswith("F=64") and np.array_equal(result.samples, [ratio], equal_nan=True)


@pytest.fixture
def two_sets():
    return Conditions(cpu(), ("mq2008", "mq2007"), 0.01)


@pytest.mark.slow
def test_the_tables_of_ranksvm(two_sets, monkeypatch):
    sizes = {
        r.row.what: r for r in papers.reproduce("ranksvm", ["table1"], two_sets) if r.row.shape.startswith("mq2007")
    }
    assert sizes["Table 1 pairs"].paper == 246_015 and sizes["Table 1 features"].ratio == 1.0
    assert sizes["Table 1 documents"].ours < 1000
    times = list(papers.reproduce("ranksvm", ["table2"], two_sets))
    assert [r.row.what.endswith("on the CPU") for r in times] == 2 * [True, True, False, False]
    assert [r.paper for r in times] == [0.67, 0.48, 1.37, None, 12.67, 10.18, 5.9, None]
    assert all(r.ours > 0 for r in times)
    monkeypatch.setattr(ranking, "minimize", None)  # Table 3 has the trainings of Table 2
    accuracies = np.reshape([r.ours for r in papers.reproduce("ranksvm", ["table3"], two_sets)], (2, 4))
    assert (np.ptp(accuracies, axis=1) < 0.01).all() and (accuracies > 60).all()  # one minimum, whatever the solver


@pytest.mark.slow
def test_the_figure_of_ranksvm_falls_to_the_optimum(two_sets):
    results = list(papers.reproduce("ranksvm", ["fig1"], two_sets))
    assert len(results) == 8
    for result in results:
        seconds, distances = zip(*papers.curve_of(result.row))
        assert seconds == tuple(sorted(seconds)) and distances[0] > 1e-3 and distances[-1] < 1e-6


@pytest.mark.slow
def test_the_items_of_imputation(monkeypatch):
    monkeypatch.setattr(imputation, "COUNTS", (600, 2100))
    monkeypatch.setattr(imputation, "SIDES", {"Fig. 6": 8, "Fig. 7": 8, "Fig. 8": 8})
    monkeypatch.setattr(imputation, "RATES", (0.1, 0.5))
    conditions = Conditions(cpu(), (), 0.02)
    for item in ("fig6", "table2", "fig10"):
        assert any(r.paper for r in papers.reproduce("imputation", [item], conditions)), item
    parts = {r.row.what: r.paper for r in papers.reproduce("imputation", ["table2"], conditions)}
    assert parts["Table 2 copy"] == 0.11 and parts["Table 2 transform"] == 0.27
    sweep = list(papers.reproduce("imputation", ["fig6"], conditions))
    assert {r.row.shape for r in sweep} == {"8x8xk x 0.02"}  # a table for all k
    times = {r.row.what: r.ours for r in sweep}
    assert list(times) == ["Fig. 6 20 iterations, k=600", "Fig. 6 20 iterations, k=2100"]
    errors = {r.row.what: r for r in papers.reproduce("imputation", ["table3"], conditions)}
    few, many = (errors[f"Table 3 observed {share} N, the paper's algorithm"] for share in (0.5, 0.9))
    assert few.paper == 0.038 and many.ours < few.ours
