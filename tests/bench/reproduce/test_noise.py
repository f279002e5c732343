"""Table 8: noisy ratings, and a run of the table."""

import numpy as np
import pytest
from factorization.inputs import planted

from gpukit.bench import Conditions, find, solvers
from gpukit.device import cpu


def test_noise_replaces_a_share_of_the_ratings():
    ratings = planted(200, 100, 0.3)
    values = np.unique(ratings.values)
    worse = solvers.add_noise(ratings, 0.1, 3)
    changed = worse.values != ratings.values
    assert set(worse.values) <= set(values) and (worse.users == ratings.users).all()
    expected = 0.1 * len(ratings) * (1 - 1 / len(values))
    assert 0.8 * expected < changed.sum() <= round(0.1 * len(ratings))
    np.testing.assert_array_equal(worse.values, solvers.add_noise(ratings, 0.1, 3).values)
    assert (solvers.add_noise(ratings, 0.1, 4).values != worse.values).any()
    assert (solvers.add_noise(ratings, 0.0, 4).values == ratings.values).all()


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:.* of the neighbour slots are random")
def test_table_8_runs(monkeypatch):
    monkeypatch.setattr(solvers, "SIZES", {"n_factors": 4, "n_neighbors": 4})
    monkeypatch.setattr(solvers, "NOISE_SEEDS", range(2))
    monkeypatch.setattr(solvers, "RATES", (0.5, 0.0001))
    rows = list(find("solvers.table8")(Conditions(cpu(), ("ml-10m",), 0.0005)))
    assert [row.what for row in rows] == [
        f"Table 8 rise of RMSE by {rate} % noise {name}" for name in ("CUSGD++", "CULSH-MF") for rate in ("50", "0.01")
    ]
    assert all(len(row.samples) == 2 and row.unit == "RMSE" and row.data == "generated" for row in rows)
    assert min(rows[0].samples) > 0.02
    assert max(map(abs, rows[1].samples)) < 0.01 and "clean" in rows[1].note
    assert rows[1].note.endswith("; the paper: 0.00016, MovieLens 10M")
