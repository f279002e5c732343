"""Fit of a model to new ratings before it learns them."""

import numpy as np
import pytest

from factorization.inputs import make, planted
from gpukit.device import cpu
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.constants import RULES
from gpukit.factorization.model.layout import BIAS
from gpukit.factorization.online import device_state as merge
from gpukit.factorization.online import inputs, run
from gpukit.factorization.online.device_state import DeviceState


def contrary(model, times, count=400):
    """Return (state, pairs, values) of new ratings: biases plus `times` the model's other terms."""
    draw, state, parameters = np.random.default_rng(1), DeviceState(model, cpu()), model._state
    users, items = (draw.integers(0, n, count).astype(np.int32) for n in (len(model.user_ids_), len(model.item_ids_)))
    biases = parameters.user_extras[users, BIAS] + parameters.item_extras[items, BIAS]
    added = run.predict_pairs(state, (users, items)) - biases
    values = (biases + times * added) * model._scale.deviation + model._scale.mean
    return state, (users, items), values.astype(np.float32)


@pytest.mark.parametrize("kind", [MatrixFactorization, LSHMF])
@pytest.mark.parametrize("times, expected", [(1, 1), (0.5, 0.5), (-1, 0), (2, 1)])
def test_the_share_is_what_new_ratings_confirm(kind, times, expected):
    model = make(kind, n_epochs=3).fit(planted(60, 30, 0.4))
    state, pairs, values = contrary(model, times)
    assert run.fit_share(state, model._state, pairs, values) == pytest.approx(expected, abs=0.02)
    nothing = tuple(rows[:0] for rows in pairs)
    assert run.fit_share(state, model._state, nothing, values[:0]) == 1


@pytest.mark.parametrize("n", [1, 2, 12])
def test_few_ratings_change_the_share_little(n):
    """Ratings without any of the other terms: the prior counts as four of them."""
    model = make(MatrixFactorization, n_epochs=3).fit(planted(60, 30, 0.4))
    state, pairs, values = contrary(model, 0, n)
    assert run.fit_share(state, model._state, pairs, values) == pytest.approx(4 / (n + 4), abs=0.01)


@pytest.mark.parametrize("side", ["user", "item"])
def test_ratings_of_new_rows_do_not_count(side):
    """Only new ratings in rows with earlier ones are compared with the model."""
    whole = planted(60, 30, 0.4)
    old = whole.take(whole.users < 50 if side == "user" else whole.items < 25)
    model = make(MatrixFactorization, n_epochs=3).fit(old)
    state, pairs, values = contrary(model, 0.5, 900)
    late = pairs[0] >= 50 if side == "user" else pairs[1] >= 25
    assert 30 < late.sum() < 870
    values[late] = 6 - values[late]
    batch = inputs.NewRatings(*pairs, values, model.user_ids_, model.item_ids_)
    _, first = np.unique(merge_keys(*pairs), return_index=True)
    batch = inputs.NewRatings(*(column[first] for column in batch[:3]), *batch[3:])
    changes = merge.find_changes(batch, merge.sort_batch(batch, state.ratings), state.ratings, "last")
    assert len(changes) > 0.9 * len(first)
    share = run.find_share(state, changes, state.ratings.counts(batch.shape))
    known = ~late[first]
    columns = (tuple(rows[first][known] for rows in pairs), values[first][known])
    assert share == pytest.approx(run.fit_share(state, model._state, *columns), abs=0.02)
    assert share == pytest.approx(0.5, abs=0.05)


def merge_keys(users, items):
    return users.astype(np.int64) << 32 | items


@pytest.mark.parametrize(
    "how, rows, bound", [({}, "anew", 1.2), ({"hashes": "kept"}, "move", 2), ({"rows": "frozen"}, "frozen", 1.05)]
)
def test_a_few_contrary_users_cost_the_others_little(how, rows, bound, monkeypatch):
    """Ratings of known users that contradict all factors change little for the others."""
    monkeypatch.setattr(RULES, "early_retraining", 0)
    whole = planted(60, 30, 0.5)
    model = make(MatrixFactorization, n_epochs=40).fit(whole)
    others, (_, pairs, values) = whole.take(whole.users < 50), contrary(model, -2, 2000)
    before, few = model.evaluate(others)["rmse"], pairs[0] >= 50
    given = model.user_ids_[pairs[0][few]], model.item_ids_[pairs[1][few]], values[few]
    model.partial_fit(given, widen_scale=True, **how)
    assert model.updates_[-1]["rows"] == rows
    assert model.evaluate(others)["rmse"] < bound * before
