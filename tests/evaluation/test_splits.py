"""Parts drawn at random: the numbers of numpy's generator, in order, whatever the threads."""

import numpy as np
import pytest

from gpukit.evaluation import splits
from gpukit.ratings import Ratings


@pytest.mark.parametrize("n", [0, 1, 63, 1000, splits.ALONE + 3, 2 * splits.ALONE + 5])
@pytest.mark.parametrize("seed, fraction", [(0, 0.1), (7, 0.5)])
def test_what_is_drawn_are_the_generators_numbers(n, seed, fraction):
    expected = np.random.default_rng(seed).random(n) >= fraction
    assert np.array_equal(splits.drawn(n, fraction, seed), expected)


@pytest.mark.parametrize("n", [0, 1, 63, 64, 1000])
def test_parts_keep_their_order(n):
    kept = np.random.default_rng(n).random(n) < 0.3
    columns = {"a": np.arange(n, dtype=np.int32), "b": np.arange(n) * 0.5}
    inside, outside = splits.parted(columns, kept)
    for name, column in columns.items():
        assert np.array_equal(inside[name], column[kept]) and inside[name].dtype == column.dtype
        assert np.array_equal(outside[name], column[~kept])


def test_ratings_are_split_with_all_their_columns():
    n = 500
    times = np.arange(n, dtype=np.int64)
    users, items = np.repeat(np.arange(25), 20).astype(np.int32), np.tile(np.arange(20), 25).astype(np.int32)
    ids = np.arange(25), np.arange(20)
    ratings = Ratings(users, items, np.arange(n, dtype=np.float32), *ids, times=times)
    train, test = ratings.split(0.2, 3)
    kept = np.random.default_rng(3).random(n) >= 0.2
    assert np.array_equal(train.times, times[kept]) and np.array_equal(test.items, items[~kept])
    assert train.weights is None and len(train) + len(test) == n
