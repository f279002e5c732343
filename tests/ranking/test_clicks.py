"""Clicks with position bias: weights of clicked documents against every pair, and the order that they recover."""

import numpy as np
import pytest

from gpukit import RankSVM
from gpukit.documents import position_weights
from ranking import naive


def make_clicks(seed, queries=400, size=10, eta=1.0):
    """Return (X, relevance, clicks, position, qid) of lists that were shown in the order of a feature of no relevance.

    Position k is examined with probability k^-eta; an examined document is clicked if it is relevant, and a tenth of
    the time if not.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(queries * size, 4))
    relevance = X[:, 0] - 0.5 * X[:, 1] + 0.2 * rng.normal(size=len(X)) > 0.8
    qid = np.repeat(np.arange(queries), size)
    shown = X[:, 2] + 0.5 * X[:, 1]
    position = np.concatenate([1 + np.argsort(np.argsort(-part)) for part in shown.reshape(queries, size)])
    examined = rng.random(len(X)) < position.astype(float) ** -eta
    clicks = examined & (relevance | (rng.random(len(X)) < 0.1))
    return X, relevance.astype(float), clicks.astype(float), position, qid


@pytest.mark.parametrize("seed", range(4))
def test_weights_recover_the_order_that_positions_hide(seed):
    X, relevance, clicks, position, qid = make_clicks(seed)
    weights = position_weights(clicks, position)
    biased = RankSVM(C=0.01, device="cpu").fit(X, clicks, qid)
    unbiased = RankSVM(C=0.01, device="cpu").fit(X, clicks, qid, sample_weight=weights)
    best = RankSVM(C=0.01, device="cpu").fit(X, relevance, qid).score(X, relevance, qid)
    lost = [best - model.score(X, relevance, qid) for model in (biased, unbiased)]
    assert lost[0] > 0.01 and lost[1] < lost[0] / 3


@pytest.mark.parametrize("solver", ["auto", "dcm", "p-swx"])
def test_each_pair_of_a_click_has_the_inverse_propensity_of_the_click(solver):
    X, _, clicks, position, qid = make_clicks(9, queries=30)
    offsets = np.arange(0, len(X) + 1, 10)
    high, low = naive.pairs(clicks, offsets)
    assert not clicks[low].any()
    model = RankSVM(C=0.3, scale="none", solver=solver, eps=1e-9, device="cpu")
    model.fit(X, clicks, qid, sample_weight=position_weights(clicks, position, 0.7))
    slack = np.maximum(0, 1 - (X[high] - X[low]) @ model.coef_)
    losses = position[high] ** 0.7 * slack**2
    assert model.objective_ == pytest.approx(model.coef_ @ model.coef_ / 2 + 0.3 * losses.sum(), rel=1e-12)
    gradient = model.coef_ - 0.6 * (position[high] ** 0.7 * slack) @ (X[high] - X[low])
    assert np.linalg.norm(gradient) < 1e-6 * np.linalg.norm(0.6 * position[high] ** 0.7 @ (X[high] - X[low]))
