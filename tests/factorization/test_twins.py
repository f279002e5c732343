"""CPU twins against the oracle: learning and predictions within the error budget, integers exact."""

import numpy as np
import pytest
from support import assert_within_budget, thinned

from factorization.inputs import (
    TURN,
    asked,
    assert_learned,
    assert_right_keys,
    assert_same_tables,
    code_lines,
    dealt,
    empty_tables,
    history,
    levels,
    pack,
    predictions,
    problem,
    query,
    rates,
    tables_of,
    unpack,
    walk,
    with_weights,
    without_conflicts,
    worths,
)
from gpukit.factorization.arrays import Parameters, Tables
from gpukit.factorization.model.layout import BIAS, EXTRA, cpu_layout
from gpukit.factorization.solvers.sgd.twins import sgd_epoch
from gpukit.factorization.twins import ITEMS, fill_tables, neighbor_codes, predict_pairs, score_rows
from gpukit.primitives.keys import score_of_key
from gpukit.selection import twins as selection

FACTORS, NEIGHBORS = (1, 3, 31, 32, 33, 64, 130), (0, 1, 5, 31, 32, 33)


def learned(case, layout, trail, rates, workers=1):
    """Return the Problem's State after sgd_epoch over a Walk."""
    parameters, _ = pack(case, layout)
    batch = trail.batch(code_lines(case, layout, trail.pairs))
    sgd_epoch(trail.chunks, batch, parameters, rates, TURN, workers)
    return unpack(case, layout, parameters)


@pytest.mark.parametrize("n_factors, n_neighbors", thinned(FACTORS, NEIGHBORS))
def test_sgd_epoch(n_factors, n_neighbors):
    case = problem(n_factors, n_neighbors)
    trail = walk(case)
    assert_learned(case, learned(case, cpu_layout(n_factors, n_neighbors), trail, rates()), trail.visits(), rates())


@pytest.mark.parametrize("n_factors, n_neighbors", [(1, 0), (33, 0), (6, 5), (31, 33)])
def test_sgd_epoch_of_ratings_that_count_differently(n_factors, n_neighbors):
    case = with_weights(problem(n_factors, n_neighbors))
    trail = walk(case)
    assert_learned(case, learned(case, cpu_layout(n_factors, n_neighbors), trail, rates()), trail.visits(), rates())


@pytest.mark.parametrize("kind, biases", [("paper", True), ("paper", False), ("adaptive", False)])
@pytest.mark.parametrize("n_neighbors", [0, 5])
def test_other_rates(kind, biases, n_neighbors):
    case = problem(6, n_neighbors, seed=1)
    trail, steps = walk(case), rates(kind, biases)
    state = learned(case, cpu_layout(6, n_neighbors), trail, steps)
    assert_learned(case, state, trail.visits(), steps)
    if not biases:
        np.testing.assert_array_equal(state.user_extras[:, 0], case.state.user_extras[:, 0])


@pytest.mark.parametrize("longest", [1, 2, 1000])
def test_chunks_of_any_length(longest):
    case = problem(4, 3, seed=2)
    trail = walk(case, longest)
    assert_learned(case, learned(case, cpu_layout(4, 3), trail, rates()), trail.visits(), rates())


def test_both_sides_can_be_walked():
    case = problem(4, 0, seed=3, walk="items")
    trail = walk(case)
    assert_learned(case, learned(case, cpu_layout(4, 0), trail, rates()), trail.visits(), rates())


def test_slots_without_a_neighbour():
    case = problem(5, 3, seed=4)
    layout, trail = cpu_layout(5, 3)._replace(near=6), walk(case)
    assert_learned(case, learned(case, layout, trail, rates()), trail.visits(), rates())


def test_rows_without_ratings_stay():
    case = problem(5, 3, seed=5)
    state = learned(case, cpu_layout(5, 3), walk(case), rates())
    np.testing.assert_array_equal(state.user_factors[-1], case.state.user_factors[-1])
    for name in "item_factors", "item_extras", "influence":
        np.testing.assert_array_equal(getattr(state, name)[1], getattr(case.state, name)[1])


def test_several_workers_without_conflicts_are_one_worker():
    """Worker w has the users and items that are w modulo 3."""
    case = problem(5, 0, shape=(9, 12), n_ratings=80, seed=6)
    case = without_conflicts(case, 3)
    trail = walk(case)
    trail = trail._replace(chunks=dealt(trail.chunks, 3))
    one, three = (learned(case, cpu_layout(5, 0), trail, rates(), workers) for workers in (1, 3))
    for before, after in zip(one, three):
        np.testing.assert_array_equal(before, after)
    assert_learned(case, three, trail.visits(), rates())


@pytest.mark.parametrize("n_factors, n_neighbors", [(1, 0), (33, 0), (1, 1), (8, 5), (130, 33)])
def test_predict_pairs(n_factors, n_neighbors):
    case = problem(n_factors, n_neighbors)
    layout, pairs = cpu_layout(n_factors, n_neighbors), [(i, j) for i in range(9) for j in range(0, 40, 3)]
    predicted = np.full(len(pairs), np.nan, np.float32)
    predict_pairs(asked(case, pairs, code_lines(case, layout, pairs)), pack(case, layout)[0], predicted)
    exact, plain = (predictions(case, dtype, pairs) for dtype in (np.float64, np.float32))
    assert_within_budget(predicted, plain, exact)


def test_predictions_for_the_unknown():
    """The unknown row of a side adds nothing.

    The other side's bias remains, or 0.
    """
    case = problem(4, 3)
    layout, pairs = cpu_layout(4, 3), [(9, 2), (3, 40), (9, 40)]
    predicted = np.empty(3, np.float32)
    predict_pairs(asked(case, pairs, code_lines(case, layout, pairs)), pack(case, layout)[0], predicted)
    silent = case.state.influence[2, 1].sum() / np.sqrt(np.float32(3))
    expected = [case.state.item_extras[2, 0] + silent, case.state.user_extras[3, 0], 0]
    np.testing.assert_allclose(predicted, expected, rtol=1e-6)


@pytest.mark.parametrize("size, hide", thinned([(3, 0), (33, 5), (4, 39)], [False, True], share=2))
def test_score_rows(size, hide):
    """70 users: two groups and a part of one; 39 neighbours: all the others."""
    n_factors, n_neighbors = size
    case = problem(n_factors, n_neighbors, shape=(71, 40), n_ratings=1100, walk="items")
    parameters, near = pack(case, cpu_layout(n_factors, n_neighbors))
    users, worth = np.random.default_rng(1).permutation(71)[:70].astype(np.int32), worths(40)
    keys = np.zeros((70, 40), np.uint32)
    near = near if n_neighbors else np.zeros((41, 0), np.int32)
    tables = tables_of(case, users)
    score_rows(users, tables, near, parameters, n_factors, worth, hide, keys)
    assert_right_keys(keys, case, users, worth, hide)


def test_score_rows_of_more_items_than_a_block_has():
    """40 users, two groups, in blocks of items; keys are those of each user alone."""
    n_items, rng = 2 * ITEMS + 3, np.random.default_rng(0)
    items, users = (rng.integers(-3, 4, (rows, 2 + EXTRA)).astype(np.float32) for rows in (n_items + 1, 41))
    parameters = Parameters(items, users, *np.zeros((2, 1, 0), np.float32))
    tables = Tables(rng.integers(0, 2**32, (2, n_items + 1), np.uint32), np.empty((2, 0, 32), np.uint8), levels())
    rows, worth = np.arange(40, dtype=np.int32), rng.integers(0, 9, n_items).astype(np.float32)
    keys, none = np.zeros((40, n_items), np.uint32), np.zeros((n_items + 1, 0), np.int32)
    score_rows(rows, tables, none, parameters, 2, worth, True, keys)
    scores = items[:-1, :2] @ users[:40, :2].T + items[:-1, 2 + BIAS, None] + users[:40, 2 + BIAS] + worth[:, None]
    is_rated = (np.repeat(tables.rated, 32, axis=0)[:40, :-1] >> (rows[:, None] % 32).astype(np.uint32)) & 1 == 1
    np.testing.assert_array_equal(selection.scores(keys), np.where(is_rated, np.float32(np.nan), scores.T))


def test_scores_for_the_unknown_user():
    case = problem(3, 5, walk="items")
    parameters, near = pack(case, cpu_layout(3, 5))
    users, keys = np.array([9], np.int32), np.zeros((1, 40), np.uint32)
    args = tables_of(case, users), near, parameters, 3, np.zeros(40, np.float32), True, keys
    score_rows(users, *args)
    scores = [score_of_key(key) for key in keys[0]]
    expected = case.state.item_extras[:, 0] + case.state.influence[:, 1].sum(axis=1) / np.sqrt(np.float32(5))
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("workers", [1, 2, 20])
def test_fill_tables_and_neighbor_codes(workers):
    case = problem(2, 5)
    layout = cpu_layout(2, 5)._replace(near=7)
    pairs = sorted((i, j) for i in range(10) for j in (0, 1, 17, 40))  # user 9 and item 40 are unknown
    lines = query(case, pairs)
    out, tables = np.full((len(pairs), 7), 9, np.uint8), np.zeros((workers, 41), np.uint8)
    neighbor_codes(history(case), lines, pack(case, layout)[1], out, tables)
    np.testing.assert_array_equal(out[lines.places], code_lines(case, layout, pairs))
    assert not tables.any()


def test_fill_tables():
    case, users = problem(2, 5, shape=(40, 40), n_ratings=500), np.array([39, 2, 40, *range(36), 0], np.int32)
    tables = empty_tables(len(users), 40)  # user 40 is unknown, 39 has no ratings
    fill_tables(users, history(case), tables)
    assert_same_tables(tables, tables_of(case, users))
    without_codes = tables._replace(rated=np.full_like(tables.rated, 9), codes=np.empty((2, 0, 32), np.uint8))
    fill_tables(users, history(case), without_codes)
    np.testing.assert_array_equal(without_codes.rated, tables.rated)
