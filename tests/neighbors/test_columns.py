"""Columns: ratings by item and level."""

from types import SimpleNamespace

import numpy as np
import pytest

from gpukit.errors import DataError
from gpukit.neighbors.columns import columns, levels_of
from neighbors.inputs import ratings


@pytest.mark.parametrize("levels", [[3], [1, 2, 3, 4, 5], [-0.5, 0, 7.25], np.arange(200) / 7])
def test_columns_hold_every_rating_once(levels):
    made = ratings(60, 17, 0.4, levels, seed=4, empty=[0, 5])
    table, place = columns(made, places=True)
    items = np.repeat(np.arange(17), np.diff(table.indptr))
    np.testing.assert_array_equal(items, made.items[place])
    np.testing.assert_array_equal(table.users, made.users[place])
    np.testing.assert_array_equal(table.values[table.levels], made.values[place])
    assert (np.diff(table.values) > 0).all() and table.values.dtype == np.float32
    order = items * 1000.0 + table.levels
    assert (np.diff(order) >= 0).all() and (np.diff(place)[np.diff(order) == 0] > 0).all()


def test_many_values_go_to_the_nearest_of_254_levels():
    made = ratings(80, 40, 0.5, np.random.default_rng(0).random(3000) * 9, seed=4)
    table, place = columns(made, places=True)
    assert len(table.values) == 254
    step = (made.values.max() - made.values.min()) / 253
    assert np.abs(table.values[table.levels] - made.values[place]).max() <= 0.5001 * step


@pytest.mark.parametrize("order", [1, -1])
def test_254_values_are_kept_and_255_are_not(order):
    """Of which no part of the ratings, looked through by a thread, has more than a sixteenth."""
    values = np.arange(255, dtype=np.float32)[::order] / 4
    codes, levels = levels_of(values[:254])
    np.testing.assert_array_equal(levels[codes], values[:254])
    assert len(levels) == 254 and (np.diff(levels) > 0).all()
    codes, levels = levels_of(values)
    assert len(levels) == 254 and not (levels[codes] == values).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("distinct", [3, 1000])
def test_ratings_that_are_not_finite(bad, distinct):
    values = np.append(np.arange(distinct), bad).astype(np.float32)
    where = np.zeros(distinct + 1, np.int32)
    made = SimpleNamespace(users=where, items=where, values=values, shape=(1, 1))
    with pytest.raises(DataError, match="finite"):
        columns(made)


def test_no_ratings():
    nothing = np.zeros(0, np.int32)
    with pytest.raises(DataError, match="no ratings"):
        columns(SimpleNamespace(users=nothing, items=nothing, values=np.zeros(0, np.float32), shape=(0, 0)))
