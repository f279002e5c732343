"""The median over vertices as a method."""

import numpy as np
import pytest

from gpukit import GraphImputer
from gpukit.errors import DataError
from gpukit.imputation.auto.judging import finite_estimate
from gpukit.imputation.auto.plan import BY_NAME
from imputation.auto.test_auto import asked


def test_the_median_of_what_is_seen_in_a_column():
    values = np.array([[1.0, 2.0, 9.0], [5.0, 4.0, 0.0], [90.0, 0.0, 0.0]])
    seen = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0]], bool)
    out = BY_NAME["vertex-median"].fill(asked(values, seen), {})
    np.testing.assert_array_equal(out, np.tile([5.0, 3.0, 9.0], (3, 1)))


def test_columns_that_nobody_sees_have_those_beside_them_or_all():
    values, seen = np.tile([1.0, 0.0, 3.0], (3, 1)), np.tile([True, False, True], (3, 1))
    assert BY_NAME["vertex-median"].fill(asked(values, seen), {})[0, 1] == 2.0
    assert BY_NAME["vertex-median"].fill(asked(values, seen, at=False), {})[0, 1] == 2.0
    values[0, 2] = 100.0
    assert BY_NAME["vertex-median"].fill(asked(values, seen, at=False), {})[0, 1] == np.median(values[seen])


def test_the_median_is_believed_of_vertices_that_nothing_joins():
    sizes = np.array([1.0, 2.0, 3.0, 4.0, 1000.0, 3.0])[:, None]
    truth = sizes * (2.0 + np.sin(np.arange(60.0) / 5))
    seen = np.ones(truth.shape, bool)
    seen[5] = False
    problem = GraphImputer(device="cpu").prepare(None, truth, seen, times=np.arange(60)).problem()
    np.testing.assert_allclose(finite_estimate(BY_NAME["vertex-median"], problem, {})[5], np.median(truth[:5], axis=0))
    np.testing.assert_allclose(finite_estimate(BY_NAME["two-way-mean"], problem, {})[5], truth[:5].mean(0))
    model = GraphImputer(device="cpu").fit(None, truth, seen, times=np.arange(60))
    assert np.abs(model.completed_ - truth)[5].max() < 1.0 and model.report_[0].name in ("vertex-median", "mix")


@pytest.mark.parametrize("metric, name", [("absolute", "vertex-median"), ("squared", "vertex-mean")])
def test_of_few_whole_vertices_the_report_names_what_fills_in(metric, name):
    truth = np.array([[1.0], [2.0], [30.0], [0.0]]) + np.arange(20.0)
    with pytest.warns(UserWarning, match=f"{name} fills in"):
        model = GraphImputer(device="cpu", metric=metric).fit(None, truth, np.arange(4) < 3, times=np.arange(20))
    assert model.method_ == name
    wanted = {"absolute": 2.0, "squared": 11.0}[metric] + np.arange(20.0)
    np.testing.assert_allclose(model.completed_[3], wanted)


@pytest.mark.parametrize("name", ["interpolation", "kriging", "trend", "vertex-mean"])
def test_of_few_values_the_report_names_a_mean_in_place_of_a_method_that_does_not_suit(name):
    used = name if name == "vertex-mean" else "two-way-mean"
    with pytest.warns(UserWarning, match=f"{used} fills in") as warned:
        model = GraphImputer(method=name, device="cpu").fit(np.array([[2.0, np.nan], [1.0, 3.0]]))
    assert model.method_ == used and len(warned) == 1


@pytest.mark.parametrize(
    ("name", "need"),
    [("trend", "at their ends"), ("seasonal", "a period that they hold twice"), ("kriging", "5 or more")],
)
def test_the_reason_why_a_method_does_not_suit(name, need):
    walks = np.cumsum(np.random.default_rng(0).normal(size=(3, 60)), axis=1)
    walks[0, 20:23] = walks[1, 40] = np.nan
    with pytest.raises(DataError, match=f"it needs .*{need}.* Take another method"):
        GraphImputer(method=name, device="cpu").fit(None, walks, times=np.arange(60))
