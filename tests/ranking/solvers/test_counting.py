"""The pair sums of DCM, OST and P-SWX on the CPU against all pairs."""

import numpy as np
import pytest

from gpukit.ranking.problem import Sums
from gpukit.ranking.solvers.counting import dcm, ost
from gpukit.ranking.twins.pair_sums import p_swx
from ranking import inputs, naive

SOLVERS = [dcm, ost, p_swx]


def pair_sums(solver, at, u):
    """Return problem.Sums; the solver must write every element."""
    sums = Sums(*np.full((2, len(u)), np.nan))
    solver(at.order, at.s, at.level, at.offsets.astype(np.int32), u, sums)  # as the library passes them
    return sums


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", inputs.CASES)
def test_counts_are_exact(name, solver):
    at = inputs.case(name)
    ones = np.ones(len(at.y))
    np.testing.assert_array_equal(pair_sums(solver, at, ones), naive.pair_sums(at.y, at.s, ones, at.offsets))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", inputs.CASES)
def test_sums(name, solver):
    at = inputs.case(name, seed=5)
    expected = naive.pair_sums(at.y, at.s, at.u, at.offsets)
    sizes = naive.pair_sums(at.y, at.s, abs(at.u), at.offsets)
    assert np.all(np.abs(np.subtract(pair_sums(solver, at, at.u), expected)) <= 1e-14 * np.array(sizes))


@pytest.fixture(scope="module")
def long_query():
    """5,000 documents in one query, many of them tied or exactly at the margin, and their sums."""
    at = inputs.queries([5000], 50, "margins")
    return at, naive.pair_sums(at.y, at.s, at.u, at.offsets)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_long_query(solver, long_query):
    at, expected = long_query
    np.testing.assert_allclose(pair_sums(solver, at, at.u), expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("solver", SOLVERS)
def test_many_queries_of_every_length(solver):
    """More queries than runs; documents are on both sides of the boundaries between runs."""
    rng = np.random.default_rng(2)
    at = inputs.queries(rng.integers(0, 40, 500), 3)
    ones = np.ones(len(at.y))
    np.testing.assert_array_equal(pair_sums(solver, at, ones), naive.pair_sums(at.y, at.s, ones, at.offsets))


@pytest.mark.parametrize("solver", SOLVERS)
def test_what_was_there_is_overwritten_and_inputs_are_left(solver):
    at = inputs.case("three levels")
    before = [array.copy() for array in at]
    first = pair_sums(solver, at, at.u)
    np.testing.assert_array_equal(pair_sums(solver, at, at.u), first)
    for array, copy in zip(at, before):
        np.testing.assert_array_equal(array, copy)
