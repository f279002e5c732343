"""Settings chosen by held-out clicks: where these stand, whose mean decides, how steadily."""

from types import SimpleNamespace

import numpy as np
import pytest

from bench.clicks.test_table10 import planted
from gpukit.bench import click_quality as quality
from gpukit.device import cpu
from gpukit.factorization import MatrixFactorization
from gpukit.factorization.implicit.prepared import Judges
from gpukit.ratings import Ratings


def learner(seed, epochs=6):
    """Least squares of a few factors."""
    named = {"n_factors": 4, "n_epochs": epochs, "random_state": seed, "unobserved_weight": 0.3, "regularization": 0.01}
    return MatrixFactorization(solver="ials", feedback="implicit", device="cpu", **named)


def handful(n_users, n_items=17):
    """(a State's factors, Ratings, (M, N) bool of them, Judges of some users); a user clicked all items but one."""
    random = np.random.default_rng(n_users)
    sides = (random.normal(size=(rows, 3)).astype(np.float32) for rows in (n_users, n_items))
    state = SimpleNamespace(user_factors=next(sides), item_factors=next(sides))
    clicked = random.random((n_users, n_items)) < 0.3
    clicked[:, 0], clicked[0], clicked[0, 4] = False, True, False
    users = np.flatnonzero(random.random(n_users) < 0.9) if n_users > 1 else np.zeros(1, int)
    items = np.array([random.choice(np.flatnonzero(~clicked[user])) for user in users])
    pairs = (side.astype(np.int32) for side in np.nonzero(clicked))
    clicks = Ratings(*pairs, np.ones(clicked.sum(), np.float32), np.arange(n_users), np.arange(n_items))
    return state, clicks, clicked, Judges(users, items, False)


@pytest.mark.parametrize("n_users", [1, 5, 2 * 1024 + 3])
def test_ranks_are_those_of_the_scores(n_users):
    """Tiles that are full, one that is not; users who do not judge."""
    state, clicks, clicked, judges = handful(n_users)
    expected = []
    for user, item in zip(judges.users, judges.items):
        scores = [float(np.dot(state.user_factors[user], row)) for row in state.item_factors]
        rivals = [score for other, score in enumerate(scores) if not clicked[user, other]]
        expected.append(1 + sum(score > scores[item] for score in rivals))
    assert quality.ranks(state, clicks, judges).tolist() == expected


def test_what_is_no_number_ranks_last():
    state, clicks, clicked, judges = handful(5)
    state.item_factors[:] = np.nan
    last = (~clicked[judges.users]).sum(axis=1)
    assert (quality.ranks(state, clicks, judges) > last).all()


def test_the_mean_over_draws_chooses(monkeypatch):
    """One setting is the best of a draw, another on the mean, by the geometric mean of ranks; the test is never
    asked."""
    ranks, asked = {(0.2, 0): 1.0, (0.3, 0): 20.0, (0.3, 1): 30.0, (0.3, 2): 45.0}, []

    def curve(prepared, judges, plan):
        rank = ranks.get((plan.unobserved_weight, prepared.estimator.random_state), 900.0)
        rank = rank if plan.regularization == 0.007 else 950.0
        return [np.log(factor * rank) for factor in (2.0, 1.0, 1.5)]

    held_out, clicks = quality.one_held_out, planted().clicks
    monkeypatch.setattr(quality, "one_held_out", lambda clicks, draw: asked.append(draw) or held_out(clicks, draw))
    monkeypatch.setattr(quality, "curve", curve)
    tried = [
        {"unobserved_weight": weight, "regularization": decay} for weight in (0.2, 0.3) for decay in (0.005, 0.007)
    ]
    named, rank = quality.choose_by_ranks(learner, clicks, cpu(), tried)
    assert named == {**tried[-1], "n_epochs": 4} and rank == pytest.approx(30.0)
    assert asked == [0, 1, 2]


def test_settings_that_learn_are_chosen(monkeypatch):
    """A setting that keeps all factors near zero loses; with three epochs only every second one is evaluated."""
    monkeypatch.setattr(quality, "DRAWS", range(2))
    tried = [{"regularization": value} for value in (1e4, 0.01)]
    named, rank = quality.choose_by_ranks(lambda seed: learner(seed, 3), planted().clicks, cpu(), tried)
    assert named == {"regularization": 0.01, "n_epochs": 2} and 1 < rank < 10


def gains(ranks):
    """What ranks from 1 are worth to NDCG among the first hundred."""
    return np.where(ranks <= 100, 1 / np.log2(1 + ranks), 0.0)


def test_ranks_tell_settings_apart_more_steadily_than_gains():
    """Ranks that are spread over many sizes, as those of held-out clicks are; one setting's are lower by 3 %."""
    random, right = np.random.default_rng(0), {"ranks": 0, "gains": 0}
    for _ in range(200):
        clicks = random.normal(np.log(40.0), 1.7, 1000)
        better, other = (np.ceil(np.exp(clicks + random.normal(low, 0.5, 1000))) for low in (-0.03, 0.0))
        right["ranks"] += np.log(better).mean() < np.log(other).mean()
        right["gains"] += gains(better).mean() > gains(other).mean()
    assert right["ranks"] > right["gains"] + 10
