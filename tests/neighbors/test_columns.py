"""Columns: the order by item of ratings in orders; see tests/ratings/orders/test_orders.py for the order."""

import numpy as np
import pytest

from gpukit.device import cpu
from gpukit.neighbors.plan import columns_of
from gpukit.ratings.orders.order import order_ratings
from neighbors.inputs import ratings


@pytest.mark.parametrize("levels", [[3], [1, 2, 3, 4, 5], [-0.5, 0, 7.25], np.arange(200) / 7])
def test_columns_hold_every_rating_once(levels):
    made = ratings(60, 17, 0.4, levels, seed=4, empty=[0, 5])
    table = columns_of(order_ratings(made, cpu()))
    items = np.repeat(np.arange(17), np.diff(table.indptr))
    place = np.lexsort((made.values, made.items))  # stable: equal ratings of an item in the order of the input
    np.testing.assert_array_equal(items, made.items[place])
    np.testing.assert_array_equal(table.users, made.users[place])
    np.testing.assert_array_equal(table.values[table.levels], made.values[place])
    assert (np.diff(table.values) > 0).all() and table.values.dtype == np.float32
    kinds = [array.dtype for array in (table.indptr, table.users, table.levels)]
    assert kinds == [np.int64, np.int32, np.uint8] and len(table.values) <= 254
