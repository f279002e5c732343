"""The oracles against each other, and against the results of reference programs on MQ2008."""

import numpy as np
import pytest
from support import data

from ranking import inputs, letor, naive


@pytest.fixture
def problem():
    at = inputs.queries([20, 1, 31, 2, 40], 3)
    return np.asarray(inputs.features(at, 5), np.float64), at.y, at.offsets


def test_the_gradient_and_the_hessian_are_the_objectives(problem):
    rng = np.random.default_rng(1)
    w, v, weight = rng.normal(size=5), rng.normal(size=5), rng.uniform(0.5, 2, 5)
    there, before, after = (naive.objective(w + shift * v, *problem, 0.7, weight) for shift in (0, -1e-6, 1e-6))
    assert there.gradient @ v == pytest.approx((after.f - before.f) / 2e-6, rel=1e-6)
    slope = (after.gradient - before.gradient) / 2e-6
    np.testing.assert_allclose(there.hessian_vector(v), slope, rtol=1e-4)


def test_pair_sums_give_the_same_objective(problem):
    """Eq. (6)-(8) from beta, alpha and gamma of Eq. (5), against the loop over pairs."""
    X, y, offsets = problem
    rng, C = np.random.default_rng(2), 0.3
    w, v = rng.normal(size=5), rng.normal(size=5)
    point = naive.objective(w, X, y, offsets, C)
    (up, down), (above, below), (plus, minus) = (
        naive.pair_sums(y, X @ w, u, offsets) for u in (np.ones(len(y)), X @ w, X @ v)
    )
    z = (up + down) * (X @ w) - (above + below)
    f = 0.5 * w @ w + C * ((X @ w) @ (z - 2 * (down - up)) + up.sum())
    assert point.f == pytest.approx(f, rel=1e-12)
    np.testing.assert_allclose(point.gradient, w + 2 * C * X.T @ (z - (down - up)), rtol=1e-11)
    product = v + 2 * C * X.T @ ((up + down) * (X @ v) - (plus + minus))
    np.testing.assert_allclose(point.hessian_vector(v), product, rtol=1e-11)


@pytest.mark.parametrize("name", inputs.CASES)
def test_both_ends_of_the_pairs_are_counted(name):
    at = inputs.case(name)
    ones = np.ones(len(at.y))
    plus, minus = naive.pair_sums(at.y, at.s, ones, at.offsets)
    everything = naive.pair_sums(at.y, 0 * at.s, ones, at.offsets)
    assert plus.sum() == minus.sum() <= naive.pair_count(at.y, at.offsets) == everything[0].sum()


def test_the_minimum_has_no_slope(problem):
    found = naive.minimize(*problem, 2.0, 1e-10)
    point, start = (naive.objective(w, *problem, 2.0) for w in (found.w, np.zeros(5)))
    assert np.linalg.norm(point.gradient) <= 1e-10 * np.linalg.norm(start.gradient)
    assert found.f == point.f and found.newton_steps > 1 and found.cg_steps > found.newton_steps


def test_a_query_of_weight_two_counts_as_two(problem):
    X, y, offsets = problem
    twice = np.concatenate([X, X[:20]]), np.concatenate([y, y[:20]]), np.append(offsets, offsets[-1] + 20)
    weighted, repeated = naive.minimize(*problem, 0.5, 1e-9, [2, 1, 1, 1, 1]), naive.minimize(*twice, 0.5, 1e-9)
    assert weighted.f == pytest.approx(repeated.f, rel=1e-10)
    assert weighted.f != pytest.approx(naive.minimize(*problem, 0.5, 1e-9).f, rel=1e-3)


FOLDS = {1: 29566.522846, 2: 26650.339392, 3: 22576.419192, 4: 24334.240528, 5: 28285.101148}


@pytest.mark.slow
@pytest.mark.parametrize("fold", FOLDS)
def test_mq2008_as_the_rivals_programs_find_it(fold):
    documents = letor.read(data(f"MQ2008/Fold{fold}/train.txt"))
    assert naive.minimize(*documents, 1.0, 1e-9).f == pytest.approx(FOLDS[fold], rel=1e-8)
