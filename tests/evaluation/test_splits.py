"""Random splits: the numbers of numpy's generator, in order, for any number of threads."""

import numpy as np
import pytest

from gpukit.errors import DataError, ParameterError
from gpukit.evaluation import splits
from gpukit.ratings import Ratings


@pytest.mark.parametrize("n", [0, 1, 63, 1000, splits.ALONE + 3, 2 * splits.ALONE + 5])
@pytest.mark.parametrize("seed, fraction", [(0, 0.1), (7, 0.5)])
def test_what_is_drawn_are_the_generators_numbers(n, seed, fraction):
    expected = np.random.default_rng(seed).random(n) >= fraction
    assert np.array_equal(splits.random_mask(n, fraction, seed), expected)


@pytest.mark.parametrize("n", [0, 1, 63, 64, 128, 1000])
def test_rows_of_a_mask_keep_their_order(n, monkeypatch):
    monkeypatch.setattr(splits, "ALONE", 64)
    kept = np.random.default_rng(n).random(n) < 0.3
    columns = {"a": np.arange(n, dtype=np.int32), "b": np.arange(n) * 0.5}
    rows = splits.rows_where(columns, kept)
    for name, column in columns.items():
        assert np.array_equal(rows[name], column[kept]) and rows[name].dtype == column.dtype
    for wrong in (np.append(kept, True), kept[:-1]) if n > 1 else ():
        with pytest.raises(IndexError):
            splits.rows_where(columns, wrong)


@pytest.mark.parametrize("n", [0, 1, 63, 64, 128, 1000])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_rows_of_both_parts_keep_their_order(n, share, monkeypatch):
    monkeypatch.setattr(splits, "ALONE", 64)
    mask = np.random.default_rng(n).random(n) < share
    columns = {"a": np.arange(n, dtype=np.int32), "b": np.arange(n) * 0.5, "c": np.arange(n, dtype=np.float32)}
    for part, rows in zip(splits.part_columns(columns, mask), (mask, ~mask)):
        for name, column in columns.items():
            assert np.array_equal(part[name], column[rows]) and part[name].dtype == column.dtype
    for wrong in (np.append(mask, True), mask[:-1]) if n > 1 else ():
        with pytest.raises(IndexError):
            splits.part_columns(columns, wrong)


def test_ratings_are_split_with_all_their_columns():
    n = 500
    times = np.arange(n, dtype=np.int64)
    users, items = np.repeat(np.arange(25), 20).astype(np.int32), np.tile(np.arange(20), 25).astype(np.int32)
    ids = np.arange(25), np.arange(20)
    ratings = Ratings(users, items, np.arange(n, dtype=np.float32), *ids, times=times)
    train, test = ratings.split(0.2, 3)
    kept = np.random.default_rng(3).random(n) >= 0.2
    assert np.array_equal(train.times, times[kept]) and np.array_equal(test.items, items[~kept])
    assert train.weights is None and len(train) + len(test) == n


# --- by time


def with_times(users, times):
    """Return Ratings of these users at these times, an item per rating."""
    n = len(times)
    ids = np.arange(max(users) + 1), np.arange(n)
    columns = np.array(users, np.int32), np.arange(n, dtype=np.int32), np.ones(n, np.float32)
    return Ratings(*columns, *ids, times=np.array(times, np.int64))


def test_the_last_of_all_judge_and_equal_times_keep_their_order():
    ratings = with_times([0, 0, 1, 1, 2, 2, 2, 3, 3, 3], [50, 10, 30, 30, 30, 20, 90, 30, 5, 30])
    train, test = ratings.split(0.4, by="time")
    assert test.items.tolist() == [0, 6, 7, 9] and train.items.tolist() == [1, 2, 3, 4, 5, 8]
    assert test.user_ids is ratings.user_ids and train.times.max() <= test.times.min()
    assert len(ratings.split(0.0, by="time")[1]) == 0
    assert [len(ratings.split(share, by="time")[1]) for share in (0.04, 0.05, 0.149, 0.15)] == [0, 1, 1, 2]


def test_the_last_of_each_user_judge_but_never_all():
    ratings = with_times([0, 1, 0, 1, 0, 2, 0, 1], [4, 9, 1, 9, 3, 7, 3, 9])
    train, test = ratings.split(0.5, by="user-time")
    assert test.items.tolist() == [0, 3, 6, 7] and set(train.users) == {0, 1, 2}
    most, rest = ratings.split(0.99, by="user-time")
    assert most.items.tolist() == [1, 2, 5] and len(rest) == 5


def test_one_of_each_user_judges():
    ratings = with_times([0, 1, 0, 1, 0, 2, 0, 1], [4, 9, 1, 9, 3, 7, 4, 9])
    train, test = ratings.split(by="user-last")
    assert test.items.tolist() == [6, 7] and set(train.users) == {0, 1, 2}
    found = set()
    for seed in range(40):
        train, test = ratings.split(by="user-one", seed=seed)
        assert sorted(test.users) == [0, 1] and len(train) == 6
        found |= set(test.items.tolist())
    assert found == {0, 1, 2, 3, 4, 6, 7}
    untimed = ratings.with_columns(users=ratings.users, items=ratings.items, values=ratings.values)
    assert len(untimed.split(by="user-one")[1]) == 2
    with pytest.raises(DataError, match="no times"):
        untimed.split(by="user-last")


def test_users_judge_with_all_that_is_theirs():
    users = np.repeat(np.arange(50), 3)
    train, test = with_times(users, users).split(0.3, 4, "users")
    assert set(train.users) | set(test.users) == set(users) and not set(train.users) & set(test.users)
    kept = np.random.default_rng(4).random(50) >= 0.3
    assert set(train.users) == set(np.flatnonzero(kept))


@pytest.mark.parametrize("groups", [False, True])
def test_ranks_in_time_against_a_plain_loop(groups):
    random = np.random.default_rng(3)
    times, group = random.integers(-4, 4, 60), random.integers(0, 5, 60) if groups else None
    ranks, sizes = splits.ranks_in_time(times, group)
    for t in range(60):
        same = [s for s in range(60) if group is None or group[s] == group[t]]
        assert ranks[t] == sum((times[s], s) < (times[t], t) for s in same)
        assert np.broadcast_to(sizes, 60)[t] == len(same)
    assert splits.ranks_in_time(times[:0], None if group is None else group[:0])[0].size == 0


def test_splits_that_cannot_be():
    ratings = with_times([0, 1], [1, 2])
    with pytest.raises(ParameterError, match="by must be one of 'random', 'time', 'user-time', .*'users'; got 'date'"):
        ratings.split(0.1, by="date")
    with pytest.raises(DataError, match="no times, so they cannot be split by 'time'"):
        ratings.with_columns(users=ratings.users, items=ratings.items, values=ratings.values).split(0.1, by="time")
