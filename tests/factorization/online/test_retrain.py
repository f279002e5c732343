"""Retraining by an update of a model that outgrew its settings.

The update reports it.
"""

import copy

import numpy as np
import pytest

from factorization.inputs import make, planted, same_state
from gpukit.errors import DataError
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.online import inputs as plan
from gpukit.persist import load_model
from gpukit.ratings import Ratings

KNOWN = 50, 24


def cut(*shares):
    """Return ratings of the first users and items, and parts.

    Parts are the others, given as multiples of the first number.
    """
    whole = planted(60, 30, 0.5, seed=2)
    rest = np.random.default_rng(0).permutation(len(whole))
    first = rest[(whole.users[rest] < KNOWN[0]) & (whole.items[rest] < KNOWN[1])][:200]
    old = whole.take(first)
    old = Ratings(old.users, old.items, old.values, whole.user_ids[: KNOWN[0]], whole.item_ids[: KNOWN[1]])
    others, parts = np.setdiff1d(rest, first)[::-1], []
    for share in shares:
        parts.append(whole.take(others[: int(share * len(first))]))
        others = others[int(share * len(first)) :]
    return old, parts


def fitted(model=MatrixFactorization):
    return make(model, n_epochs=2, n_factors=4).fit(cut()[0])


@pytest.mark.parametrize("model", [MatrixFactorization, LSHMF])
def test_it_is_what_fit_makes_of_all_ratings(model):
    old, (part,) = cut(1.0)
    before = make(model, n_epochs=2, n_factors=4).fit(old)
    state, users = before._state, len(before.user_ids_)
    updated = copy.copy(before).partial_fit(part)
    columns = (np.concatenate([getattr(one, name) for one in (old, part)]) for name in ("users", "items", "values"))
    whole = Ratings(*columns, part.user_ids, part.item_ids)
    expected = make(model, n_epochs=2, n_factors=4).fit(whole.take(np.lexsort((whole.items, whole.users))))
    assert same_state(updated, expected) and updated._scale == expected._scale != before._scale
    assert before._state is state and not hasattr(before, "updates_") and len(before.user_ids_) == users
    (entry,) = updated.updates_
    assert entry["rows"] == plan.RETRAINED and entry["ratings"] == len(part) and entry["settled"] == 400
    assert entry["walked"] == 800 and entry["seconds"] == updated.timings_
    new = (len(np.setdiff1d(mine, known)) for mine, known in ((part.users, old.users), (part.items, old.items)))
    assert (entry["users"], entry["items"]) == tuple(new)


@pytest.mark.parametrize("stopping", [0, 2])
def test_nothing_is_held_out_again(stopping):
    """The new ratings are all learned, though the first training had held some out."""
    old, (part,) = cut(1.0)
    model = make(MatrixFactorization, n_epochs=2, n_factors=4, validation_fraction=0.25, early_stopping=stopping).fit(
        old
    )
    known = len(model._rated.items)
    model.partial_fit(part)
    assert model.updates_[-1]["rows"] == plan.RETRAINED and model.updates_[-1]["ratings"] == len(part)
    assert len(model._rated.items) == known + len(part) and model.validation_fraction == 0.25


def test_a_model_of_weights_is_not_retrained(tmp_path):
    """It does not store them, and a training without them would forget them."""
    old, (part,) = cut(1.0)
    weights = np.where(old.values > np.median(old.values), 50, 0.02).astype(np.float32)
    model = make(MatrixFactorization, n_epochs=2, n_factors=4).fit(old.with_columns(**old.columns(), weights=weights))
    model.save(tmp_path / "m.gpukit")
    before, model = model.predict(old).mean(), load_model(tmp_path / "m.gpukit").partial_fit(part)
    assert model.updates_[-1]["rows"] == "move" and len(model._rated.items) == len(old) + len(part)
    assert abs(model.predict(old).mean() - before) < 0.1 * old.values.std()


def test_it_is_counted_from_the_last_time():
    """Growth by a twenty-fifth, in any number of parts."""
    model, (_, parts) = fitted(), cut(0.03, 0.015, 0.03, 0.05)
    for part in parts:
        model.partial_fit(part)
    assert [entry["rows"] for entry in model.updates_] == ["move", "anew", "move", "anew"]


def test_frozen_rows_are_not_retrained():
    model = fitted().partial_fit(cut(1.5)[1][0], rows="frozen")
    assert model.updates_[-1]["rows"] == "frozen"


def test_known_pairs_go_by_the_rule():
    model, (old, (part,)) = fitted(), cut(1.2)
    columns = {name: np.concatenate((getattr(part, name), getattr(old, name)[:3])) for name in ("users", "items")}
    again = part.with_columns(
        **columns,
        values=np.append(part.values, np.where(old.values[:3] > 3, old.values[:3] - 0.5, old.values[:3] + 0.5)).astype(
            np.float32
        ),
    )
    state = model._state
    with pytest.raises(DataError, match="already"):
        model.partial_fit(again, duplicates="error")
    assert model._state is state and not hasattr(model, "updates_")
    model.partial_fit(again)
    entry = model.updates_[-1]
    assert entry["rows"] == "anew" and entry["corrected"] == 3 and len(model._rated.items) == len(old) + len(part)


def test_a_file_keeps_what_was_done(tmp_path):
    model = fitted().partial_fit(cut(1.0)[1][0])
    model.save(tmp_path / "m.gpukit")
    assert load_model(tmp_path / "m.gpukit").updates_ == model.updates_


@pytest.mark.parametrize("change", [{}, {"regularization": 0.21}, {"n_epochs": 5}])
def test_chosen_settings_stay(change):
    model = MatrixFactorization(n_factors=4, device="cpu").fit(cut()[0])
    model.chosen_ = {**model.chosen_, "n_epochs": 7, "regularization": 0.1, **change}
    settings = plan.settings_of_model(model, 10**8)
    assert settings.epochs == model.chosen_["n_epochs"] and settings.regularization == model.chosen_["regularization"]


@pytest.mark.parametrize("seed", range(3))
def test_the_scale_has_the_exact_ratings_of_a_rounded_history(seed):
    rng = np.random.default_rng(seed)
    pairs = rng.choice(400, 200, replace=False)
    users, items, values = pairs // 20, pairs % 20, (50 + 20 * rng.normal(size=200)).astype(np.float32)
    extremes = np.array([values.min(), values.max()])
    model = MatrixFactorization(n_factors=4, n_epochs=2).fit((users[:100], items[:100], values[:100]))
    model.partial_fit((users[100:], items[100:], values[100:]), widen_scale=True)
    assert model.updates_[-1]["rows"] == "anew" and model.scale_ == tuple(extremes)
    model.partial_fit((users[:2], items[:2], extremes))  # within the scale


def test_a_corrected_rating_no_longer_widens_the_scale():
    old, _ = cut()
    model = fitted()
    pair = old.user_ids[old.users[:1]], old.item_ids[old.items[:1]]
    model.partial_fit((*pair, np.array([50.0])), widen_scale=True)
    assert model.scale_[1] == 50
    more = cut(0.3)[1][0]
    users, items = (
        np.append(ids, first) for ids, first in zip((more.user_ids[more.users], more.item_ids[more.items]), pair)
    )
    model.partial_fit((users, items, np.append(more.values, old.values[:1])))
    assert model.updates_[-1]["rows"] == "anew" and model.scale_[1] == max(old.values.max(), more.values.max())
