"""Sums of item weights: kernel, twin and oracle; and the lists and scores of both devices."""

import numpy as np
import pytest
from support import launch_repeatably, small_launches, thinned

from factorization.inputs import history, problem
from factorization.solvers.ease import naive
from factorization.solvers.ease.inputs import regressions

pytestmark = pytest.mark.kernel

from gpukit.factorization import cpu, gpu, kernels, twins
from gpukit.factorization.arrays import WeightLists
from gpukit.factorization.solvers import ease_kernels, ease_twins
from gpukit.primitives.keys import LAST, descending_key
from gpukit.selection.twins import scores


def case_of(n_items, seed=0):
    """Return (users, History, weights, scores (B, N) with an excluded item); the last user has no ratings."""
    case, rng = problem(1, 0, shape=(9, n_items), n_ratings=5 * n_items, seed=seed), np.random.default_rng(seed)
    users = np.int32([8, 3, 0, 5, 3, 9])
    before = rng.normal(size=(len(users), n_items)).astype(np.float32)
    before[1, 0] = np.nan
    return case, users, history(case), rng.normal(size=(n_items, n_items)).astype(np.float32), before


def keys_of(before):
    """Return scores as sort keys."""
    return np.array([[descending_key(score) for score in row] for row in before], np.uint32)


@pytest.mark.parametrize(("grid", "block"), [((1, 1), 32), ((2, 3), 64), ((3, 6), 96)])
@pytest.mark.parametrize("n_items", [2, 31, 33, 65])
def test_add_weights(n_items, grid, block):
    case, users, rated, weights, before = case_of(n_items)
    keys, same = keys_of(before), keys_of(before)
    launch_repeatably(kernels.add_weights, grid, block, users, rated, weights, keys)
    twins.add_weights(users, rated, weights, same)
    assert np.array_equal(keys, same) and keys[1, 0] == LAST
    X = np.zeros((10, n_items))
    for user, item in case.rated:
        X[user, item] = 1
    expected = before + np.stack([naive.scores(X, weights.astype(float), user) for user in users])
    np.testing.assert_allclose(scores(keys), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("grid", "block"), [(1, 32), (3, 64)])
@pytest.mark.parametrize("n_items", [2, 33])
def test_add_listed_weights(n_items, grid, block):
    case, users, rated, weights, before = case_of(n_items)
    keys, same = keys_of(before), keys_of(before)
    lists = lists_of(np.where(np.random.default_rng(1).random(weights.shape) < 0.6, 0, weights))
    launch_repeatably(kernels.add_listed_weights, grid, block, users, rated, lists, keys)
    twins.add_listed_weights(users, rated, lists, same)
    assert np.array_equal(keys, same) and keys[1, 0] == LAST
    X, B = np.zeros((10, n_items)), np.zeros((n_items, n_items))
    for user, item in case.rated:
        X[user, item] = 1
    B[np.repeat(np.arange(n_items), np.diff(lists.starts)), lists.items] = lists.weights
    expected = before + np.stack([naive.scores(X, B, user) for user in users])
    np.testing.assert_allclose(scores(keys), expected, rtol=1e-5, atol=1e-5)


def lists_of(weights):
    """Return the WeightLists of weights (N, N) that are not 0."""
    rows, items = np.nonzero(weights)
    starts = np.append(0, np.cumsum(np.bincount(rows, minlength=len(weights)))).astype(np.int64)
    return WeightLists(starts, items.astype(np.int32), weights[rows, items])


@pytest.mark.parametrize(
    "data, launched", thinned([((5, 3), 2), ((31, 12), 7), ((9, 35), 32), ((20, 37), 35)], [(1, 32), (3, 64)], share=2)
)
def test_regress_on_neighbors(data, launched):
    (shape, slots), (grid, block) = data, launched
    X, neighbors, starts, users = regressions(shape, slots)
    neighbors = neighbors[:7]  # of the first items: two a block and more
    found, same = (np.full(neighbors.shape, np.nan, np.float32) for _ in range(2))
    masks = np.zeros((grid, shape[0], slots // 32 + 1), np.uint32)
    gram = np.full((grid, slots, slots + 1), np.nan, np.float32)
    ridge = np.float32(3.0)
    launch_repeatably(
        ease_kernels.regress_on_neighbors, grid, block, neighbors, starts, users, shape[0], ridge, found, masks, gram
    )
    ease_twins.regress_on_neighbors(neighbors, starts, users, shape[0], ridge, same)
    np.testing.assert_allclose(found, same, rtol=1e-4, atol=1e-6)
    assert not masks.any()


@pytest.mark.parametrize("has_lists", [False, True])
@pytest.mark.parametrize("walk", ["users", "items"])
def test_lists_and_scores_as_on_the_cpu(walk, has_lists, monkeypatch):
    small_launches(monkeypatch)
    monkeypatch.setattr(gpu, "MOST_LINES", 2)
    case, _, rated, weights, _ = case_of(12, 1)
    rated = rated._replace(levels=np.nan_to_num(rated.levels))
    state = case.state._replace(item_weights=weights)
    if has_lists:
        starts, items, weights = lists_of(weights)
        state = case.state._replace(item_weights=weights, weight_starts=starts, weight_items=items)
    found = []
    for steps in (cpu, gpu):
        model = steps.DeviceModel(state, steps.layout(1, 0), walk, rated)
        asked = model.ask(np.int32([0, 9, 3, 0, 2]), np.int32([11, 2, 12, 0, 5]))
        worth = np.where(np.arange(12) == 4, np.nan, 0.1).astype(np.float32)
        found.append((*model.best(np.int32([2, 0, 7]), 5, worth, True), model.predict(asked)))
        bare = steps.DeviceModel(case.state, steps.layout(1, 0), walk, rated)
        assert np.abs(bare.predict(bare.ask(*map(np.int32, ([0], [11])))) - found[-1][2][0]).min() > 1e-3
    assert np.array_equal(found[0][0], found[1][0]) and 4 not in found[0][0]
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-5)
    np.testing.assert_allclose(found[0][2], found[1][2], rtol=1e-5, atol=1e-6)
