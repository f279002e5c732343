"""The search for settings, over candidates with prescribed scores."""

from types import SimpleNamespace

import numpy as np
import pytest

from gpukit.factorization import MatrixFactorization
from gpukit.factorization.constants import RULES
from gpukit.factorization.implicit import choosing
from gpukit.factorization.settings import check
from gpukit.model_selection.trial import Budget

OPEN = {"n_factors", "n_epochs", "regularization", "unobserved_weight"}
USERS = np.linspace(0.0, 0.5, 100)  # differences between users, equal for all settings


class Draw:
    """An evaluator whose scores are a function of settings.Settings.

    asked: all trained settings, in order.
    """

    def __init__(self, worth, budget, shape=(6000, 4000)):
        self.worth, self.budget, self.asked = worth, budget, []
        clicks = type("Clicks", (), {"shape": shape, "counts": None, "times": None, "__len__": lambda self: 50_000})()
        self.prepared = SimpleNamespace(clicks=clicks)

    def measure_with_additions(self, plan, state):
        assert state == (("base", "partner") if plan.mixed else "base")
        return np.stack([self.worth(plan) + USERS] * 3)

    def train(self, plan, patience=0):
        self.asked.append(plan)
        self.budget.spend(1)
        values = np.stack([self.worth(plan) + USERS] * 3)
        return values, plan.epochs, [], "partner" if plan.solver == "sampled" else "base"


def search_of(worth, free=OPEN, limit=1e12):
    """Return a choosing.ClickSearch on such draws, and `rows`, all that it reports."""
    budget, rows = Budget(limit), []
    draws = [Draw(worth, budget) for _ in range(RULES.click_draws)]
    search = choosing.ClickSearch(None, set(free), draws, 0, lambda trial: rows.append(trial.row))
    search.rows = rows
    return search


def plan(**changes):
    """Return the default settings.Settings of least squares."""
    return check(MatrixFactorization(solver="ials"), 100, "implicit")._replace(**changes)


def far(value, goal):
    """Return the absolute logarithm of the ratio of two numbers."""
    return abs(np.log(value / goal))


def peak(settings, weight=1.1, decay=0.01):
    """Return a score that falls with the distance from a ridge.

    It falls less steeply along the ridge.
    """
    ridge = settings.regularization * settings.unobserved_weight**0.5
    return 1.0 - 0.1 * far(ridge, decay * weight**0.5) - 0.05 * far(settings.unobserved_weight, weight)


def test_the_search_comes_near():
    best = choosing.search_settings(search_of(peak), plan()).candidate
    assert far(best.unobserved_weight, 1.1) < np.log(3.0) / 2 and far(best.regularization, 0.01) < np.log(2.0) / 2
    assert best.n_factors == RULES.search_factors and best.epochs == 4


@pytest.mark.parametrize(
    ("free", "best", "asked"), [(OPEN, 8, {4, 8, 12}), (OPEN, 4, {4, 8}), ({*choosing.AXES}, 4, {4})]
)
def test_more_epochs_are_tried(free, best, asked):
    search = search_of(lambda one: peak(one) + 0.3 * (one.epochs == best), free)
    found = choosing.search_settings(search, plan()).candidate
    assert found.epochs == best and {one.epochs for one in search.draws[0].asked} == asked


def test_the_mean_decides_on_epochs():
    """Both for significant and for random differences."""
    search = search_of(lambda one: LUCKY * (one.epochs == 8))
    assert choosing.add_epochs(search, search.run(plan(epochs=4))).candidate.epochs == 8


@pytest.mark.parametrize("counts, expected", [((1, 2), True), ((3, 3), False), (None, False)])
def test_weights_by_counts_are_tried_if_counts_differ(counts, expected):
    search = search_of(lambda one: 0.1 * one.counted)
    search.clicks.counts = counts and np.array(counts)
    assert choosing.search_settings(search, plan()).candidate.counted == expected


def test_weights_by_counts_have_to_be_better():
    search = search_of(lambda one: LUCKY * one.counted)
    search.clicks.counts = np.array([1, 2])
    assert not choosing.search_settings(search, plan()).candidate.counted


def test_settings_are_trained_once():
    search = search_of(peak)
    first = search.run(plan())
    assert search.run(plan()).candidate == first.candidate and len(search.rows) == len(search.draws[0].asked) == 1


def test_further_draws_decide_between_candidates_that_are_close():
    """The score of a user is the mean over the draws."""
    search = search_of(lambda one: LUCKY * (one.regularization == 0.02))
    search.draws[1].worth = lambda one: -3 * LUCKY * (one.regularization == 0.02)
    start = search.run(plan(regularization=0.01))
    best, other = search.compare(start, plan(regularization=0.02))
    np.testing.assert_allclose(other.scores - best.scores, -LUCKY)
    assert [len(draw.asked) for draw in search.draws] == [2, 2] and len(search.rows) == 2


@pytest.mark.parametrize("change", [0.1, -0.1])
def test_one_draw_decides_between_candidates_that_are_not(change):
    search = search_of(lambda one: change * (one.regularization == 0.02))
    best, other = search.compare(search.run(plan(regularization=0.01)), plan(regularization=0.02))
    assert other.gain(best)[0] == pytest.approx(change) and not search.draws[1].asked


def test_steps_that_may_be_luck_are_not_taken():
    """The defaults stay unless others are better for most users.

    Others are better on average here.
    """
    usual = plan()
    worth = lambda one: LUCKY * (one.regularization != usual.regularization)  # noqa: E731
    found = choosing.search_settings(search_of(worth), usual).candidate
    assert (found.regularization, found.unobserved_weight) == (usual.regularization, usual.unobserved_weight)


@pytest.mark.parametrize("free", [{"regularization"}, {"unobserved_weight"}, set()])
def test_what_is_named_stays(free):
    search = search_of(peak, free)
    choosing.add_factors(search, choosing.search_settings(search, plan(n_factors=17)))
    for axis in ("regularization", "unobserved_weight"):
        values = {getattr(one, axis) for one in search.draws[0].asked}
        assert (len(values) > 1) == (axis in free)
    assert {one.n_factors for one in search.draws[0].asked} == {17}


def test_what_is_not_clicked_and_the_regularization_hold_parameters_together():
    further = choosing.move_along("unobserved_weight", OPEN, plan(unobserved_weight=0.3, regularization=0.01), 4.0)
    assert (further.unobserved_weight, further.regularization) == (1.2, 0.005)
    alone = choosing.move_along("unobserved_weight", set(), plan(unobserved_weight=0.3, regularization=0.01), 4.0)
    assert (alone.unobserved_weight, alone.regularization) == (1.2, 0.01)


def grown_of(worth, limit=1e12, shape=(6000, 4000), spent=0.0):
    """Return (tried numbers of factors after 64, the chosen number)."""
    search = search_of(worth, limit=limit)
    for draw in search.draws:
        draw.prepared.clicks.__class__.shape = shape
    first = search.run(plan(n_factors=64, epochs=4))
    search.budget.spend(spent)
    best = choosing.add_factors(search, first)
    sizes = [one.n_factors for one in search.draws[0].asked]
    assert sizes[0] == 64
    return sizes[1:], best.candidate.n_factors


def test_more_factors_are_taken_if_they_are_better():
    at_least = lambda least: lambda one: 0.01 * (one.n_factors >= least)  # noqa: E731
    for least, sizes, size in ((512, [128, 256], 128), (256, [128, 256, 512], 256), (0, [128, 256], 128)):
        assert grown_of(at_least(least)) == (sizes, size)
    assert grown_of(lambda one: -one.n_factors) == ([128], 64)


def test_luck_does_not_decide_on_factors():
    """128 factors are taken unless they are worse.

    The mean is 0.001 higher, the standard error ten times as large.
    """
    assert grown_of(lambda one: LUCKY * (one.n_factors > 128)) == ([128, 256], 128)
    assert grown_of(lambda one: -LUCKY * (one.n_factors == 128))[1] >= 128


@pytest.mark.parametrize("shape", [(301, 4000), (4000, 301)])
def test_no_more_factors_than_half_the_users_or_items(shape):
    assert grown_of(lambda one: one.n_factors, shape=shape) == ([128, 150], 150)
    search = search_of(peak)
    search.clicks.__class__.shape = tuple(size // 10 for size in shape)
    assert choosing.search_settings(search, plan()).candidate.n_factors == 15


def test_no_more_factors_than_the_budget_allows():
    """Half of the rest is kept for additions."""
    work = [2 * 4 * choosing.units(plan(n_factors=size), 50_000, (6000, 4000)) for size in (128, 256)]
    for left, sizes in ((1.01 * work[1], [128, 256]), (0.99 * work[1], [128]), (0.99 * work[0], [])):
        found = grown_of(lambda one: one.n_factors, left + 1e6, spent=1e6 - 10)
        assert found == (sizes, max([64, *sizes]))


LUCKY = np.random.default_rng(1).permutation(np.tile([0.101, -0.099], 50))


def added_to(worth, monkeypatch, second=50_000, sizes=(1.0, 1.0)):
    """Return the search and the chosen settings for prescribed scores of additions.

    sizes: of the scores of both models.
    """
    monkeypatch.setattr(choosing, "deviation", lambda state: sizes[state == "partner"])
    monkeypatch.setattr(choosing, "partner", lambda estimator, plan, *size: plan._replace(solver="sampled"))
    search = search_of(worth)
    search.clicks.items = np.array([0, 0, 1, 1])
    base = plan(n_factors=64)
    trial = choosing.choose_addition(search, base, base._replace(n_factors=256), second)
    assert trial.candidate.n_factors == 256 and not any(draw.asked for draw in search.draws[1:])
    return search, trial.candidate


def test_popularity_alone_unless_something_is_better(monkeypatch):
    """An improvement has to be significant; otherwise no second model is trained."""
    search, alone = added_to(lambda settings: LUCKY * (settings.popular < 1), monkeypatch)
    assert (alone.popular, alone.mixed) == (1.0, 0.0) and len(search.draws[0].asked) == 1
    assert added_to(lambda settings: 0.01 * (settings.popular < 1), monkeypatch)[1].popular == 0.0


def test_popularity_is_added_if_it_is_better(monkeypatch):
    """Its root mean square is a fixed fraction of that of the scores."""
    for size in (1.0, 0.5):
        better = lambda one: 0.1 * (one.popular < 1) + 0.1 * (0 < one.popular < 1)  # noqa: E731
        popular = added_to(better, monkeypatch, 0, (size, 1.0))[1].popular
        assert popular / (1 - popular) == pytest.approx(size * RULES.popularity_ratio, rel=0.05)
    worth = lambda one: 0.1 * (one.popular < 1) + LUCKY * (0 < one.popular < 1)  # noqa: E731
    assert added_to(worth, monkeypatch, 0)[1].popular == 0.0


def test_a_second_model_is_added_unless_it_is_worse(monkeypatch):
    """Its root mean square is a fixed fraction of the first model's."""
    worth = lambda change: lambda one: 0.1 * (one.popular < 1) + change * (one.mixed > 0)  # noqa: E731
    for change in (0.1, -LUCKY):
        mixed = added_to(worth(change), monkeypatch, sizes=(3.0, 2.0))[1]
        assert mixed.mixed == choosing.round_digits(1.5 * RULES.second_ratio) and mixed.popular == 0.0
    for change, second in ((-0.1, 50_000), (0.1, 0)):
        search, plain = added_to(worth(change), monkeypatch, second)
        assert (plain.mixed, len(search.draws[0].asked)) == (0.0, 1 + (second > 0))


def test_the_weight_of_a_second_model_is_that_for_more_clicks(monkeypatch):
    mixed = added_to(lambda one: 0.1 * (one.popular < 1), monkeypatch, 100_000)[1].mixed
    assert mixed == choosing.round_digits(0.5**RULES.addition_growth * RULES.second_ratio) < RULES.second_ratio


def test_the_search_ends_where_its_budget_is_spent():
    whole, short = search_of(peak), search_of(peak, limit=3)
    for search in (whole, short):
        choosing.add_factors(search, choosing.search_settings(search, plan()))
    few, many = (len(one.draws[0].asked) for one in (short, whole))
    assert few <= 4 < many  # two draws use the budget; one more trial has 64 factors


def test_every_candidate_is_reported():
    search = search_of(peak)
    choosing.add_factors(search, choosing.search_settings(search, plan()))
    assert len(search.rows) == len(search.draws[0].asked)
    assert all(row["users"] == len(USERS) for row in search.rows)


def weighted(worth, monkeypatch, size=0.5):
    """Return the chosen settings for prescribed scores, if item weights may be added; size: of their scores."""
    monkeypatch.setattr(choosing, "without_factors", lambda state: state)
    monkeypatch.setattr(choosing, "deviation", lambda state: 1.0)
    search = search_of(lambda one: 0.1 * (one.popular < 1) + worth(one))
    search.clicks.items = np.array([0, 0, 1, 1])
    search.draws[0].deviation_of_weights = lambda decay: size
    base = plan(n_factors=64)
    return choosing.choose_addition(search, base, base._replace(n_factors=256), 0, 70.0).candidate


def test_item_weights_are_added_unless_they_are_worse(monkeypatch):
    """Of two shares the one with the higher mean; the size of an addition is relative to that of the scores."""
    for size in (0.5, 2.0):
        added = weighted(lambda one: 0.01 * one.ease * (one.solver == "ials"), monkeypatch, size)
        assert added.ease == choosing.round_digits(RULES.item_weight_ratios[-1] / size)
        assert (added.solver, added.ease_decay, added.n_factors) == ("ials", 70.0, 256)
    assert weighted(lambda one: -LUCKY * (0 < one.ease < 0.6), monkeypatch).ease > 0
    assert weighted(lambda one: -0.01 * (one.ease > 0), monkeypatch).ease == 0.0
    kept = weighted(lambda one: 0.1 * (0 < one.popular < 1) + 0.1 * (0 < one.ease < 0.6), monkeypatch)
    assert kept.popular > 0 and kept.ease == 0.5


def test_item_weights_alone_only_if_they_are_better(monkeypatch):
    alone = weighted(lambda one: 0.01 * (one.solver == "ease"), monkeypatch)
    assert (alone.solver, alone.ease, alone.epochs, alone.n_factors) == ("ease", 1.0, 0, 1)
    assert alone.regularization == 70.0 and alone.ease_decay == alone.popular == 0.0
    assert choosing.final_settings(alone, plan(epochs=12), False).epochs == 0
    assert weighted(lambda one: LUCKY * (one.solver == "ease"), monkeypatch).solver == "ials"
    for errors, solver in ((1.5, "ials"), (3.0, "ease")):  # a standard error of the difference is 0.01
        lead = LUCKY + 0.01 * errors
        assert weighted(lambda one, lead=lead: lead * (one.solver == "ease"), monkeypatch).solver == solver


def test_regularization_of_item_weights_for_all_clicks():
    ridge = type("Ridge", (), {"at": staticmethod(lambda n_clicks: float(n_clicks))})
    assert choosing.with_ridge(plan(ease=0.0), None, 5, 50).ease_decay == 0.0
    added = choosing.with_ridge(plan(ease=0.3, ease_decay=1.0), ridge, 5, 50)
    assert added.ease_decay == 50.0 and added.ease == choosing.round_digits(0.3 * 10**RULES.addition_growth)
    alone = choosing.with_ridge(plan(ease=1.0, solver="ease"), ridge, 5, 50)
    assert (alone.regularization, alone.ease) == (50.0, 1.0)
