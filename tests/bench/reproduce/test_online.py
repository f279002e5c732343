"""Online learning: the new rows, the order of their arrivals, and runs of the benchmarks."""

import numpy as np
import pytest
from factorization.inputs import planted

from gpukit.bench import Conditions, online
from gpukit.bench.ratings import drop_unused_ids
from gpukit.device import cpu
from gpukit.ratings import synth_ratings


def test_the_last_users_and_items_are_new():
    ratings = planted(300, 200, 0.2)
    late = online.last_rows(ratings)
    np.testing.assert_array_equal(late, (ratings.users >= 297) | (ratings.items >= 198))
    old = drop_unused_ids(ratings.take(~late))
    assert old.user_ids.max() <= ratings.user_ids[296] and old.item_ids.max() <= ratings.item_ids[197]
    assert (old.user_ids[old.users] == ratings.user_ids[ratings.users[~late]]).all()
    assert set(old.users.tolist()) == set(range(old.shape[0]))


def test_the_fraction_of_new_ratings_is_the_papers():
    ratings = synth_ratings("ml-10m", 0.02)
    late = online.paper_rows(ratings, "ml-10m")
    users, items = (np.unique(rows[late]) for rows in (ratings.users, ratings.items))
    missing = np.setdiff1d(users, ratings.users[~late]), np.setdiff1d(items, ratings.items[~late])
    assert len(missing[0]) >= round(0.01 * ratings.shape[0]) and len(missing[1]) >= round(0.01 * ratings.shape[1])
    assert abs(late.mean() / (110_807 / 9_900_054) - 1) < 0.1
    assert online.similar_rows(np.array([5, 1, 9, 3, 7]), 2, 9).tolist() == [True, False, False, True, False]


def test_a_stream_has_half_of_a_users_ratings_first():
    ratings = planted(200, 100, 0.5)
    part = online.stream_parts(ratings, 10)
    assert part.min() == 0 and part.max() == 9
    first = np.full(200, 10)
    np.minimum.at(first, ratings.users, part)
    assert np.bincount(first, minlength=10).max() <= 21
    early = first[ratings.users] < 9
    assert abs((part == first[ratings.users])[early].mean() - 0.55) < 0.1
    np.testing.assert_array_equal(part, online.stream_parts(ratings, 10))


@pytest.mark.nightly
def test_table_9_runs():
    rows = list(online.table9(Conditions(cpu(), ("ml-10m",), 0.001)))
    assert [row.unit for row in rows] == ["RMSE"] * 3 and all(row.data == "generated" for row in rows)
    assert "the paper: 69,180 users" in rows[0].note and "0.00040" in rows[1].note
    assert all(abs(row.samples[0]) < 0.1 for row in rows[1:])


def test_a_stream_runs(monkeypatch):
    ratings = synth_ratings("ml-10m", 0.0005)
    monkeypatch.setattr(online, "split_movielens", lambda folder: ratings.split(0.1, 0))
    monkeypatch.setattr(online, "PARTS", 3)
    monkeypatch.setattr(online, "PARAMETERS", {**online.PARAMETERS, "n_factors": 4, "n_neighbors": 4})
    monkeypatch.setattr(online, "stream_parts", lambda train: np.arange(len(train)) % 3)
    rows = list(online.stream(Conditions(cpu())))
    assert [row.what[-6:] for row in rows] == ["1 of 3", "2 of 3", "3 of 3"]
    assert all("anew" in row.note and 0 < row.samples[0] < 2 for row in rows)


@pytest.mark.nightly
def test_parts_are_added_to_a_live_model(monkeypatch):
    monkeypatch.setattr(online, "LIVE_PARTS", range(1, 4))
    monkeypatch.setitem(online.ARRIVING, "users", 0.05)
    (row,) = online.live(Conditions(cpu(), ("ml-10m",), 0.001))
    assert row.unit == "ms" and len(row.samples) == 2 and min(row.samples) > 0
    assert "training" in row.note and "trained anew" in row.note and "RMSE of new rows" in row.note


def test_new_rows_of_parts_follow_the_known_ones(monkeypatch):
    monkeypatch.setattr(online, "LIVE_PARTS", range(1, 4))
    monkeypatch.setitem(online.ARRIVING, "items", 0.02)
    ratings = planted(300, 200, 0.2)
    arrivals = online.draw_arrivals(ratings.shape, np.random.default_rng(0))
    sorted_ratings = online.sort_ids(ratings, arrivals)
    cut, shapes = online.cut_parts(sorted_ratings, arrivals, np.random.default_rng(1)), online.count_arrivals(arrivals)
    assert (sorted_ratings.user_ids[sorted_ratings.users] == ratings.user_ids[ratings.users]).all()
    assert shapes[-1] == ratings.shape and sum(map(len, cut)) == len(ratings) and len(cut) == 4
    for one, before, shape in zip(cut, [(0, 0), *shapes], shapes):
        assert one.shape == shape and online.has_new_id(one, before).any()
    pairs = {(u, i) for one in cut for u, i in zip(one.user_ids[one.users].tolist(), one.item_ids[one.items].tolist())}
    assert len(pairs) == len(ratings)
