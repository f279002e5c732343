"""Test RMSE on MovieLens 1M with the defaults, as documented.

The split is 90/10 by default_rng(0).
"""

import pytest

from gpukit.factorization import LSHMF, MatrixFactorization


@pytest.fixture(scope="module")
def rmse():
    """Return {model: test RMSE}."""
    from support import data

    from gpukit.ratings import read_ratings

    train, test = read_ratings(data("ml-1m/ratings.dat")).split(0.1, 0)
    models = {"plain": MatrixFactorization(device="cpu"), "neighbours": LSHMF(device="cpu")}
    return {name: -model.fit(train).score(test) for name, model in models.items()}


@pytest.mark.slow
def test_accuracy(rmse):
    """Random neighbours have .8448."""
    assert 0.80 < rmse["plain"] <= 0.8450
    assert 0.80 < rmse["neighbours"] <= 0.8360
    assert rmse["neighbours"] < rmse["plain"]
