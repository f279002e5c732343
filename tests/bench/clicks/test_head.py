"""Lists of a model of ratings, on a handful: what is judged, by which ranking, and in which clock."""

import numpy as np
import pytest

from bench.clicks.test_table10 import planted
from gpukit.bench.clicks import head, ncf_data
from gpukit.bench.conditions import Conditions
from gpukit.device import cpu
from gpukit.errors import DataError
from gpukit.ratings import Ratings

RANKINGS = "lists", "rating"


def rated():
    """The planted clicks as ratings of three and four, drawn, and an item that three users alone gave a five; and the
    tests."""
    ncf, random = planted(), np.random.default_rng(0)
    clicks, values = ncf.clicks, random.integers(3, 5, len(ncf.clicks)).astype(np.float32)
    rare = np.arange(3, dtype=np.int32)
    ids = np.append(clicks.item_ids, 99_000)
    users, items = np.append(clicks.users, rare), np.append(clicks.items, np.full(3, len(ids) - 1, np.int32))
    return Ratings(users, items, np.append(values, np.full(3, 5, np.float32)), clicks.user_ids, ids), ncf.tests


@pytest.mark.slow
def test_the_rows(monkeypatch):
    """What three users gave a five stands in lists by rating alone."""
    monkeypatch.setattr(ncf_data, "ratings", lambda folder, share: rated())
    rows = {row.what: row.samples for row in head.BENCHES["head"](Conditions(cpu()))}
    whats = "HR@10 of lists", "NDCG@10 of lists", "little known items in lists"
    expected = [f"{what} of ratings, by {by}" for by in RANKINGS for what in whats]
    assert list(rows) == ["CPU time of learning what ranks lists", *expected]
    assert len(rows["CPU time of learning what ranks lists"]) == head.TIMES
    (hits, gains, few), (_, _, more) = ([rows[f"{what} of ratings, by {by}"][0] for what in whats] for by in RANKINGS)
    assert hits > 0.8 and 0 < gains < hits and few < 5 < more


@pytest.mark.slow
def test_what_has_not_learned_is_refused(monkeypatch):
    ratings, tests = rated()
    monkeypatch.setattr(head, "LEAST", 1.1)
    monkeypatch.setattr(ncf_data, "ratings", lambda folder, share: (ratings, tests))
    with pytest.raises(DataError, match=r"Lists come to HR@10 .*, below 1\.1"):
        list(head.head(Conditions(cpu())))
