"""Shrinkage of a candidate towards damped biases.

Certain gains are kept, random ones are not.
"""

import math

import numpy as np
import pytest

from factorization.inputs import planted
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.choose.choice import blended, share_of
from gpukit.factorization.model.state import State, shrunk

BOTH = pytest.mark.parametrize("model", [MatrixFactorization, LSHMF])


def errors_of(strength, seed, n=4000):
    """Return (errors of a candidate, of damped biases).

    The candidate adds noise; the fraction `strength` of it is true.
    """
    rng = np.random.default_rng(seed)
    added = 0.1 * rng.normal(size=n)
    than = strength * added + rng.normal(size=n)
    return than - added, than


@pytest.mark.parametrize(
    "than, tried, share",
    [
        ([0.9, 0.1, 0.9, 0.1], 1, 0.5 * (1 - 1 / 6.25)),  # 0.5 is 2.5 of its standard errors of 0.2
        ([0.9, 0.1, 0.9, 0.1], 2, 0.5 * (1 - 1.3862944 / 6.25)),
        ([0.9, 0.1, 0.9, 0.1], 22, 0.5 * (1 - 6.1820849 / 6.25)),
        ([0.9, 0.1, 0.9, 0.1], 23, 0.0),  # expected by chance for the best of 23 candidates
        ([-0.9, -0.1, -0.9, -0.1], 1, 0.0),
        ([0.5, 0.5, 0.5, 0.5], 99, 0.5),  # certain
        ([2.0, 2.0, 2.0, 2.0], 1, 1.0),
        ([1.9, 1.1, 1.9, 1.1], 1, 1.0),
    ],
    ids=str,
)
def test_shares_worked_out_by_hand(than, tried, share):
    """The best fit is the mean with its standard error.

    The candidate adds 1 to each prediction.
    """
    than = np.array(than)
    for unit in (1.0, 1e-3):
        assert share_of(unit * (than - 1), unit * than, tried) == pytest.approx(share, abs=1e-7)


@pytest.mark.parametrize("tried", [1, 6])
def test_errors_that_are_larger_where_more_is_added_are_less_certain(tried):
    """The standard error of the best fit equals that of a bootstrap."""
    rng = np.random.default_rng(0)
    added = rng.normal(size=1500)
    than = 0.5 * added + 1.5 * added * rng.normal(size=1500) + rng.normal(size=1500)

    def best(rows):
        return np.linalg.lstsq(added[rows, None], than[rows], rcond=None)[0][0]

    spread = np.std([best(rng.integers(0, 1500, 1500)) for _ in range(600)])
    slope = best(slice(None))
    luck = max(1.0, 2 * math.log(tried)) * (spread / slope) ** 2
    assert 0.02 < luck < 0.9
    assert share_of(than - added, than, tried) == pytest.approx(slope * (1 - luck), rel=0.05)


def test_luck_is_not_believed_and_certainty_is():
    shares = np.array([[share_of(*errors_of(strength, seed), 6) for seed in range(40)] for strength in (0, 0.5, 1)])
    assert (shares[0] == 0).mean() > 0.9 and shares[0].max() < 0.3
    assert 0.3 < shares[1].mean() < 0.5 and (np.abs(shares[2] - 0.9) < 0.2).mean() > 0.7
    one, many = (share_of(*errors_of(0.6, 1), tried) for tried in (1, 50))
    assert many < one


def test_a_share_is_never_worse_on_the_ratings_that_judge():
    for seed in range(20):
        for strength in (-0.3, 0.2, 0.7, 1.2):
            errors, than = errors_of(strength, seed, 500)
            assert np.mean(blended(errors, than, share_of(errors, than, 6)) ** 2) <= np.mean(than**2)


def test_a_candidate_that_adds_nothing_has_no_share():
    errors = np.ones(9)
    assert share_of(errors, errors, 6) == 0.0
    assert share_of(np.full(9, np.nan), errors, 6) == 0.0  # it has diverged


@pytest.mark.slow
@BOTH
def test_a_share_of_what_factors_and_neighbours_add(model, one_thread, monkeypatch):
    train, test = planted(100, 40, 0.5, seed=1).split(0.2, 0)
    added, trends = [], 2  # two slopes of biases are tried, whose shares stay
    for share in (1.0, 0.25):

        def patched(errors, than, tried, share=share):
            return share_of(errors, than, tried) if tried == trends else share

        monkeypatch.setattr("gpukit.factorization.choose.choice.share_of", patched)
        fitted = model(device="cpu").fit(train)
        assert fitted.chosen_["share"] == share and ("25%" in fitted.chosen_["why"]) == (share < 1)
        fitted.scale_, fitted._scale = (-99, 99), fitted._scale._replace(low=-99, high=99)
        biased = fitted.mean_ + fitted.user_baseline_[test.users] + fitted.item_baseline_[test.items]
        added.append(fitted.predict(test) - biased)
    assert np.abs(added[0]).mean() > 0.1
    np.testing.assert_allclose(added[1], 0.25 * added[0], atol=1e-5)


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
    part = shrunk(whole, 0.25)

    def predicted(state):
        own, other = state.user_extras[:, bias], state.item_extras[:, bias]
        return own[:, None] + other + state.user_factors @ state.item_factors.T

    baseline = extras[0][:, base][:, None] + extras[1][:, base]
    np.testing.assert_allclose(predicted(part) - baseline, 0.25 * (predicted(whole) - baseline), atol=1e-6)
    assert shrunk(whole, 1.0) is whole
