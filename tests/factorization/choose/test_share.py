"""Candidates that are not better than damped biases, and shrinkage of earlier versions' checkpoints."""

import numpy as np
import pytest

from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.model.state import State, shrink_state

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


def test_biases_that_were_learned_keep_the_share_too():
    """Predictions are interpolated between the baseline and the full model."""
    rng, base, bias = np.random.default_rng(0), 2, 0
    extras = [rng.normal(size=(rows, 3)).astype(np.float32) for rows in (7, 5)]
    sides = [rng.normal(size=(rows, 4)).astype(np.float32) for rows in (7, 5)]
    whole = State(sides[0], extras[0], sides[1], extras[1], rng.normal(size=(5, 2, 0)), np.zeros((5, 0), np.int32))
    part = shrink_state(whole, 0.25)

    def predicted(state):
        own, other = state.user_extras[:, bias], state.item_extras[:, bias]
        return own[:, None] + other + state.user_factors @ state.item_factors.T

    baseline = extras[0][:, base][:, None] + extras[1][:, base]
    np.testing.assert_allclose(predicted(part) - baseline, 0.25 * (predicted(whole) - baseline), atol=1e-6)
    assert shrink_state(whole, 1.0) is whole
