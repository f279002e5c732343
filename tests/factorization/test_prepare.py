"""What an epoch reads, against dictionaries."""

import numpy as np
import pytest

from factorization import naive
from factorization.inputs import planted
from gpukit.factorization import baseline, cpu, prepare
from gpukit.factorization.model.layout import NO_NEIGHBOR
from gpukit.factorization.model.state import State
from gpukit.ratings import Ratings


def ratings_of(values, n_users=40, n_items=25, seed=0):
    """Ratings with these values in random places, users 0 and 7 without any."""
    rng = np.random.default_rng(seed)
    pairs = rng.choice(
        [i * n_items + j for i in range(n_users) if i not in (0, 7) for j in range(n_items)], len(values), replace=False
    )
    return Ratings(
        (pairs // n_items).astype(np.int32),
        (pairs % n_items).astype(np.int32),
        np.asarray(values, np.float32),
        np.arange(n_users),
        np.arange(n_items),
    )


@pytest.mark.parametrize("distinct", [1, 5, 100, 253, 254, 255, 400])
def test_history(distinct):
    rng = np.random.default_rng(distinct)
    known = np.sort(rng.choice(5000, distinct, replace=False)).astype(np.float32) / 7
    ratings = ratings_of(np.concatenate([known, rng.choice(known, 500)]))
    scale = prepare.scale_of(ratings)
    rated, place = prepare.history_of(ratings, scale)
    assert len(rated.indptr) == 42 and rated.indptr[-1] == rated.indptr[-2] == len(ratings)
    assert rated.codes.min() >= 1 and rated.codes.max() <= 254 and rated.levels.dtype == np.float32
    users = np.repeat(np.arange(41), np.diff(rated.indptr))
    np.testing.assert_array_equal(users, ratings.users[place])
    np.testing.assert_array_equal(rated.items, ratings.items[place])
    assert (np.diff(users * 1000 + rated.items) > 0).all()
    error = np.abs(rated.levels[rated.codes] * scale.deviation + scale.mean - ratings.values[place])
    allowed = 1e-6 if distinct <= 254 else 0.501 * (known[-1] - known[0]) / 253
    assert error.max() <= allowed + 2e-6 * known[-1]


@pytest.mark.parametrize("distinct", [254, 255, 256])
def test_the_highest_levels_are_told_apart(distinct):
    """Two users gave an item's one neighbour the highest rating and the next: Eq. (1) knows the difference."""
    values = np.arange(distinct, dtype=np.float32)
    users, items = np.append(values[:-2] + 2, [0, 1]).astype(np.int32), np.zeros(distinct, np.int32)
    ratings = Ratings(users, items, np.append(values[:-2], values[:-3:-1]), np.arange(distinct), np.arange(2))
    scale = prepare.scale_of(ratings)
    rated, _ = prepare.history_of(ratings, scale)
    influence = np.array([[[0], [0]], [[1], [0]]], np.float32)
    sides = [np.zeros((rows, width), np.float32) for rows in (distinct, 2) for width in (1, 3)]
    session = cpu.Session(State(*sides, influence, np.array([[1], [0]], np.int32)), cpu.layout(1, 1), "items", rated)
    asked = np.array([0, 1], np.int32), np.array([1, 1], np.int32)
    predicted = session.predict(session.ask(*asked, prepare.query_of(*asked, distinct)))
    found = predicted * scale.deviation + scale.mean
    np.testing.assert_allclose(found, values[:-3:-1], atol=0 if distinct < 255 else 0.6, rtol=1e-5)
    assert 0.9 < found[0] - found[1] < 1.1


@pytest.mark.parametrize("deterministic", [False, True])
def test_group(deterministic):
    ratings = planted(80, 70, 0.3)
    side = prepare.group(ratings.users, ratings.items, ratings.values, ratings.shape, 3, deterministic)
    np.testing.assert_array_equal(ratings.users[side.order], np.repeat(np.arange(80), np.diff(side.indptr)))
    np.testing.assert_array_equal(ratings.items[side.order], side.minor)
    np.testing.assert_array_equal(ratings.values[side.order], side.values)
    assert sorted(side.order) == list(range(len(ratings)))
    if deterministic:
        blocks = side.blocks[1][side.minor]
        starts = side.indptr[1:-1]
        falls = np.flatnonzero(np.diff(blocks) < 0) + 1
        assert set(falls) <= set(starts)
    else:
        assert (np.diff(side.minor) < 0).sum() > len(ratings) // 3  # shuffled in their rows
    other = prepare.group(ratings.users, ratings.items, ratings.values, ratings.shape, 4, deterministic)
    assert (other.order != side.order).any()


def test_query_of():
    users, items = np.array([3, 0, 5, 3, 0, 3], np.int32), np.array([9, 1, 2, 0, 4, 4], np.int32)
    query = prepare.query_of(users, items, 5)
    assert query.indptr.tolist() == [0, 2, 2, 2, 5, 5, 6]  # row 5 is the unknown user
    for user in range(6):
        for t in range(query.indptr[user], query.indptr[user + 1]):
            assert users[query.places[t]] == user and items[query.places[t]] == query.items[t]
    assert sorted(query.places) == list(range(6))


@pytest.mark.parametrize("asked", ["training", "pairs"])
def test_codes_of_queries(asked):
    """From Ratings to codes: each line has the ratings its user gave to the neighbours of its item."""
    ratings = planted(30, 20, 0.3)
    rng = np.random.default_rng(2)
    neighbors = np.array([rng.choice([o for o in range(20) if o != j], 4, replace=False) for j in range(20)], np.int32)
    scale = prepare.scale_of(ratings)
    rated, place = prepare.history_of(ratings, scale)
    zeros = np.zeros
    state = State(zeros((30, 2)), zeros((30, 3)), zeros((20, 2)), zeros((20, 3)), zeros((20, 2, 4)), neighbors)
    session = cpu.Session(state, cpu.layout(2, 4), "items", rated)
    if asked == "training":
        side = prepare.group(ratings.items, ratings.users, ratings.values, ratings.shape[::-1], seed=1)
        users, items = ratings.users[side.order], ratings.items[side.order]
        lines = session.codes(prepare.training_query(rated, place, side), len(ratings))
    else:
        users, items = rng.integers(0, 31, 200).astype(np.int32), rng.integers(0, 21, 200).astype(np.int32)
        lines = session.codes(prepare.query_of(users, items, 30), 200)
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
    scale = prepare.scale_of(ratings_of([1, 2, 2, 5]))
    assert scale.mean == 2.5 and scale.deviation == pytest.approx(1.5) and (scale.low, scale.high) == (1, 5)
    assert prepare.scale_of(ratings_of([3, 3, 3])).deviation == 1


def test_moments_of_many_values():
    """Of values far from 0, where a sum of squares alone would lose the deviation."""
    values = (4000 + np.random.default_rng(0).normal(size=100_003)).astype(np.float32)
    mean, deviation = baseline.moments(values)
    assert mean == pytest.approx(values.mean(dtype=np.float64), rel=1e-12)
    assert deviation == pytest.approx(values.std(dtype=np.float64), rel=1e-9)


def test_inverse():
    order = np.random.default_rng(0).permutation(1000)
    np.testing.assert_array_equal(prepare.inverse(order)[order], np.arange(1000))


def test_biases_are_the_papers_damped():
    ratings = ratings_of(np.random.default_rng(0).integers(1, 6, 300))
    mean, b, b_hat = baseline.bias_predictor(ratings)
    assert mean == pytest.approx(ratings.values.mean(), abs=1e-6) and b[0] == b[7] == 0
    centred = ratings.values - np.float64(mean)
    expected = naive.biases(ratings.users, ratings.items, centred, 40, 25, baseline.DAMPING, baseline.SWEEPS)
    np.testing.assert_allclose(b, expected[0], atol=1e-12)
    np.testing.assert_allclose(b_hat, expected[1], atol=1e-12)
    scale = prepare.scale_of(ratings)
    z = ((ratings.values - np.float32(scale.mean)) / np.float32(scale.deviation)).astype(np.float32)
    for z_bias, bias in zip(prepare.z_baseline(ratings, z), (b, b_hat)):
        np.testing.assert_allclose(z_bias * scale.deviation, bias, atol=1e-5)
