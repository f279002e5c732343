"""Samples that do not depend on the order of the data."""

import numpy as np
import pytest
import scipy.sparse

from gpukit.model_selection import splits
from gpukit.model_selection.splits import (
    choose_users,
    draw_sample,
    hash_floats,
    hash_groups,
    hash_rows,
    keys_of,
    order_by_values,
    renumber,
)
from gpukit.ratings import Ratings
from model_selection import naive


def pairs(n_users=40, n_items=25, seed=0):
    """(users, items) of a random table, each user and each item paired differently from all others."""
    random = np.random.default_rng(seed)
    return [side.astype(np.int32) for side in np.nonzero(random.random((n_users, n_items)) < 0.3)]


def exchanged(users, items, shape, seed):
    """(users, items, new numbers of users, of items) of the same pairs in another order, with other numbers."""
    random = np.random.default_rng(seed)
    order = random.permutation(len(users))
    names = [random.permutation(size).astype(np.int32) for size in shape]
    return names[0][users][order], names[1][items][order], *names


@pytest.mark.parametrize("seed", [0, 7])
def test_keys_do_not_depend_on_the_order(seed):
    users, items = pairs()
    shape = 40, 25
    keys = keys_of(users, items, shape, seed)
    assert all(len(np.unique(own)) == size for own, size in zip(keys, shape))
    others, their_items, *names = exchanged(users, items, shape, 3)
    for own, other, name in zip(keys, keys_of(others, their_items, shape, seed), names):
        assert np.array_equal(other[name], own)


def test_another_seed_is_another_order():
    users, items = pairs()
    one, other = (keys_of(users, items, (40, 25), seed)[0] for seed in (0, 1))
    assert not np.array_equal(np.argsort(one), np.argsort(other))


def test_rows_that_are_paired_alike_have_one_key():
    users, items = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 1])
    own, other = keys_of(users, items, (3, 3))
    assert own[0] == own[1] != own[2] and len(np.unique(other)) == 3


@pytest.mark.parametrize("least", [1, 7, 50])
def test_whole_users_up_to_a_limit(least):
    users, items = pairs()
    keys = keys_of(users, items, (41, 25))[0]  # user 40 has nothing
    ends = np.cumsum(np.bincount(users)[np.argsort(keys[:40])])
    for limit in (1, ends[10] - 1, ends[10], ends[10] + 1, 10_000):
        expected = naive.first_users(users.tolist(), keys.tolist(), limit, least)
        assert np.flatnonzero(choose_users(users, keys, limit, least)).tolist() == sorted(expected)


def test_rows_are_numbered_by_their_keys():
    keys = np.array([30, 10, 99, 20], np.uint64)
    numbers, count = renumber(np.array([3, 0, 1, 1]), keys)
    assert numbers.tolist() == [1, 2, 0, 0] and count == 3 and numbers.dtype == np.int32


def test_rows_have_keys_of_their_content():
    """A column more, another value, an exchange of two values: any change counts; a zero's sign does not."""
    X = np.random.default_rng(0).integers(-1, 2, (5000, 12)).astype(np.float64)
    keys = hash_rows(X)
    assert len(np.unique(keys)) == len(np.unique(X, axis=0)) > 4900
    assert np.array_equal(hash_rows(scipy.sparse.csr_array(X)), keys)
    assert np.array_equal(hash_rows(np.where(X == 0, -0.0, X)), keys) and np.array_equal(
        hash_rows(X.astype(np.float32)), keys
    )
    order = np.random.default_rng(1).permutation(len(X))
    assert np.array_equal(hash_rows(X[order]), keys[order])
    assert not (hash_rows(X[:, ::-1]) == keys)[(X[:, ::-1] != X).any(axis=1)].any()
    assert (hash_rows(np.column_stack([X, np.zeros(len(X))])) == keys).all()


def test_numbers_of_many_magnitudes_have_keys():
    values = np.concatenate([np.arange(1, 1000), 2.0 ** np.arange(-1000, 1000, 7), [0.0, 1e308, -1e308]])
    values = np.unique(np.append(values, -values))
    assert len(np.unique(hash_floats(values))) == len(values) == len(np.unique(hash_rows(values[:, None])))
    assert hash_floats([0.0])[0] == hash_floats([-0.0])[0]


def test_groups_have_keys_of_their_members():
    keys = np.array([1, 2**63, 2**63 + 5, 7, 7, 9, 2**63 + 5, 1, 2**63], np.uint64)
    own = hash_groups(keys, np.array([0, 3, 5, 5, 6, 9]))
    assert own[0] == own[4] and len(np.unique(own)) == 4


def test_rows_have_an_order_of_their_own():
    random = np.random.default_rng(0)
    rows, shuffled = random.poisson(0.3, (60, 12)).astype(np.float64), random.permutation(60)
    rows[random.random(rows.shape) < 0.2] = np.nan
    order = order_by_values(rows)
    assert len(np.unique(np.nan_to_num(rows, nan=-1), axis=0)) == 60 and sorted(order) == list(range(60))
    np.testing.assert_array_equal(rows[shuffled][order_by_values(rows[shuffled])], rows[order])
    np.testing.assert_array_equal(order_by_values(np.zeros((4, 3))), np.arange(4))


def test_the_order_of_rows_does_not_depend_on_units():
    rows = np.random.default_rng(0).normal(size=(30, 9))
    rows[4], rows[5, 2:] = np.nan, np.nan
    order = order_by_values(rows)
    assert order[-1] == 4
    np.testing.assert_array_equal(order_by_values(1.8 * rows + 32.0), order)
    rows[7] += 1e-9 * rows[8]
    np.testing.assert_array_equal(order_by_values(rows), order)
    standard = (rows - rows.mean(axis=1, keepdims=True)) / rows.std(axis=1, keepdims=True)
    np.testing.assert_array_equal(order_by_values(np.asfortranarray(standard)), order_by_values(standard))
    single = rows[:, :1]
    np.testing.assert_array_equal(single[order_by_values(single)], np.sort(single, axis=0))


def rated(seed=0):
    """Return Ratings of `pairs`."""
    users, items = pairs()
    values = np.random.default_rng(seed).integers(1, 6, len(users)).astype(np.float32)
    return Ratings(users, items, values, np.arange(40), np.arange(25))


def test_values_are_part_of_keys():
    """Users who rated the same items differ by their ratings."""
    users, items = (side.ravel() for side in np.indices((6, 5)))
    values = np.random.default_rng(1).integers(1, 6, 30)
    assert len(np.unique(keys_of(users, items, (6, 5))[0])) == 1
    assert len(np.unique(keys_of(users, items, (6, 5), 0, values)[0])) == 6
    samples = []
    for seed in (3, 4):
        others, theirs, *_ = exchanged(users, items, (6, 5), seed)
        order = np.random.default_rng(seed).permutation(30)
        table = Ratings(others, theirs, values[order].astype(np.float32), np.arange(6), np.arange(5))
        samples.append(draw_sample(table, 0, 100).values)
    assert np.array_equal(*samples)


@pytest.mark.parametrize("limit", [60, 250, 1000])
def test_a_sample_is_users_with_all_their_ratings(limit):
    """In any order of ratings; of ids too unless users are thinned first."""
    ratings = rated()
    sample = draw_sample(ratings, 5, limit)
    size, counts = len(sample), np.bincount(sample.users)
    assert sample.shape == (len(counts), sample.items.max() + 1) and size <= limit
    assert size == len(ratings) if limit == 1000 else size > limit / 3
    assert set(zip(*totals(sample))) <= set(zip(*totals(ratings)))
    others, items, *_ = exchanged(ratings.users, ratings.items, (40, 25), 3)
    order = np.random.default_rng(3).permutation(len(ratings))
    shuffled = ratings.take(order)
    renamed = Ratings(others, items, ratings.values[order], np.arange(40), np.arange(25))
    for other in (shuffled, renamed) if splits.MANY_TIMES * limit >= len(ratings) else (shuffled,):
        found = draw_sample(other, 5, limit)
        assert all(np.array_equal(getattr(found, name), getattr(sample, name)) for name in ("users", "items", "values"))


def totals(ratings):
    """Return (number, sum) of each user's ratings."""
    counts = np.bincount(ratings.users)
    return counts.tolist(), np.bincount(ratings.users, ratings.values).tolist()


def test_users_are_thinned_before_keys_of_many_ratings(monkeypatch):
    """Keys of a sample cost the same for any number of ratings."""
    sizes, make = [], splits.keys_of
    monkeypatch.setattr(splits, "keys_of", lambda *it: sizes.append(len(it[0])) or make(*it))
    ratings = rated()
    draw_sample(ratings, 0, 20)
    assert 20 < sizes[0] < 6 * 20 < len(ratings)
