"""The paper's tables of neighbours on a few ratings."""

import functools
import re

import numpy as np
import pytest

from gpukit.bench import Conditions, find, measurement, solvers
from gpukit.device import cpu
from gpukit.neighbors import SimLSH
from gpukit.neighbors.plan import Found, Settings

pytestmark = pytest.mark.filterwarnings("ignore:.* of the neighbour slots are random")
TINY = Conditions(cpu(), ("ml-10m",), 0.0003)


@pytest.fixture(autouse=True)
def small_model(monkeypatch):
    """Use three searches and a small model with fixed hyperparameters."""
    small = functools.partial(solvers.make_model, n_epochs=3, n_factors=4, regularization=0.05)
    monkeypatch.setattr(solvers, "make_model", small)
    monkeypatch.setattr(solvers, "SIZES", {"n_factors": 4, "n_neighbors": 5})
    searches = {name: solvers.SEARCHES[name] for name in ("random", "GSM", "simLSH buckets p=3 q=100")}
    monkeypatch.setattr(solvers, "SEARCHES", searches)


def test_every_search_exists():
    for name, parameters in (*solvers.SEARCHES.items(), ("defaults", {})):
        model = solvers.make_model(parameters)
        assert model.check() and model._hashing(32) == SimLSH(**parameters).check(), name
    printed = {line["what"].removeprefix("Table 7 RMSE ") for line in measurement.printed_values()}
    assert set(solvers.SEARCHES) <= printed


def test_table_7():
    rows = {row.what: row for row in find("solvers.table7")(TINY)}
    assert len(rows) == 12 and {row.data for row in rows.values()} == {"generated"}
    assert rows["Table 7 found of GSM's GSM"].samples == [100]
    assert rows["Table 7 found of GSM's random"].samples == [0]
    assert rows["Table 7 found of GSM's random"].note == "100.0% of the slots random"
    assert rows["Table 7 RMSE GSM"].note == "the paper: 0.789, MovieLens 10M"
    assert rows["Table 7 time simLSH buckets p=3 q=100"].note == "the paper: 2.777 s, MovieLens 10M"
    assert all(0.5 < row.samples[0] < 1.5 for what, row in rows.items() if "RMSE" in what)
    assert rows["Table 7 space random"].samples[0] < rows["Table 7 space GSM"].samples[0]


def test_overlap():
    nan = np.nan
    exact = Found(np.array([[1, 2, 3], [0, 2, 4]]), np.float32([[0.9, 0.8, 0.7], [0.5, nan, nan]]), 2, {})
    result = Found(np.array([[3, 1, 9], [2, 0, 4]]), np.float32([[0.9, 0.8, nan], [0.5, 0.4, nan]]), 2, {})
    assert solvers.overlap(result, exact) == 3 / 4 and solvers.overlap(exact, exact) == 1


def test_space_of_a_search():
    n_items, steps = 50, 4 * 50 * 50
    spaces = [solvers.search_bytes(Settings(5, search=s), n_items, cpu()) for s in ("random", "exact", "buckets")]
    lists, codes = 8 * 50 * 5, 4 * 50 * 75
    assert spaces == [lists, lists + steps, lists + steps + codes + 8 * 100 * 50]


def test_curves_end_where_training_does():
    rows = list(solvers.fig7(TINY))
    assert [row.what for row in rows] == [f"Fig. 7 {name}" for name in solvers.SEARCHES]
    for row in rows:
        points = [tuple(map(float, point)) for point in re.findall(r"([\d.]+) s ([\d.]+)", row.note)]
        assert len(points) == 3 and min(error for _, error in points) == round(row.samples[0], 4)
        assert [second for second, _ in points] == sorted(second for second, _ in points)
