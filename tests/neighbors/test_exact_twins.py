"""Keys on the CPU against the shrunk correlation in plain loops and float64."""

import functools

import numpy as np
import pytest

from gpukit.neighbors import cpu, run
from gpukit.neighbors import search_twins as twins
from gpukit.neighbors.formulas import NOBODY
from gpukit.ratings import Ratings
from gpukit.runtime import thread_count
from gpukit.selection.twins import scores
from neighbors import naive
from neighbors.exact_inputs import CLICKS, SHAPES, case, clicked, clicks
from neighbors.inputs import columns

WORST, NO_LEVELS = 1 << 31, np.empty(0, np.uint32)


def similarity(made, table):
    """Return the oracle's matrix, of ratings as levels."""
    whole = run.whole_numbers(table.values, int(np.diff(table.indptr).max()))
    values = whole[np.searchsorted(table.values, made.values)].astype(float)
    return naive.gsm(made.users, made.items, values, made.shape[1])


def keys_of(table, first, n_rows, numbers=None):
    """Return the keys (n_rows, N) of query rows, NOBODY for pairs that are not listed; numbers: see select_pairs."""
    if numbers is None:
        numbers = run.whole_numbers(table.values, int(np.diff(table.indptr).max()))
    return whole_keys(cpu.select_pairs(table, numbers, len(table.indptr) - 1, [(first, first + n_rows)]), first)


def whole_keys(selections, first):
    """Return the keys (B, N) of complete selections; checks their order."""
    keys = []
    for begin, (items, values) in selections:
        assert begin == first + len(keys)
        for own, found in zip(items, values):
            n = int((own >= 0).sum())
            pairs = list(zip(found[:n].tolist(), own[:n].tolist()))
            assert pairs == sorted(set(pairs)) and (own[n:] == -1).all() and (found[n:] == NOBODY).all()
            keys.append(np.full(len(own), NOBODY))
            keys[-1][own[:n]] = found[:n]
    return np.array(keys)


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


@pytest.mark.parametrize("name", CLICKS)
def test_keys_of_clicks_are_damped_cosines(name):
    table = columns(clicks(name))
    expected = naive.cosines(clicked(name))
    keys = keys_of(table, 0, len(expected), NO_LEVELS)
    np.testing.assert_array_equal(keys != NOBODY, expected > 0)
    np.testing.assert_allclose(np.nan_to_num(scores(keys)), expected, rtol=1e-6, atol=0)


def test_counts_of_pairs():
    made, table = clicked("some meet few").astype(int), columns(clicks("some meet few"))
    pairs = np.full(made.shape[1], -1)
    twins.count_pairs(table.indptr, table.users, table.by_user.starts, pairs)
    np.testing.assert_array_equal(pairs, made.T @ made.sum(axis=1))


@pytest.mark.parametrize("n_neighbors", [1, 7, 65, 80])
def test_the_best_of_clicks_in_any_stripes(n_neighbors, monkeypatch):
    """Ties by the lower item, whatever the stripes and the number of threads."""
    table, selections = columns(clicks("no clicks on some")), []
    for most, threads in ((1 << 21, 1), (1, 2), (300, 3)):
        with monkeypatch.context() as patch:
            patch.setattr(run, "stripes", functools.partial(of_size, run.stripes, most))
            patch.setattr(thread_count._setting, "count", threads)
            parts = list(cpu.select_pairs(table, NO_LEVELS, n_neighbors, [(0, 9), (9, 65)]))
        assert len(parts) == 65 if most == 1 else len(parts) >= 2
        selections.append([np.concatenate(arrays) for arrays in zip(*(selected for _, selected in parts))])
    order = np.argsort(keys_of(table, 0, 65, NO_LEVELS), axis=1, kind="stable")
    for items, keys in selections:
        np.testing.assert_array_equal(items, selections[0][0])
        np.testing.assert_array_equal(keys, selections[0][1])
    for own, best in zip(selections[0][0], order):
        n = int((own >= 0).sum())
        assert own[:n].tolist() == best[:n].tolist()


def of_size(stripes, most, pairs, runs, n_neighbors, _):
    """Return stripes of another size."""
    return stripes(pairs, runs, n_neighbors, most)
