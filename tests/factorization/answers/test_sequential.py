"""Sequential evaluation against a fold-in after every rating."""

import numpy as np
import pytest

from factorization.inputs import make, planted
from gpukit.errors import DataError
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.answers import fold_in
from gpukit.factorization.constants import DAMPING
from gpukit.ratings import Ratings, as_ratings


def stream(timed=True):
    """Ratings of the test: of users 0 to 2, known and not, of new users, and of an unknown item; rows in no order."""
    whole, rng = planted(60, 40, 0.3, seed=7), np.random.default_rng(0)
    chosen = np.flatnonzero((whole.users < 3) | (whole.users >= 55))
    chosen = rng.permutation(chosen)
    users, items, values = (column[chosen] for column in (whole.users, whole.items, whole.values))
    users, items, values = np.append(users, (1, 57)), np.append(items, (40, 40)), np.append(values, (2, 5))
    ids = whole.user_ids, np.append(whole.item_ids, whole.item_ids.max() + 5)
    times = rng.permutation(len(users)) // 2 if timed else None
    return Ratings(users.astype(np.int32), items.astype(np.int32), values.astype(np.float32), *ids, times=times)


def learned():
    """Training ratings, without the users from 50 on; those of users 0 to 2 are of the first 20 items only."""
    whole = planted(60, 40, 0.3, seed=7)
    kept = whole.take((whole.users < 50) & ((whole.users >= 3) | (whole.items < 20)))
    return as_ratings((kept.user_ids[kept.users], kept.item_ids[kept.items], kept.values))  # without ids of the others


def clipped(model, z):
    return np.clip(z * model._scale.deviation + model._scale.mean, model._scale.low, model._scale.high)


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("model", [MatrixFactorization, LSHMF])
def test_each_rating_is_predicted_from_the_earlier_ones(model, timed):
    test = stream(timed).take(np.ones(len(stream()), bool))
    fitted = make(model, n_epochs=8).fit(learned())
    test = test.take(~((test.users < 3) & (test.items < 20)))  # these are learned already
    found, rows, same = fitted._sequential(test)
    state, scale, prior = fitted._state, fitted._scale, fold_in.prior_of(fitted)
    rows_of, train = {item: row for row, item in enumerate(fitted.item_ids_.tolist())}, learned()
    for user in np.unique(same.users).tolist():
        places = np.flatnonzero(same.users == user)
        places = places[np.argsort(same.times[places], kind="stable")] if timed else places
        before = np.flatnonzero(train.user_ids[train.users] == same.user_ids[user])
        known = {rows_of[train.item_ids[train.items[at]]]: train.values[at] for at in before}
        known = {row: (value - scale.mean) / scale.deviation for row, value in known.items()}
        for number, place in enumerate(places.tolist()):
            given = fold_in.UserRatings(np.array(list(known), int), np.array(list(known.values()), float))
            own, row = fold_in.fit_user(state, given, prior), rows_of.get(same.item_ids[same.items[place]])
            z = own.bias if row is None else fold_in.predict_scores(state, given, own, np.array([row]))[0]
            assert found.predicted[place] == pytest.approx(clipped(fitted, z), abs=2e-6)
            base = 0.0 if row is None else float(state.item_extras[row, 2])
            base += sum(value - state.item_extras[item, 2] for item, value in known.items()) / (len(known) + DAMPING)
            assert found.by_biases[place] == pytest.approx(clipped(fitted, base), abs=2e-6)
            assert found.earlier[place] == len(before) + number
            if row is not None:
                known[row] = (same.values[place] - scale.mean) / scale.deviation
    assert rows == fitted.evaluate_sequentially(test)


def test_the_report():
    """A row for all and one a range of earlier ratings; ranges without ratings are left out."""
    fitted = make(MatrixFactorization).fit(learned())
    test = stream()
    found, rows, same = fitted._sequential(test.take(test.users >= 55))
    assert [row["earlier"] for row in rows] == ["all", "0", "1 to 4", "5 to 19"]
    assert sum(row["ratings"] for row in rows[1:]) == rows[0]["ratings"] == len(same)
    chosen = (found.earlier >= 1) & (found.earlier < 5)
    errors = same.values[chosen] - found.predicted[chosen].astype(float)
    assert rows[2]["rmse"] == pytest.approx(np.sqrt(np.mean(errors**2))) and rows[2]["ratings"] == chosen.sum()
    errors = same.values.astype(float) - found.by_biases
    assert rows[0]["biases_mae"] == pytest.approx(np.abs(errors).mean())


def test_refusals():
    clicks = make(MatrixFactorization, solver="ials", feedback="implicit").fit(learned())
    with pytest.raises(DataError, match="clicks predicts no ratings"):
        clicks.evaluate_sequentially(stream())
    fitted = make(MatrixFactorization).fit(learned())
    with pytest.raises(DataError, match="no ratings to judge by"):
        fitted.evaluate_sequentially(stream().take(np.zeros(len(stream()), bool)))
    with pytest.raises(DataError, match="rating.* 9"):
        fitted.evaluate_sequentially((np.array([0, 1]), np.array([2, 3])), np.array([3, 9]))
    with pytest.raises(DataError, match="pairs without ratings"):
        fitted.evaluate_sequentially((np.array([0, 1]), np.array([2, 3])))
