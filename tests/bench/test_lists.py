"""Benchmarks of recommendation lists: their cost, and their quality on a few clicks."""

import numpy as np
import pytest

from bench.clicks.test_table10 import planted
from gpukit import bench
from gpukit.bench import Conditions, recommendations
from gpukit.bench import clicks as ncf_data
from gpukit.device import cpu
from gpukit.ratings import Ratings

WEIGHED = "full ranking HR@10", "full ranking NDCG@10"


@pytest.mark.nightly
def test_rows_of_lists():
    rows = list(bench.find("lists")(Conditions(cpu(), scale=0.0002)))
    assert [row.what.partition(",")[0] for row in rows] == [recommendations.LEARNING] + 2 * ["10 items for each user"]
    assert all(len(row.samples) == 5 and np.min(row.samples) > 0 and row.shape == "netflix x 0.0002" for row in rows)


def rate_clicks():
    """Return the planted clicks as random ratings of 3 and 4, with an item that three users rated 5; and the tests."""
    ncf, random = planted(), np.random.default_rng(0)
    clicks, values = ncf.clicks, random.integers(3, 5, len(ncf.clicks)).astype(np.float32)
    rare = np.arange(3, dtype=np.int32)
    ids = np.append(clicks.item_ids, 99_000)
    users, items = np.append(clicks.users, rare), np.append(clicks.items, np.full(3, len(ids) - 1, np.int32))
    return Ratings(users, items, np.append(values, np.full(3, 5, np.float32)), clicks.user_ids, ids), ncf.tests


@pytest.mark.slow
def test_rows_of_weights(monkeypatch):
    ncf = planted()
    monkeypatch.setattr(ncf_data, "read", lambda folder, share: ncf)
    monkeypatch.setattr(recommendations, "SIZES", (3, 8, 10**6))
    rows = {row.what: row for row in recommendations.rank_by_weights(Conditions(cpu(), data="there"))}
    names = "EASE, all weights", "EASE, 3 neighbours", "EASE, 8 neighbours"
    assert list(rows) == [f"{what} of {name}" for name in names for what in WEIGHED]
    assert all(rows[f"{WEIGHED[1]} of {name}"].samples[0] > 0.3 for name in names)
    assert "less all weights: " in rows[f"{WEIGHED[1]} of {names[1]}"].note


@pytest.mark.slow
def test_rows_for_few_users(monkeypatch):
    """Without weights, EASE ranks by popularity, which has less than 0.3 here."""
    monkeypatch.setattr(recommendations, "read_movielens", lambda folder: rate_clicks()[0])
    monkeypatch.setattr(recommendations, "rank_by_weights", lambda conditions: ())
    monkeypatch.setattr(recommendations, "SHAPES", ())
    ours, ease, ratio = list(bench.find("lists")(Conditions(cpu(), data="there")))
    assert len(ours.samples) == len(ease.samples) == 8 and min(ours.samples + ease.samples) > 0.45
    np.testing.assert_allclose(ratio.samples, np.divide(ours.samples, ease.samples))
