"""Learning rates of an update, and the growth after which a model is retrained."""

import pytest

from gpukit.factorization.constants import RULES
from gpukit.factorization.online.inputs import has_grown, last_full_count, late_epochs
from gpukit.factorization.solvers.rates import sgd_defaults


@pytest.mark.parametrize("before, now, due", [(960, 1000, True), (961, 1000, False), (24, 25, True), (24, 24, False)])
def test_growth_by_a_twenty_fifth_is_due(before, now, due):
    assert has_grown(before, now) == due


def test_growth_is_counted_from_the_last_training():
    entries = [{"settled": 960, "ratings": 10}, {"settled": 960, "ratings": 20}]
    assert last_full_count(entries, 990) == 960 and last_full_count([], 990) == 990


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
