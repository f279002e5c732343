"""Training data on the CPU against dictionaries and plain loops."""

import numpy as np
import pytest

from factorization import naive
from factorization.inputs import ordered, planted, ratings_of
from gpukit.evaluation import metrics
from gpukit.factorization import constants, cpu
from gpukit.factorization import cpu as steps
from gpukit.factorization.arrays import Scale, unscale
from gpukit.factorization.constants import RULES
from gpukit.factorization.model.layout import NO_NEIGHBOR, major_first
from gpukit.factorization.model.state import State
from gpukit.factorization.prepare import training_data
from gpukit.ratings import Ratings

MANY = np.random.default_rng(5).random(600) * 9 - 4  # more values than levels


def by_user(ratings):
    """Indices of the ratings by user, then by item: the order of the history."""
    return np.lexsort((ratings.items, ratings.users))


def prepared(ratings):
    """Return (Orders, Scale, History) of ratings."""
    orders = ordered(ratings)
    scale = training_data.scale_of(orders, ratings.values)
    return orders, scale, training_data.history_of(orders, scale, steps)


@pytest.mark.parametrize("walk", ["users", "items"])
@pytest.mark.parametrize("row_bytes, apart", [(128, 3), (384, 1), (4096, 1), (96, 4)])
def test_popular_minor_rows_are_spread(walk, row_bytes, apart):
    """Positions by falling number of ratings are apart and differ.

    They are 384 bytes apart or one row, modulo the table.
    """
    ratings = planted(37, 41, 0.3)
    orders = ordered(ratings)
    side = training_data.side_of(orders, walk, training_data.scale_of(orders, ratings.values), 5, cpu)
    rows, minor = (41, ratings.items) if walk == "users" else (37, ratings.users)
    places = training_data.minor_places(side, rows, row_bytes, cpu)
    by_count = np.argsort(-np.bincount(minor, minlength=rows), kind="stable")
    assert places[by_count].tolist() == [k * apart % rows for k in range(rows)] and places[rows] == rows
    other = np.random.default_rng(0).permutation(rows).astype(np.uint32)
    places = training_data.minor_places(side, rows, row_bytes, cpu, other)
    assert places[other].tolist() == [k * apart % rows for k in range(rows)] and places[rows] == rows


def test_steps_without_a_common_divisor():
    steps_of_rows = {1: 3, 2: 3, 3: 4, 4: 3, 6: 5, 9: 4, 12: 5, 17770: 3, 30: 7}
    assert {rows: training_data.step_of(rows, 128) for rows in steps_of_rows} == steps_of_rows


@pytest.mark.parametrize("distinct", [1, 5, 100, 253, 254, 255, 400])
def test_history(distinct):
    rng = np.random.default_rng(distinct)
    known = np.sort(rng.choice(5000, distinct, replace=False)).astype(np.float32) / 7
    ratings = ratings_of(np.concatenate([known, rng.choice(known, 500)]))
    (_, scale, rated), place = prepared(ratings), by_user(ratings)
    assert len(rated.indptr) == 42 and rated.indptr[-1] == rated.indptr[-2] == len(ratings)
    assert rated.codes.min() >= 1 and rated.codes.max() <= 254
    assert rated.levels.dtype == np.float32 and rated.levels.shape == (256,)
    users = np.repeat(np.arange(41), np.diff(rated.indptr))
    np.testing.assert_array_equal(users, ratings.users[place])
    np.testing.assert_array_equal(rated.items, ratings.items[place])
    assert (np.diff(users * 1000 + rated.items) > 0).all()
    error = np.abs(rated.levels[rated.codes] * scale.deviation + scale.mean - ratings.values[place])
    allowed = 1e-6 if distinct <= 254 else 0.501 * (known[-1] - known[0]) / 253
    assert error.max() <= allowed + 2e-6 * known[-1]


@pytest.mark.parametrize("distinct", [254, 255, 256])
def test_the_highest_levels_differ(distinct):
    """Eq. (1) distinguishes the two highest levels.

    Two users rated the only neighbour with them.
    """
    values = np.arange(distinct, dtype=np.float32)
    users, items = np.append(values[:-2] + 2, [0, 1]).astype(np.int32), np.zeros(distinct, np.int32)
    ratings = Ratings(users, items, np.append(values[:-2], values[:-3:-1]), np.arange(distinct), np.arange(2))
    _, scale, rated = prepared(ratings)
    influence = np.array([[[0], [0]], [[1], [0]]], np.float32)
    sides = [np.zeros((rows, width), np.float32) for rows in (distinct, 2) for width in (1, 3)]
    session = cpu.DeviceModel(
        State(*sides, influence, np.array([[1], [0]], np.int32)), cpu.layout(1, 1), "items", rated
    )
    asked = np.array([0, 1], np.int32), np.array([1, 1], np.int32)
    found = session.predict(session.ask(*asked)) * scale.deviation + scale.mean
    np.testing.assert_allclose(found, values[:-3:-1], atol=0 if distinct < 255 else 0.6, rtol=1e-5)
    assert 0.9 < found[0] - found[1] < 1.1


SIDES = [(walk, blocks, exact) for walk in ("users", "items") for blocks in (False, True) for exact in (True, False)]


def side_case(exact, seed=0):
    """Ratings with empty rows, and few or many values.

    Both sides have empty rows. Many means more values than levels.
    """
    ratings = planted(80, 70, 0.3, seed=seed)
    kept = ~np.isin(ratings.users, (0, 33)) & ~np.isin(ratings.items, (7, 69))
    ratings = ratings.take(np.flatnonzero(kept))
    if not exact:
        ratings.values[:] = np.random.default_rng(seed).choice(MANY, len(ratings)).astype(np.float32)
        ratings.values[: len(MANY)] = MANY
    return ratings


@pytest.mark.parametrize("walk, deterministic, exact", SIDES)
def test_side(walk, deterministic, exact, monkeypatch):
    """Every rating occurs once, in its row, at position `where`.

    Rows are shuffled or in blocks.
    """
    monkeypatch.setattr(steps, "GRAIN", 20)
    ratings = side_case(exact)
    orders, scale, _ = prepared(ratings)
    assert orders.levels.exact == exact
    side = training_data.side_of(orders, walk, scale, 3, steps, deterministic)
    place = by_user(ratings) if walk == "users" else by_item(orders, ratings)
    major, minor = (rows[place] for rows in major_first(walk, ratings.users, ratings.items))
    rows = len(ratings.user_ids) if walk == "users" else len(ratings.item_ids)
    assert side.indptr.tolist() == np.append(0, np.cumsum(np.bincount(major, minlength=rows))).tolist()
    assert sorted(side.where) == list(range(len(ratings)))
    np.testing.assert_array_equal(side.minor[side.where], minor)
    expected = (ratings.values[place].astype(np.float64) - scale.mean) / scale.deviation
    np.testing.assert_allclose(side.values[side.where], expected, rtol=1e-5, atol=1e-6)
    if not deterministic:
        np.testing.assert_array_equal(np.searchsorted(side.indptr, side.where, "right") - 1, major)
        assert side.strata is None and (np.diff(side.minor) < 0).sum() > len(ratings) // 3  # shuffled in their rows


def by_item(orders, ratings):
    """Indices of the ratings by item."""
    number = {pair: t for t, pair in enumerate(zip(ratings.users.tolist(), ratings.items.tolist()))}
    items = np.repeat(np.arange(orders.shape[1]), np.diff(orders.by_item.indptr)).tolist()
    return np.array([number[pair] for pair in zip(orders.by_item.others.tolist(), items)])


@pytest.mark.parametrize("walk", ["users", "items"])
def test_sides_are_a_function_of_the_seed(walk):
    orders, scale, _ = prepared(side_case(True))
    one, same, other = (training_data.side_of(orders, walk, scale, seed, steps).where for seed in (3, 3, 4))
    np.testing.assert_array_equal(one, same)
    assert (one != other).mean() > 0.8


@pytest.mark.parametrize("walk", ["users", "items"])
def test_blocks_keep_the_order_of_the_shuffle(walk, monkeypatch):
    """Ratings of a row in a block keep the row's shuffled order."""
    monkeypatch.setattr(steps, "GRAIN", 20)
    orders, scale, _ = prepared(side_case(True))
    plain, crossed = (
        training_data.side_of(orders, walk, scale, 3, steps, deterministic) for deterministic in (False, True)
    )
    assert len(crossed.strata) == 8
    for row, first, length in np.concatenate(crossed.strata).tolist():
        mine = crossed.minor[first : first + length].tolist()
        shuffled = plain.minor[plain.indptr[row] : plain.indptr[row + 1]].tolist()
        assert mine == [other for other in shuffled if other in mine]


@pytest.mark.parametrize("n_users", [5, 7, 8, 1000])
def test_query_of(n_users):
    last = n_users  # the unknown user's row
    users = np.array([3, 0, last, 3, 0, 3, last - 1], np.int32)
    items = np.array([9, 1, 2, 0, 4, 4, 7], np.int32)
    query = training_data.query_of(users, items, n_users, steps)
    assert query.indptr.tolist() == np.append(0, np.cumsum(np.bincount(users, minlength=n_users + 1))).tolist()
    for user in range(n_users + 1):
        for t in range(query.indptr[user], query.indptr[user + 1]):
            assert users[query.places[t]] == user and items[query.places[t]] == query.items[t]
    assert sorted(query.places) == list(range(len(users)))


def test_a_query_of_nothing():
    nothing = np.zeros(0, np.int32)
    query = training_data.query_of(nothing, nothing, 5, steps)
    assert query.indptr.tolist() == [0] * 7 and not len(query.items) and not len(query.places)


@pytest.mark.parametrize("asked", ["users", "items", "pairs"])
def test_codes_of_queries(asked):
    """From Ratings to codes: each line has the user's ratings of the item's neighbours."""
    ratings = planted(30, 20, 0.3)
    rng = np.random.default_rng(2)
    neighbors = np.array([rng.choice([o for o in range(20) if o != j], 4, replace=False) for j in range(20)], np.int32)
    orders, scale, rated = prepared(ratings)
    zeros = np.zeros
    state = State(zeros((30, 2)), zeros((30, 3)), zeros((20, 2)), zeros((20, 3)), zeros((20, 2, 4)), neighbors)
    session = cpu.DeviceModel(state, cpu.layout(2, 4), "items", rated)
    if asked == "pairs":
        users, items = rng.integers(0, 31, 200).astype(np.int32), rng.integers(0, 21, 200).astype(np.int32)
        lines = session.codes(training_data.query_of(users, items, 30, steps), 200)
    else:
        side = training_data.side_of(orders, asked, scale, 1, steps)
        major = np.repeat(np.arange(len(side.indptr) - 1), np.diff(side.indptr))
        users, items = major_first(asked, major, side.minor)
        lines = session.codes(training_data.training_query(rated, orders, side, asked, steps), len(ratings))
    known = {(i, j): r for i, j, r in zip(ratings.users.tolist(), ratings.items.tolist(), ratings.values.tolist())}
    for line, i, j in zip(lines, users.tolist(), items.tolist()):
        if j == 20:
            assert (line == NO_NEIGHBOR).all()
            continue
        for k, other in enumerate(neighbors[j].tolist()):
            assert (line[k] == 0) == ((i, other) not in known)
            if line[k]:
                assert rated.levels[line[k]] * scale.deviation + scale.mean == pytest.approx(known[i, other], abs=1e-5)


def test_scale():
    scale = prepared(ratings_of([1, 2, 2, 5]))[1]
    assert scale.mean == 2.5 and scale.deviation == pytest.approx(1.5) and (scale.low, scale.high) == (1, 5)
    assert prepared(ratings_of([3, 3, 3]))[1].deviation == 1


@pytest.mark.parametrize("unit", [1e-20, 1e-9, 1e9])
def test_scale_of_any_unit(unit):
    scale = prepared(ratings_of(np.array([1, 2, 2, 5]) * unit))[1]
    assert (scale.mean, scale.deviation) == pytest.approx((2.5 * unit, 1.5 * unit), rel=1e-6)
    assert prepared(ratings_of(np.array([3, 3, 3]) * unit))[1].deviation == 1


def test_scale_of_more_values_than_levels():
    """From the ratings, not from their levels."""
    values = (MANY**3).astype(np.float32)
    orders, scale, _ = prepared(ratings_of(values))
    assert not orders.levels.exact
    assert scale.mean == pytest.approx(values.mean(dtype=np.float64), rel=1e-12)
    assert scale.deviation == pytest.approx(values.astype(np.float64).std(), rel=1e-9)
    assert (scale.low, scale.high) == (values.min(), values.max())


def test_moments_of_many_values():
    """Values far from 0, where a sum of squares would lose precision."""
    values = (4000 + np.random.default_rng(0).normal(size=100_003)).astype(np.float32)
    mean, deviation = training_data.moments_of_values(values)
    assert mean == pytest.approx(values.mean(dtype=np.float64), rel=1e-12)
    assert deviation == pytest.approx(values.std(dtype=np.float64), rel=1e-9)


def test_baseline_of_orders():
    """The same biases from ordered ratings, in training units, to the rounding of z."""
    ratings = ratings_of(np.random.default_rng(0).integers(1, 6, 300))
    orders, scale, _ = prepared(ratings)
    z = ((ratings.values - scale.mean) / scale.deviation).astype(np.float32).astype(np.float64)
    expected = naive.biases(ratings.users, ratings.items, z, 40, 25, constants.DAMPING, RULES.bias_sweeps)
    found = training_data.baseline_of(orders, scale, steps)
    assert found[0][0] == found[0][7] == 0
    for biases, true in zip(found, expected):
        assert biases.dtype == np.float64
        np.testing.assert_allclose(biases, true, atol=1e-12)


@pytest.mark.parametrize("n", [1, 15, 16, 17, 1000])
def test_errors_are_the_metrics(n):
    """Errors are clipped to the range, in units of the ratings.

    Also with more parts than pairs.
    """
    rng = np.random.default_rng(n)
    z, truth = rng.normal(size=n).astype(np.float32), rng.integers(1, 6, n).astype(np.float32)
    scale = Scale(3.1, 1.7, 1.0, 5.0)
    predicted = unscale(z, scale)
    assert n < 1000 or (predicted == 1).any() and (predicted == 5).any()
    squares, sizes = training_data.errors(z, truth, scale, steps)
    assert np.sqrt(squares / n) == pytest.approx(metrics.rmse(truth, predicted), rel=1e-6)
    assert sizes / n == pytest.approx(metrics.mae(truth, predicted), rel=1e-6)
