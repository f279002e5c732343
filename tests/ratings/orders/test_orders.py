"""Ratings in two orders on the CPU, against plain loops; errors."""

import numpy as np
import pytest

from gpukit.device import cpu
from gpukit.errors import DataError
from gpukit.ratings import Ratings
from gpukit.ratings.orders import order
from ratings.orders import naive


def made(n_users, n_items, n, values=(1.0, 2.0, 3.5, -0.0, 0.0), seed=0):
    """Return Ratings of distinct pairs in random order."""
    random = np.random.default_rng(seed)
    pairs = random.permutation(n_users * n_items)[:n]
    given = np.array(values, np.float32)[random.integers(0, len(values), n)]
    ids = np.arange(n_users), np.arange(n_items)
    return Ratings((pairs // n_items).astype(np.int32), (pairs % n_items).astype(np.int32), given, *ids)


def triples(ratings):
    return list(zip(ratings.users.tolist(), ratings.items.tolist(), ratings.values.tolist(), strict=True))


SHAPES = [(1, 1, 1), (2, 3, 6), (7, 5, 20), (50, 60, 12), (40, 33, 900), (300, 200, 5000)]


@pytest.mark.parametrize("shape", SHAPES)
def test_both_orders(shape):
    assert_both_orders(made(*shape), shape)


@pytest.mark.parametrize("values", [[3], [-0.5, 0, 7.25], np.arange(200) / 7])
def test_both_orders_of_other_values(values):
    assert_both_orders(made(40, 33, 900, values), (40, 33, 900))


def assert_both_orders(ratings, shape):
    """For these numbers of users, items and ratings, both orders equal those of plain loops."""
    found, rows = order.order_ratings(ratings, cpu()), triples(ratings)
    first, second = naive.by_item(rows), naive.by_user(rows)
    assert found.by_item.others.tolist() == [rows[t][0] for t in first]
    assert found.levels.values[found.by_item.codes].tolist() == [rows[t][2] for t in first]
    assert found.by_item.indptr.tolist() == naive.starts([rows[t][1] for t in first], shape[1])
    assert found.by_user.others.tolist() == [rows[t][1] for t in second]
    assert found.levels.values[found.by_user.codes].tolist() == [rows[t][2] for t in second]
    assert found.by_user.indptr.tolist() == naive.starts([rows[t][0] for t in second], shape[0] + 1)
    assert [first[place] for place in found.places.tolist()] == second
    assert found.levels.counts.tolist() == [sum(r[2] == v for r in rows) for v in found.levels.values.tolist()]
    assert found.values is None and len(found) == shape[2] and found.shape == shape[:2]


def test_one_zero_and_levels_ascend():
    found = order.order_ratings(made(40, 33, 900), cpu())
    assert found.levels.exact and found.levels.values.tolist() == [0.0, 1.0, 2.0, 3.5]


@pytest.mark.parametrize("count, exact", [(254, True), (255, False), (4000, False)])
def test_more_values_than_codes_go_to_an_even_grid(count, exact):
    values = np.linspace(-3.0, 5.0, count).astype(np.float32)
    ratings = made(100, 80, 6000, values)
    ratings.values[:count] = values
    found = order.order_ratings(ratings, cpu())
    assert found.levels.exact == exact and len(found.levels.values) == 254
    by_item = found.levels.values[found.by_item.codes]
    true = ratings.values[naive.by_item([(u, i, found_level(v, found)) for u, i, v in triples(ratings)])]
    assert np.abs(by_item - true).max() <= (0 if exact else 8.0 / 253 / 2 + 1e-6)
    assert exact or np.array_equal(found.values, true)


@pytest.mark.parametrize("count", [254, 255])
@pytest.mark.parametrize("turn", [1, -1])
def test_values_that_come_once_each(count, turn):
    """No separately inspected part of the ratings has more than a sixteenth of them."""
    values = np.arange(count, dtype=np.float32)[::turn] / 4
    ratings = made(20, 20, count)
    ratings.values[:] = values
    found = order.order_ratings(ratings, cpu())
    by_item = found.levels.values[found.by_item.codes]
    true = values[np.lexsort((values, ratings.items))]
    assert len(found.levels.values) == 254 and (np.diff(found.levels.values) > 0).all()
    assert np.array_equal(by_item, true) == found.levels.exact == (count == 254)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("count, at", [(3, 1), (1000, 999), (6000, 0), (6000, 5999)])
def test_a_rating_that_is_not_finite_among_few_values_and_many(bad, count, at):
    """With many values, only a limited number is inspected one by one."""
    ratings = made(100, 80, count)
    ratings.values[:] = np.arange(count)
    ratings.values[at] = bad
    with pytest.raises(DataError, match=f"Rating number {at + 1:,} is {bad}: ratings must be finite"):
        order.order_ratings(ratings, cpu())


def found_level(value, found):
    if found.levels.exact:
        return value
    return round((value + 3.0) * (253 / 8.0))


def test_moments_are_those_of_the_ratings():
    ratings = made(40, 33, 900)
    mean, deviation = order.moments(order.order_ratings(ratings, cpu()).levels)
    assert np.isclose(mean, ratings.values.mean(dtype=np.float64), rtol=1e-12)
    assert np.isclose(deviation, ratings.values.astype(np.float64).std(), rtol=1e-12)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda r: r.users.__setitem__(5, 7), "Rating number 6 is of user row 7 and item row"),
        (lambda r: r.items.__setitem__(3, -1), "Rating number 4 .* item row -1, but there are 7 users and 5 items"),
        (lambda r: r.values.__setitem__(2, np.nan), "Rating number 3 is nan"),
        (lambda r: r.values.__setitem__(19, -np.inf), "Rating number 20 is -inf"),
        (lambda r: (r.users.__setitem__(4, r.users[9]), r.items.__setitem__(4, r.items[9])), "more than once"),
    ],
)
def test_what_is_wrong_is_told(change, message):
    ratings = made(7, 5, 20)
    change(ratings)
    with pytest.raises(DataError, match=message):
        order.order_ratings(ratings, cpu())


def test_no_ratings():
    with pytest.raises(DataError, match="no ratings"):
        order.order_ratings(made(3, 3, 0), cpu())


def test_the_pair_that_comes_twice_is_named():
    nothing = np.zeros(2, np.int32)
    ids = np.array(["ann", "bob"]), np.array(["tea", "rum", "ale"])
    twice = Ratings(nothing + 1, nothing + 2, nothing.astype(np.float32), *ids)
    with pytest.raises(DataError, match="User bob has rated item ale more than once"):
        order.order_ratings(twice, cpu())


def test_keys_that_do_not_fit():
    with pytest.raises(DataError, match="would take 70 bits"):
        order.key_of((2**31, 2**31), 200)
