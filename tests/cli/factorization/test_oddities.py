"""Numbers among ratings that are probably not ratings."""

import numpy as np
import pytest

from gpukit.cli.factorization.oddities import no_rating, sign_of_none

TEN = np.tile(np.arange(1, 11), 5).astype(np.float32)


@pytest.mark.parametrize(
    "ratings, sign",
    [
        (np.r_[TEN, [-1] * 9], -1),  # watched, not rated
        (np.r_[np.linspace(-10, 10, 300), 99, 99], 99),  # jokes that nobody heard
        (np.r_[TEN, [0] * 10], 0),  # clicks among ratings
        (np.r_[TEN, [0] * 9], None),  # zeros, not so frequent
        (TEN, None),
        (np.r_[TEN, 11, 11], None),
        ([-1, 0, 1] * 9, None),  # votes
        ([0.5, 1, 2, 3, 4, 5] * 9, None),
        ([1, 2, 4, 8, 16, 32], None),  # a single value is not an indication
        (np.random.default_rng(0).standard_cauchy(1000), None),
    ],
)
def test_a_value_that_means_none(ratings, sign):
    ratings = np.asarray(ratings, np.float32)
    assert sign_of_none(ratings) == sign
    assert no_rating(ratings).startswith(" (") == (sign is not None)


def test_its_share_is_told():
    ratings = np.r_[TEN, [-1] * 50].astype(np.float32)
    assert no_rating(ratings).startswith(" (50.0% of them are -1, apart from the others: if that means")
    assert no_rating(np.tile(ratings, 5000)).startswith(" (50.0% of them are -1")
