"""Learning from clicks on the CPU against the oracle."""

import numpy as np
import pytest

from factorization.inputs import TURN, pack, rates, unpack
from factorization.solvers.sampled import naive
from factorization.solvers.sampled.inputs import KEY, assert_learned, clicked_problem, draw_of, trail_of, visits
from gpukit.factorization.model.layout import cpu_layout
from gpukit.factorization.solvers import sampled_formulas
from gpukit.factorization.solvers.sampled_twins import sampled_epoch


def learned(case, layout, trail, steps, draw, workers=1):
    """Return the Problem's State after sampled_epoch."""
    parameters, near = pack(case, layout)
    sampled_epoch(trail.chunks, trail.clicks, near, parameters, steps, TURN, draw, workers)
    return unpack(case, layout, parameters)


@pytest.mark.parametrize("pairwise", [False, True])
@pytest.mark.parametrize("n_factors, n_neighbors", [(1, 0), (33, 0), (1, 1), (32, 33), (130, 5)])
def test_one_worker(n_factors, n_neighbors, pairwise):
    case = clicked_problem(n_factors, n_neighbors)
    trail, draw = trail_of(case), draw_of(pairwise=pairwise)
    state = learned(case, cpu_layout(n_factors, n_neighbors), trail, rates(), draw)
    assert_learned(case, state, visits(case, trail, draw), rates(), pairwise)


@pytest.mark.parametrize("negatives", [0, 1, 8])
@pytest.mark.parametrize("longest", [1, 1000])
def test_negatives_and_chunks(negatives, longest):
    case = clicked_problem(4, 3, seed=2)
    trail, draw = trail_of(case, longest), draw_of(negatives)
    assert_learned(
        case, learned(case, cpu_layout(4, 3), trail, rates(), draw), visits(case, trail, draw), rates(), False
    )


@pytest.mark.parametrize("pairwise", [False, True])
def test_users_with_nearly_all_clicks(pairwise):
    """Few negatives, and never the same twice in a row.

    Three users clicked all five items except at most one.
    """
    case = clicked_problem(4, 3, shape=(4, 5), n_ratings=11, seed=3)
    trail, draw = trail_of(case), draw_of(4, pairwise)
    seen = visits(case, trail, draw)
    assert len(seen) < len(trail.pairs) * (5 + pairwise)
    assert_learned(case, learned(case, cpu_layout(4, 3), trail, rates(), draw), seen, rates(), pairwise)


def test_slots_without_a_neighbour():
    case = clicked_problem(5, 3, seed=4)
    layout, trail = cpu_layout(5, 3)._replace(near=6), trail_of(case)
    assert_learned(
        case, learned(case, layout, trail, rates(), draw_of()), visits(case, trail, draw_of()), rates(), False
    )


def test_several_workers_see_every_click():
    """Sums of squared errors are equal up to the order of additions.

    All other rates are 0.
    """
    case = clicked_problem(3, 2, shape=(9, 40), n_ratings=150, seed=5)
    steps = rates()._replace(factor=np.float32(0), bias=np.float32(0), influence=np.float32(0))
    trail = trail_of(case, workers=2)
    one, two = (learned(case, cpu_layout(3, 2), trail, steps, draw_of(), workers) for workers in (1, 2))
    np.testing.assert_allclose(one.user_extras, two.user_extras, rtol=1e-5)
    np.testing.assert_array_equal(one.item_factors, two.item_factors)


@pytest.mark.parametrize("number", [0, 1, 2**32 - 1, 2**32, 2**40 + 7])
def test_what_is_drawn(number):
    for attempt in range(naive.TRIES):
        expected = naive.drawn(KEY, number, attempt, 3706)
        assert sampled_formulas.draw_item(np.uint32(KEY), number, attempt, 3706) == expected
    assert (sampled_formulas.TRIES, sampled_formulas.NOBODY) == (naive.TRIES, naive.NOBODY)


def test_draws_are_even_and_no_two_epochs_alike():
    items = [[sampled_formulas.draw_item(np.uint32(key), number, 0, 10) for number in range(20_000)] for key in (1, 2)]
    counts = np.bincount(items[0], minlength=10)
    assert abs(counts - 2000).max() < 6 * 1800**0.5
    assert 0.05 < np.mean(np.array(items[0]) == items[1]) < 0.15


@pytest.mark.parametrize("score", [-1e30, -40, -5, -0.1, 0, 0.1, 5, 40, 1e30])
def test_chance(score):
    with np.errstate(over="ignore"):
        expected = 1 / (1 + np.exp(-np.float64(score)))
    assert abs(sampled_formulas.chance(np.float32(score)) - expected) < 1e-7
