"""The kernels by which ranks with copies of rows add one another's changes, against twins and plain sums."""

import numpy as np
import pytest

pytestmark = pytest.mark.kernel

from support import launch

from factorization.shared.data import of_halves
from gpukit.factorization.model.layout import EXTRA
from gpukit.factorization.shared import kernels, twins

SHAPES = [(1, 4), (5, 12), (33, 32)]  # rows, factors


def table_of(rows, factors, half, seed=0):
    """(parameter rows, the same numbers as float32 factors and extras): eighths, which halves hold."""
    rng = np.random.default_rng(seed)
    numbers, extras = (rng.integers(-64, 64, (rows, n)).astype(np.float32) / 8 for n in (factors, EXTRA))
    stored = of_halves(numbers) if half else numbers
    return np.hstack((stored, extras)), np.hstack((numbers, extras))


def changes_of(rows, factors, seed):
    """Changes that a rank has taken, eighths as well."""
    return np.random.default_rng(seed).integers(-64, 64, (rows, factors + 4)).astype(np.float32) / 8


def numbers_of(table, factors, half):
    """(rows, F + 4) the numbers of a table that travel."""
    first = table.shape[1] - EXTRA
    stored = np.ascontiguousarray(table[:, :first])
    values = stored.view(np.float16).astype(np.float32) if half else stored
    return np.hstack((values[:, :factors], table[:, first : first + 4]))


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("rows, factors", SHAPES)
def test_take_changes(rows, factors, half):
    table, plain = table_of(rows, factors, half)
    taken, before = changes_of(rows, factors, 1), changes_of(rows, factors, 1)
    found = [np.full_like(taken, 77) for _ in range(2)]
    launch(kernels.make_take_changes(half), 3, 64, table, taken, *found)
    np.testing.assert_array_equal(taken, numbers_of(table, factors, half))
    for array in found:
        np.testing.assert_array_equal(array, taken - before)
    by_twin = before.copy(), *(np.full_like(taken, 77) for _ in range(2))
    twins.take_changes(plain, *by_twin)
    for its, own in zip(by_twin, (taken, *found), strict=True):
        np.testing.assert_array_equal(its, own)


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("rows, factors", SHAPES)
def test_add_changes(rows, factors, half, vector):
    """What all ranks have changed, less what is there already."""
    table, plain = table_of(rows, factors, half)
    before, (own, sums, taken) = table.copy(), (changes_of(rows, factors, seed) for seed in (1, 2, 3))
    of_twin = taken.copy()
    expected = taken + (sums - own)
    launch(kernels.make_add_changes(half, vector), 3, 64, own, sums, table, taken)
    np.testing.assert_array_equal(taken, expected)
    difference = numbers_of(table, factors, half) - numbers_of(before, factors, half)
    np.testing.assert_array_equal(difference, sums - own)
    np.testing.assert_array_equal(table[:, 4 - EXTRA :], before[:, 4 - EXTRA :])
    twins.add_changes(own, sums, plain, of_twin)
    np.testing.assert_array_equal(of_twin, taken)
    np.testing.assert_array_equal(plain[:, :factors], numbers_of(table, factors, half)[:, :factors])
    np.testing.assert_array_equal(plain[:, factors:], table[:, -EXTRA:])
