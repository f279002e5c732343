"""Fit of a model to new ratings before it learns them."""

import numpy as np
import pytest

from factorization.inputs import make, planted
from gpukit.device import cpu
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.model.layout import BIAS
from gpukit.factorization.update import drift, merge, retrain, run
from gpukit.ratings import Ratings


def known(model):
    """Return (run.Model, run.Trainer) of a fitted estimator."""
    history = merge_history(model)
    return run.Model(model._state, history, model._scale, 0), run.trainer_of(model, cpu(), None)


def merge_history(model):
    return type(model._rated)(*map(np.asarray, model._rated))


def arriving(model, times, count=400):
    """A MergedHistory of new pairs.

    Ratings are biases plus `times` the model's other terms.
    """
    draw, (facts, trainer) = np.random.default_rng(1), known(model)
    users, items = (draw.integers(0, n, count).astype(np.int32) for n in (len(model.user_ids_), len(model.item_ids_)))
    biases = facts.state.user_extras[users, BIAS] + facts.state.item_extras[items, BIAS]
    added = drift.predict_pairs(facts, (users, items), trainer) - biases
    values = (biases + times * added) * facts.scale.deviation + facts.scale.mean
    ratings = Ratings(users, items, values.astype(np.float32), model.user_ids_, model.item_ids_)
    return merge.MergedHistory(ratings, np.ones(count, bool), 0)


def nobody(model):
    return tuple(np.zeros(len(ids), bool) for ids in (model.user_ids_, model.item_ids_))


@pytest.mark.parametrize("kind", [MatrixFactorization, LSHMF])
@pytest.mark.parametrize("times, expected", [(1, 1), (0.5, 0.5), (-1, 0), (2, 1)])
def test_the_share_is_what_new_ratings_confirm(kind, times, expected):
    model = make(kind, n_epochs=3).fit(planted(60, 30, 0.4))
    facts, trainer = known(model)
    assert drift.fit_share(facts, arriving(model, times), nobody(model), trainer) == pytest.approx(expected, abs=0.02)


def test_rows_that_are_new_and_old_ratings_do_not_judge():
    model = make(MatrixFactorization, n_epochs=3).fit(planted(60, 30, 0.4))
    facts, trainer = known(model)
    good, bad = arriving(model, 0.5), arriving(model, -5)
    new_users, no_items = nobody(model)
    new_users[30:] = True
    late = good.ratings.users >= 30
    mixed = good.ratings.with_columns(
        users=good.ratings.users,
        items=good.ratings.items,
        values=np.where(late, bad.ratings.values, good.ratings.values),
    )
    share = drift.fit_share(facts, good._replace(ratings=mixed), (new_users, no_items), trainer)
    assert share == pytest.approx(0.5, abs=0.03)
    share = drift.fit_share(facts, good._replace(ratings=mixed, new=~late), nobody(model), trainer)
    assert share == pytest.approx(0.5, abs=0.03)
    assert drift.fit_share(facts, good._replace(new=np.zeros(400, bool)), nobody(model), trainer) == 1


@pytest.mark.parametrize(
    "how, rows, bound", [({}, "anew", 1.2), ({"hashes": "kept"}, "move", 2), ({"rows": "frozen"}, "frozen", 1.05)]
)
def test_a_few_contrary_users_cost_the_others_little(how, rows, bound, monkeypatch):
    """Ratings of known users that contradict all factors change little for the others."""
    monkeypatch.setattr(retrain, "FEW", 0)
    whole = planted(60, 30, 0.5)
    model = make(MatrixFactorization, n_epochs=40).fit(whole)
    others, contrary = whole.take(whole.users < 50), arriving(model, -2, 2000).ratings
    before, few = model.evaluate(others)["rmse"], contrary.take(contrary.users >= 50)
    given = model.user_ids_[few.users], model.item_ids_[few.items], few.values
    model.partial_fit(given, widen_scale=True, **how)
    assert model.updates_[-1]["rows"] == rows
    assert model.evaluate(others)["rmse"] < bound * before
