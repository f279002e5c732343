"""Biases damped to a line in the number of ratings.

Against the oracle, in a fit, in updates.
"""

import numpy as np
import pytest

from factorization import naive
from factorization.inputs import ordered, planted, same_state
from gpukit.cli.factorization.table import closing_table
from gpukit.factorization import MatrixFactorization, cpu
from gpukit.factorization.constants import RULES
from gpukit.factorization.prepare import training_data
from gpukit.factorization.prepare.training_data import order_weights
from gpukit.ratings import Ratings

steps = cpu


def popular(seed=0, slope=0.6, users=1500, items=400, n=6000):
    """Return ratings with mean `slope` log(1 + n / 5), and noise.

    n: ratings of the item.
    """
    rng = np.random.default_rng(seed)
    share = (np.arange(items) + 3.0) ** -0.9
    pairs = np.unique(rng.integers(0, users, n) * items + rng.choice(items, n, p=share / share.sum()))
    rows, columns = (side.astype(np.int32) for side in np.divmod(pairs, items))
    counts = np.bincount(columns, minlength=items)
    values = 3 + slope * (np.log1p(counts / 5) - 2)[columns] + rng.normal(0, 0.7, len(rows))
    return Ratings(
        rows, columns, np.clip(np.round(values), 1, 5).astype(np.float32), np.arange(users), np.arange(items)
    )


def center_and_fit(ratings, way):
    """Return (centered Scale, Scale, biases around the centered one) of Ratings."""
    orders = ordered(ratings)
    weights = order_weights(ratings, orders, steps)
    scale = training_data.scale_of(orders, ratings.values, ratings.weights)
    made = training_data.prepare_ratings(orders, scale, way, steps, weights)
    return made.scale, scale, made.baseline


@pytest.mark.parametrize("weights", [None, np.random.default_rng(3).integers(1, 4, 240).astype(np.float32)], ids=str)
@pytest.mark.parametrize("damping, shares", [((3.0, 2.0), (0.4, 0.7)), ((1e6, 12.0), (0.0, 1.0)), ((1.0, 5.0), (0, 0))])
def test_biases_of_the_oracle(weights, damping, shares):
    ratings = planted(40, 25, 0.4, seed=2).take(slice(0, 240))
    if weights is not None:
        ratings = ratings.with_columns(**{**ratings.columns(), "weights": weights / weights.mean()})
    orders = ordered(ratings)
    scale = training_data.scale_of(orders, ratings.values, ratings.weights)
    z = training_data.z_of_levels(orders, scale)
    found = training_data.trend_biases(orders, z, steps, damping, shares, order_weights(ratings, orders, steps))
    counts = np.ones(240) if weights is None else ratings.weights
    of_values = ((ratings.values - scale.mean) / scale.deviation).astype(np.float32).astype(float)
    expected = naive.biases_to_a_line(
        list(zip(ratings.users, ratings.items, of_values, counts)),
        ratings.shape,
        damping,
        shares,
        RULES.trend_sweeps,
    )
    for mine, true in zip(found, expected):
        np.testing.assert_allclose(mine, true, atol=1e-6)


def test_rows_without_ratings_stay_at_the_level():
    ratings = popular(n=800)
    level, scale, (users, items) = center_and_fit(
        ratings, training_data.PreparationOptions("users", 0, False, False, (3.0, 3.0), (0.5, 0.5))
    )
    assert level.mean != scale.mean
    for biases, rows in ((users, ratings.users), (items, ratings.items)):
        unrated = np.bincount(rows, minlength=len(biases)) == 0
        assert unrated.any() and not biases[unrated].any() and biases[~unrated].all()
    predicted = level.mean + scale.deviation * (users[ratings.users] + items[ratings.items])
    assert abs(predicted.mean() - ratings.values.mean()) < 0.02


@pytest.mark.slow
def test_a_trend_is_found_where_there_is_one():
    """Lower error on new ratings than biases around the mean.

    The difference is largest for items with few ratings.
    """
    train, test = popular().split(0.2, 0)
    fitted = MatrixFactorization(device="cpu").fit(train)
    users, items = fitted.chosen_["trend"]
    assert items > 0.5 and users < 0.5 and fitted.trials_[0]["trend"] == [users, items]
    damping = fitted.chosen_["damping"]
    _, plain, biases = center_and_fit(train, training_data.PreparationOptions("users", 0, False, False, tuple(damping)))
    around = plain.mean + plain.deviation * (biases[0][test.users] + biases[1][test.items])
    assert -fitted.score(test) < 0.99 * np.sqrt(np.mean((test.values - around) ** 2))
    rare = np.bincount(train.items, minlength=train.shape[1]) == 0
    assert fitted.predict(([0], [np.flatnonzero(rare)[0]])) < train.values.mean() - 0.3
    assert closing_table(fitted, train, test)[0]["train_rmse"] == pytest.approx(train.values.std(), rel=1e-5)


@pytest.mark.slow
def test_where_there_is_nothing_to_learn_it_does_no_harm():
    """Ratings of pure noise: no predictor is better than the mean."""
    for seed in range(3):
        train, test = popular(seed, slope=0.0).split(0.2, 0)
        fitted = MatrixFactorization(device="cpu").fit(train)
        assert -fitted.score(test) < 1.002 * np.sqrt(np.mean((test.values - train.values.mean()) ** 2))


@pytest.mark.slow
def test_updates_and_files_keep_the_trend(tmp_path, one_thread, without_retraining):
    train, more = popular(1).split(0.1, 0)
    fitted = MatrixFactorization(device="cpu").fit(train)
    fitted.save(tmp_path / "model")
    loaded = MatrixFactorization.load(tmp_path / "model")
    assert loaded.chosen_["trend"] == fitted.chosen_["trend"] and loaded.mean_ == fitted.mean_
    mean, trend_of = fitted.mean_, fitted.chosen_["trend"]
    assert same_state(fitted.partial_fit(more), loaded.partial_fit(more))
    assert fitted.mean_ == mean and fitted.chosen_["trend"] == trend_of
    anew = MatrixFactorization(device="cpu").fit(popular(1))
    together = mean + fitted.item_bias_.mean() - anew.mean_ - anew.item_bias_.mean()
    assert abs(together) < 0.05
