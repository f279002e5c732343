"""Choice of settings for few ratings; named settings are unchanged."""

import os
import signal

import numpy as np
import pytest

from factorization.inputs import planted, same_state
from gpukit import persist
from gpukit.device import cpu
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization import choose as choice
from gpukit.factorization.choose import RatingEvaluator, folds, held_out_biases, make_trial
from gpukit.factorization.constants import RULES
from gpukit.ratings import Ratings

BOTH = pytest.mark.parametrize("model", [MatrixFactorization, LSHMF])


def sparse(seed=0, noise=1.0):
    """Return (train, test): about five ratings per user of biases and noise."""
    rng = np.random.default_rng(seed)
    users, items = np.repeat(np.arange(400), 6), rng.integers(0, 150, 2400)
    once = np.unique(users * 1000 + items, return_index=True)[1]
    users, items = users[once].astype(np.int32), items[once].astype(np.int32)
    values = 3 + rng.normal(size=400)[users] + 0.5 * rng.normal(size=150)[items] + noise * rng.normal(size=len(users))
    values = np.clip(np.round(values), 1, 5).astype(np.float32)
    return Ratings(users, items, values, np.arange(400), np.arange(150)).split(0.15, 0)


def make(model, **parameters):
    """Return an estimator with open settings except for `parameters`."""
    return model(**{"device": "cpu", "lsh_q": 20, **parameters} if model is LSHMF else {"device": "cpu", **parameters})


@pytest.mark.slow
@BOTH
def test_damped_biases_win_where_there_is_no_more_to_learn(model, tmp_path):
    train, test = sparse()
    fitted = make(model).fit(train)
    chosen = fitted.chosen_
    assert chosen["predictor"] == "damped biases" and chosen["n_factors"] == chosen["n_epochs"] == 0
    assert not fitted.user_factors_.any() and not fitted.item_factors_.any() and fitted.neighbors_.shape == (150, 0)
    np.testing.assert_array_equal(fitted.user_bias_, fitted.user_baseline_)
    expected = fitted.mean_ + fitted.user_bias_[test.users] + fitted.item_bias_[test.items]
    np.testing.assert_allclose(fitted.predict(test), np.clip(expected, 1, 5), atol=1e-5)
    assert fitted.history_ == [] and fitted.trials_[0]["n_epochs"] == 0
    assert min(row["rmse"] for row in fitted.trials_[1:]) > 0.99 * fitted.trials_[0]["rmse"]
    fitted.save(tmp_path / "model")
    loaded = model.load(tmp_path / "model").set_params(device="cpu")
    assert loaded.chosen_ == chosen and loaded.trials_ == fitted.trials_ and loaded.score(test) == fitted.score(test)
    assert (loaded.recommend(n=3)[1] == fitted.recommend(n=3)[1]).all()


@pytest.mark.slow
def test_factors_win_where_there_is_taste():
    train, test = planted(100, 40, 0.5, seed=1).split(0.2, 0)
    fitted = make(MatrixFactorization).fit(train)
    assert fitted.chosen_["predictor"] == "MatrixFactorization" and fitted.chosen_["biases"] == "learned"
    best = min(fitted.trials_, key=lambda row: row["rmse"])
    for name in ("n_factors", "n_neighbors", "regularization", "n_epochs"):
        assert fitted.chosen_[name] == best[name], name
    assert len(fitted.history_) == best["n_epochs"]
    assert -fitted.score(test) < 0.9 * fitted.trials_[0]["rmse"]


def test_all_ratings_train_in_the_end():
    train, _ = planted(100, 40, 0.5, seed=1).split(0.2, 0)
    fitted = make(MatrixFactorization).fit(train)
    assert fitted._rated.indptr[-1] == len(train)
    z = fitted._rated.levels[fitted._rated.codes]
    assert fitted.mean_ + fitted._scale.deviation * z.mean() == pytest.approx(train.values.mean(), abs=1e-5)


@pytest.mark.parametrize(
    "named",
    [
        *(pytest.param(one, marks=pytest.mark.slow) for one in ({"n_factors": 7}, {"n_neighbors": 5}, {"n_epochs": 4})),
        {"regularization": 0.5},
        {"n_factors": 3, "n_neighbors": 2, "n_epochs": 2},
        {"learning_rate": 0.11},
    ],
    ids=str,
)
def test_what_is_named_is_obeyed(named):
    """Damped biases are best here, so an ignored parameter would show."""
    fitted = make(LSHMF, **named).fit(sparse()[0])
    assert {name: fitted.chosen_[name] for name in named} == named
    assert fitted.chosen_["predictor"] == "LSHMF" and len(fitted.history_) == fitted.chosen_["n_epochs"] > 0
    assert len(fitted.trials_) > 1
    for name in set(named) - {"learning_rate"}:
        assert {row[name] for row in fitted.trials_} == {named[name]}


def test_nothing_is_tried_where_all_is_named_or_ratings_are_plenty(monkeypatch):
    monkeypatch.setattr("gpukit.factorization.choose.folds", lambda *_: pytest.fail("something is tried"))
    ratings = sparse()[0]
    named = make(MatrixFactorization, n_factors=2, n_epochs=1, regularization=0.1).fit(ratings)
    paper = make(MatrixFactorization, n_factors=2, n_epochs=1, rates="paper").fit(ratings)
    for name in ("ratings_a_row", "few_ratings", "very_many_ratings"):
        monkeypatch.setattr(RULES, name, 2)
    plenty = make(LSHMF).fit(ratings)
    assert named.trials_ == paper.trials_ == plenty.trials_ == []
    chosen = plenty.chosen_
    assert (chosen["n_factors"], chosen["n_neighbors"], chosen["n_epochs"], chosen["biases"]) == (32, 32, 13, "learned")


def test_density_counts_the_longer_side():
    """Density depends on the larger number of rows.

    The shapes of MovieLens 1M, Netflix and Yahoo are dense. The same number of ratings with more users or items is not,
    nor is a table of a hundred items with seventy ratings per user.
    """
    plenty = [(899_942, (6040, 3706)), (99_072_112, (480_189, 17_770)), (252_800_275, (1_000_990, 624_961))]
    few = [
        (899_942, (60_400, 3706)),
        (899_942, (6040, 37_060)),
        (4_953_000, (480_189, 17_770)),
        (90_000, (943, 1682)),
        (1_800_000, (24_983, 100)),
    ]
    assert not any(choice.is_sparse(*one) for one in plenty) and all(choice.is_sparse(*one) for one in few)


def test_the_same_choice_in_any_order():
    """Of ratings and of ids."""
    train = planted(80, 40, 0.5, seed=2)
    random = np.random.default_rng(3)
    order, names = random.permutation(len(train)), [random.permutation(size) for size in train.shape]
    sides = [name[rows[order]].astype(np.int32) for name, rows in zip(names, (train.users, train.items))]
    other = Ratings(*sides, train.values[order], *(np.arange(size) for size in train.shape))
    one, same = (make(MatrixFactorization).fit(ratings) for ratings in (train, other))
    assert one.chosen_ == same.chosen_ and [row["rmse"] for row in one.trials_] == [row["rmse"] for row in same.trials_]


@pytest.mark.slow
def test_the_same_choice_each_time():
    train = planted(150, 40, 0.5, seed=2)  # enough for two workers
    one, same = (make(LSHMF, deterministic=True, n_epochs=3).fit(train) for _ in range(2))
    without = [{name: value for name, value in row.items() if name != "curve"} for row in one.trials_]
    assert without == [{name: value for name, value in row.items() if name != "curve"} for row in same.trials_]
    assert one.chosen_ == same.chosen_ and same_state(one, same)


def test_early_stopping_trains_on_all_again(one_thread):
    ratings = planted(100, 40, 0.5, seed=1)
    model = make(MatrixFactorization, n_factors=16, n_epochs=60, learning_rate=0.5, regularization=0.0)
    stopped = model.set_params(early_stopping=3, validation_fraction=0.2).fit(ratings)
    (trial,) = stopped.trials_
    rmse = [entry["rmse"] for entry in trial["curve"]]
    assert len(rmse) < 60 and len(stopped.history_) == trial["n_epochs"] == int(np.argmin(rmse)) + 1 == len(rmse) - 3
    assert stopped._rated.indptr[-1] == len(ratings) and "then trained on all" in stopped.chosen_["why"]
    again = model.set_params(early_stopping=0, validation_fraction=0.0, n_epochs=trial["n_epochs"]).fit(ratings)
    assert same_state(stopped, again)


@pytest.mark.slow
def test_going_on_does_not_choose_again(tmp_path, monkeypatch):
    train, _ = planted(100, 40, 0.5, seed=1).split(0.2, 0)
    whole = make(MatrixFactorization).fit(train)

    def stop(stage, done, total, info):
        if stage == "training" and done == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        make(MatrixFactorization).fit(train, progress=stop, checkpoint=tmp_path / "point")
    monkeypatch.setattr("gpukit.factorization.choose.folds", lambda *_: pytest.fail("it chooses again"))
    resumed = make(MatrixFactorization).fit(train, checkpoint=tmp_path / "point", resume=True)
    assert resumed.chosen_ == whole.chosen_ and len(resumed.trials_) == len(whole.trials_)
    assert same_state(resumed, whole)


@pytest.mark.parametrize(
    "name, value",
    [("n_factors", 0), ("damping", [1.0]), ("trend", [1.0]), ("epochs", -1), ("held", 3)],
)
def test_a_forged_choice_is_refused(tmp_path, name, value):
    from gpukit.errors import ModelError

    train, _ = planted(100, 40, 0.5, seed=1).split(0.2, 0)
    path = tmp_path / "point"

    def stop(stage, done, total, info):
        if stage == "training":
            os.kill(os.getpid(), signal.SIGINT)

    model = make(MatrixFactorization, n_factors=2, n_epochs=2, regularization=0.1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(train, progress=stop, checkpoint=path)
    header, arrays = persist.load_arrays(path)
    header["choice"][name] = value
    persist.save_arrays(path, header, arrays)
    with pytest.raises(ModelError, match=name):
        model.fit(train, checkpoint=path, resume=True)


# Very small and unusual ratings


def grid(values):
    """Return the Ratings of a dense table."""
    from gpukit.ratings import as_ratings

    return as_ratings(np.asarray(values, float))


@BOTH
def test_two_ratings(model):
    nan = np.nan
    fitted = make(model).fit(grid([[1, nan], [nan, 5]]))
    assert fitted.chosen_["predictor"] == "damped biases" and "too few" in fitted.chosen_["why"]
    low, high = fitted.predict(([0, 1], [0, 1]))
    assert 1 <= low < 3 < high <= 5


@BOTH
def test_equal_ratings_in_number(model):
    fitted = make(model, feedback="explicit").fit(grid(np.full((20, 30), 3.0)))
    assert fitted.chosen_["predictor"] == "damped biases" and (fitted.predict(([0, 5], [1, 99])) == 3).all()


def test_each_user_has_one_rating():
    rng = np.random.default_rng(0)
    users, items = np.arange(300, dtype=np.int32), rng.integers(0, 5, 300).astype(np.int32)
    values = np.clip(items + rng.integers(0, 2, 300), 1, 5).astype(np.float32)
    fitted = make(LSHMF).fit(Ratings(users, items, values, np.arange(300), np.arange(5)))
    assert -fitted.score((users, items), values) < 0.7 * values.std()
    assert fitted.chosen_["n_neighbors"] <= 4


def test_judges_are_many_and_nobody_judges_twice():
    from gpukit.factorization.constants import RULES

    ratings = planted(50, 40, 0.5)
    ratings = ratings.take(slice(0, 1000))
    parts = folds(ratings, 0)
    judged = np.concatenate([held.users.astype(int) * 40 + held.items for _, held in parts])
    assert len(parts) == 5 and len(np.unique(judged)) == len(judged)
    assert all(len(train) + len(held) == len(ratings) for train, held in parts)
    rng = np.random.default_rng(0)
    many = Ratings(
        *(rng.integers(0, 900, (2, 40_000)).astype(np.int32)), np.ones(40_000, np.float32), *[np.arange(900)] * 2
    )
    assert [len(held) for _, held in folds(many, 0)] == [4000, 4000]
    assert RULES.judging_ratings <= 8000 <= RULES.most_judging


def test_candidates_share_what_is_prepared(monkeypatch):
    """Ordering of ratings and neighbour search run once per part, not per candidate."""
    from gpukit.factorization import choose as choice

    calls = []
    original = choice.order_ratings
    monkeypatch.setattr(choice, "order_ratings", lambda *given: calls.append(1) or original(*given))
    monkeypatch.setattr(RULES, "most_parts", 2)
    fitted = make(LSHMF, n_epochs=1).fit(sparse()[0])
    assert len(calls) == 2 and len(fitted.trials_) in (len(RULES.decays) + 3, len(RULES.decays) + 4)


def test_many_epochs_that_are_named_are_trained_and_not_tried():
    """A candidate has 50 epochs at most, unless it stops earlier."""
    fitted = MatrixFactorization(n_factors=3, n_epochs=60, device="cpu").fit(planted(60, 40, 0.5))
    assert fitted.chosen_["n_epochs"] == 60 == len(fitted.history_)
    assert {len(trial["curve"]) for trial in fitted.trials_ if trial["n_factors"]} == {50}


@pytest.mark.slow
def test_no_bias_is_taken_that_predicts_worse_than_the_level():
    """The default damping is worse than the mean on noise.

    The choice detects this.
    """
    usual_is_worse = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        users, items = (side.ravel().astype(np.int32) for side in np.indices((20, 6)))
        noise = Ratings(users, items, rng.normal(size=120).astype(np.float32), np.arange(20), np.arange(6))
        evaluators = [RatingEvaluator(MatrixFactorization(), *fold, seed, cpu()) for fold in folds(noise, 0)]
        level = held_out_biases(evaluators, choice.NOTHING_ELSE, choice.LEVEL)
        best = choice.best_biases(evaluators)
        assert best.mean >= level.mean and held_out_biases(evaluators, *best.candidate).row == best.row
        usual_is_worse += held_out_biases(evaluators, (5.0, 5.0), choice.LEVEL).mean < level.mean
    assert usual_is_worse > 2


class Biases:
    """Errors that are least for dampings (20, 8), with the items' trend (20, 3), and for the trends `slopes`."""

    def __init__(self, *slopes):
        self.slopes, self.parts = slopes, np.random.default_rng(0).normal(size=(5, 4000))

    def biased(self, damping, trend):
        (users, items), (slope_of_users, slope) = damping, trend
        away = (own - taken for own, taken in zip(self.slopes, (slope_of_users, slope)))
        parts = np.log(users / 20), np.log(items / (3 if slope else 8)), *away, 0.1
        return np.asarray(parts) @ self.parts


@pytest.mark.parametrize(
    "slopes, damping, trend",
    [
        ((1.0, 1.0), (20.0, 3.0), (1.0, 1.0)),
        ((0.0, 0.8), (20.0, 3.0), (0.0, 1.0)),
        ((0.9, 0.2), (20.0, 8.0), (1.0, 0.0)),
        ((0.1, 0.1), (20.0, 8.0), (0.0, 0.0)),
    ],
)
def test_dampings_and_trends_are_those_of_the_least_error(slopes, damping, trend):
    best = choice.best_biases([Biases(*slopes)])
    assert best.candidate == (damping, trend) and best.row["rmse"] == rms_of(Biases(*slopes).biased(damping, trend))


def rms_of(errors):
    return np.sqrt(np.mean(errors**2))


def test_biases_that_may_be_better_by_luck_are_not_taken():
    """A trend is taken if it is better by more than a standard error over the ratings."""

    class Lucky(Biases):
        """The items' trend changes squared errors by 40 %, up or down at random, and lowers them in the mean."""

        def biased(self, damping, trend):
            errors = super().biased(damping, (trend[0], 0.5))
            signs = np.random.default_rng(6).choice((-1.0, 1.0), len(errors))
            signs *= -np.sign(signs @ errors**2)
            return errors * np.sqrt(1 + 0.4 * trend[1] * signs)

    lucky = Lucky(0.0, 0.5)
    flat, sloped = (held_out_biases([lucky], (20.0, 3.0), trend) for trend in (choice.LEVEL, choice.ITEMS))
    assert sloped.mean > flat.mean and not sloped.is_better(flat)
    assert choice.best_biases([lucky]).candidate == ((20.0, 3.0), (0.0, 0.0))


def test_errors_of_a_training_that_has_diverged():
    """They are worse than all others, and comparisons need no warning."""
    lost = make_trial("lost", np.array([1.0, np.nan, np.inf, 1e200]), {})
    good = make_trial("good", np.full(4, 1e3), {})
    assert good.is_better(lost) and not lost.is_better(good) and lost.row["rmse"] == np.inf


@pytest.mark.parametrize("named", [{}, {"n_neighbors": 24}])
def test_items_without_ratings_do_not_limit_neighbours(named):
    """A sample of the ratings leaves them out, and all items but one may be neighbours."""
    ratings = planted(40, 20)
    items = np.append(ratings.item_ids, np.arange(100, 105))
    wide = Ratings(ratings.users, ratings.items, ratings.values, ratings.user_ids, items)
    model = LSHMF(device="cpu", n_factors=4, **named).fit(wide)
    assert model.trials_ and model.neighbors_.shape[1] in ([24] if named else [0, 24])
