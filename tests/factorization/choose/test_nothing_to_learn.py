"""Candidates that are not better than damped biases."""

import numpy as np
import pytest

from gpukit.factorization import LSHMF, MatrixFactorization

BOTH = pytest.mark.parametrize("model", [MatrixFactorization, LSHMF])


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("seed", range(3))
def test_where_there_is_nothing_to_learn_it_is_as_good_as_damped_biases(model, seed):
    """Ratings of biases and noise only: the error is within 0.2 % of damped biases."""
    rng = np.random.default_rng(seed)
    users, items = rng.integers(0, 300, 6000), rng.integers(0, 150, 6000)
    values = 3 + 0.5 * rng.normal(size=300)[users] + 0.5 * rng.normal(size=150)[items] + rng.normal(size=6000)
    first = np.sort(np.unique(users * 1000 + items, return_index=True)[1])
    from gpukit.ratings import Ratings

    rows = users[first].astype(np.int32), items[first].astype(np.int32), values[first].astype(np.float32)
    train, test = Ratings(*rows, np.arange(300), np.arange(150)).split(0.3, seed)
    fitted = model(device="cpu", **({"lsh_q": 20} if model is LSHMF else {})).fit(train)
    biased = fitted.mean_ + fitted.user_baseline_[test.users] + fitted.item_baseline_[test.items]
    plain = np.sqrt(np.mean((np.clip(biased, *fitted.scale_) - test.values) ** 2))
    assert -fitted.score(test) <= 1.002 * plain
