"""Keys on the CPU against the shrunk correlation in plain loops and float64."""

import numpy as np
import pytest

from gpukit.neighbors.formulas import NOBODY
from gpukit.neighbors.plan import Items, Settings
from gpukit.neighbors.search.exact import cpu, plan
from gpukit.ratings import Ratings
from neighbors import naive
from neighbors.inputs import columns
from neighbors.search.exact.inputs import SHAPES, case

WORST = 1 << 31


def similarity(made, table):
    """Return the oracle's matrix, of ratings as levels."""
    whole = plan.whole_numbers(table.values, int(np.diff(table.indptr).max()))
    values = whole[np.searchsorted(table.values, made.values)].astype(float)
    return naive.gsm(made.users, made.items, values, made.shape[1])


def keys_of(table, first, n_rows):
    """Return the keys of a stripe of query rows."""
    keys = np.full((n_rows, len(table.indptr) - 1), 77, np.uint32)
    cpu.stripes(Items(table, None, np.diff(table.indptr) > 0), Settings(1, search="exact"))(first, keys)
    return keys


@pytest.mark.parametrize("name", SHAPES)
def test_keys_are_shrunk_correlations(name):
    made = case(name)
    table = columns(made)
    expected, keys = similarity(made, table), keys_of(table, 0, made.shape[1])
    positive = expected > 1e-12
    np.testing.assert_array_equal(keys != NOBODY, positive)
    np.testing.assert_allclose(1 - keys[positive] / WORST, expected[positive], rtol=0, atol=2.0**-31 + 1e-12)
    assert keys[positive].max(initial=0) < WORST


@pytest.mark.parametrize("first, n_rows", [(0, 1), (5, 9), (32, 1)])
def test_a_stripe_of_rows(first, n_rows):
    table = columns(case("stars"))
    np.testing.assert_array_equal(keys_of(table, first, n_rows), keys_of(table, 0, 33)[first : first + n_rows])


def test_items_that_agree_perfectly_score_what_their_count_says():
    """n / (n + 100) with n common raters, for any scale of one item."""
    users, values = np.tile(np.arange(50, dtype=np.int32), 2), np.tile(np.float32([1, 3]), 25)
    items, values = np.repeat(np.int32([0, 1]), 50), np.concatenate([values, values / 2 + 1])
    keys = keys_of(columns(Ratings(users, items, values, np.arange(50), np.arange(2))), 0, 2)
    assert keys[0, 1] == keys[1, 0] == int((1 - 50 / 150) * WORST) and keys[0, 0] == keys[1, 1] == NOBODY
