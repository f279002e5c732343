"""Neighbours, scores and the random supplement on the CPU against lists in Python."""

import numpy as np
import pytest

from gpukit.neighbors import cpu
from gpukit.neighbors.plan import Items, Settings
from gpukit.neighbors.run import empty_lists, search
from neighbors import naive
from neighbors.inputs import random_orders, selection_of

CASES = [(2, 1, 3), (9, 1, 1), (9, 8, 5), (70, 33, 40), (65, 4, 2)]  # items, K, worst


def check(lists, selected, worst, seed):
    """Compare the lists with the oracle's, and the scores with the fractions of agreement."""
    pairs = [list(zip(*map(np.ndarray.tolist, row), strict=True)) for row in zip(*selected, strict=True)]
    expected = naive.supplemented(pairs, worst, random_orders(len(pairs), seed))
    assert lists.neighbors.tolist() == [neighbors for neighbors, _ in expected]
    assert lists.random_slots.tolist() == [count for _, count in expected]
    share = np.where(selected[1] < worst, (worst - selected[1].astype(np.float64)) / worst, np.nan)
    np.testing.assert_array_equal(lists.scores, share.astype(np.float32))


@pytest.mark.parametrize("n_items, k, worst", CASES)
def test_fill_slots(n_items, k, worst):
    selected, lists = selection_of(n_items, k, worst, seed=k), empty_lists(cpu, n_items, k)
    for first, last in ((0, n_items // 2), (n_items // 2, n_items)):
        cpu.fill_slots([array[first:last] for array in selected], first, worst, 2**40 + k, lists)
    check(lists, selected, worst, 2**40 + k)


def test_a_stripe_leaves_other_rows_alone():
    selected, lists = selection_of(9, 3, 4, seed=1), empty_lists(cpu, 9, 3)
    lists.neighbors[:], lists.random_slots[:] = -7, -7
    cpu.fill_slots([array[4:6] for array in selected], 4, 4, 0, lists)
    assert (np.delete(lists.neighbors, [4, 5], axis=0) == -7).all() and (lists.neighbors[4:6] >= 0).all()
    assert (lists.random_slots >= 0).tolist() == [4 <= item < 6 for item in range(9)]


def test_random_lists_are_all_supplement():
    lists = search(cpu, Items(None, None, np.ones(20, np.bool_)), Settings(19, search="random", seed=3))
    assert (lists.random_slots == 19).all() and np.isnan(lists.scores).all()
    for item, order in enumerate(random_orders(20, 3)):
        assert lists.neighbors[item].tolist() == [other for other in order if other != item]
