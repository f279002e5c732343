"""Lists for MovieLens 1M: a user's held-out last rating among 99 films."""

import re

import numpy as np
import pytest
from support import data

from gpukit import read_ratings
from gpukit.factorization import MatrixFactorization

pytestmark = pytest.mark.data
FEW = 10  # ratings


@pytest.fixture(scope="module")
def fitted():
    """A small model, because the ranking head depends on the ratings only."""
    train = read_ratings(data("ncf/ml-1m.train.rating"))
    assert len(np.unique(train.values)) == 5
    return MatrixFactorization(n_factors=4, n_epochs=2, device="cpu").fit(train)


def hits_and_gains(fitted, by):
    """Return HR@10 and NDCG@10."""
    lines = data("ncf/ml-1m.test.negative").read_text().splitlines()  # (user,item)<tab>item<tab>item ...
    users, items = np.split(np.array([re.findall(r"\d+", line) for line in lines], np.int64), [1], axis=1)
    users = np.repeat(users, items.shape[1])
    scores = fitted.pair_scores((users, items.ravel()), by=by).reshape(items.shape)
    rank = (scores[:, 1:] > scores[:, :1]).sum(axis=1)
    return (rank < 10).mean(), ((rank < 10) / np.log2(rank + 2)).mean()


@pytest.mark.slow
def test_lists_hit_what_users_rated_next(fitted):
    hits, gains = hits_and_gains(fitted, "lists")
    assert hits >= 0.70 and gains >= 0.43
    assert hits_and_gains(fitted, "rating")[0] < 0.40


@pytest.mark.slow
def test_lists_hold_what_is_known(fitted):
    """Listed films have enough ratings, and the lists together contain many films."""
    rows = np.searchsorted(fitted.item_ids_, fitted.recommend(n=10)[0])
    assert (fitted.rating_counts()[1][rows] < FEW).mean() < 0.02
    assert len(np.unique(rows)) > 800
