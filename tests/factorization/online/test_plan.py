"""Part of the history that an update replays."""

import numpy as np
import pytest

from gpukit.factorization import settings as of_training
from gpukit.factorization.constants import RULES
from gpukit.factorization.online.inputs import Options, late_epochs, plan_replay
from gpukit.factorization.online.run import find_changed_items
from gpukit.factorization.solvers.rates import sgd_defaults


def training(epochs, annealing=0.87):
    """Settings of a training."""
    return of_training.Settings(epochs, "sgd", "adaptive", 0.2, 0.04, annealing, True, 0, 0, 32)


@pytest.mark.parametrize("before, new", [(700_000, 78_172), (685_077, 65_636), (49, 49), (3, 1), (10**8, 10**7 + 3)])
def test_the_whole_history_is_replayed_when_due(before, new):
    """For any rounding of the quotient of old and new ratings."""
    walk = plan_replay(None, before, before + new, before, training(12))
    assert walk.is_whole and walk.epochs == pytest.approx((0, 2.4, 4.8, 7.2, 9.6))


@pytest.mark.parametrize(
    "epochs, walked", [(1, (0,)), (3, (0,)), (4, (0, 2)), (8, (0, 8 / 3, 16 / 3)), (50, (0, 10, 20, 30, 40))]
)
def test_few_epochs_where_few_were_chosen(epochs, walked):
    """After a training of three epochs, five would overfit."""
    assert plan_replay(None, 100, 120, 100, training(epochs)).epochs == pytest.approx(walked)


def test_full_replays_of_many_sizes():
    sizes = ((before, before + before // 7 + 1) for before in range(10_000, 10_500))
    assert all(plan_replay(None, before, now, before, training(12)).is_whole for before, now in sizes)


def test_little_growth_trains_the_new_ratings():
    plan, now = training(12), 1_010_000
    walk = plan_replay(None, 1_000_000, now, 1_000_000, plan)
    assert not walk.is_whole and walk.share == 0.0 and walk.epochs == late_epochs(12, 0.87)
    assert plan_replay(None, 1_000_000, now, 960_000, plan).is_whole  # growth since the last full replay counts


def test_replay_is_obeyed():
    assert plan_replay(3.0, 1000, 1100, 0, training(12)).share == pytest.approx(0.3)
    assert plan_replay(0.0, 1000, 5000, 1000, training(12)).share == 0.0
    assert plan_replay(10.0, 1000, 1100, 1000, training(12)).is_whole


@pytest.mark.parametrize("n_ratings", [10**5, 10**6, 10**7, 10**8, 10**10])
def test_rows_move_however_many_ratings_anneal(n_ratings):
    """The rate of an update's first epoch against a training's.

    It was 0.007 at a hundred million.
    """
    plan = sgd_defaults("adaptive", n_ratings)
    places = late_epochs(plan["epochs"], plan["annealing"])
    assert len(places) == RULES.late_epochs
    assert plan["annealing"] ** places[0] == pytest.approx(RULES.late_rate, rel=0.03)
    assert places[1] - places[0] == 1


@pytest.mark.parametrize("epochs, annealing, late", [(1, 0.87, (0,)), (5, 0.87, (3, 4)), (30, 1.0, (28, 29))])
def test_the_last_epochs_where_rates_have_hardly_fallen(epochs, annealing, late):
    """Few epochs, and rates that fall by another rule."""
    assert late_epochs(epochs, annealing) == late


def test_items_whose_neighbours_are_looked_for_again():
    """Items with a tenth more ratings, and new items.

    The former only if rows may move and hashes are recounted.
    """
    before, now = np.array([0, 10, 10, 10, 0]), np.array([3, 11, 10, 12, 0])
    touched, plan = np.array([True, True, True, False, False]), training(12)
    part, whole = plan_replay(None, 1_000_000, 1_010_000, 1_000_000, plan), plan_replay(None, 1000, 1200, 1000, plan)

    def changed(walk, **settings):
        return np.flatnonzero(find_changed_items(before, now, touched, walk, Options(**settings))).tolist()

    assert changed(part) == [0, 1] and changed(whole) == [0, 1, 2]
    assert changed(whole, rows="frozen") == changed(whole, hashes="kept") == [0]
