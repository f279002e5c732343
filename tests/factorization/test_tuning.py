"""Choice of parameters by cross-validation: shared preparation, folds and the choice."""

import numpy as np
import pytest

from factorization.inputs import planted
from gpukit.errors import DataError, ParameterError
from gpukit.evaluation.splits import fold_numbers
from gpukit.factorization import LSHMF, tuning
from gpukit.factorization.constants import RULES
from gpukit.factorization.tuning import OPEN, Fold, Setting, Tuning, count_folds, estimator_of, summarize, tune
from gpukit.ratings import Ratings

TEMPLATE = LSHMF(lsh_q=8, device="cpu", random_state=3)
SETTINGS = (Setting(4, 5, 0.05), Setting(3, 0, 0.1), Setting(25, 2, 0.02, 0.1), Setting(4, 5, 0.05))
GRID = {"n_factors": [4], "n_neighbors": [0, 3], "regularization": [0.05, 5.0]}


LEARNABLE = planted(150, 30, 0.5, seed=3)


def small(**more):
    """A Tuned of planted ratings; two folds, twelve epochs."""
    return tune(LEARNABLE, **{"grid": GRID, "cv": 2, "epochs": 12, "estimator": TEMPLATE, **more})


def curve_of(fold, setting, epochs):
    """Return the RMSE by epoch of a setting on a fold."""
    return [row["rmse"] for row in fold.evaluate(setting, epochs)]


# --- folds


@pytest.mark.parametrize("n, folds", [(10, 2), (11, 3), (1000, 7), (5, 5), (0, 2)])
def test_folds_are_equal_parts_at_random(n, folds):
    numbers = fold_numbers(n, folds, 4)
    sizes = np.bincount(numbers, minlength=folds)
    assert sizes.sum() == n and sizes.max() - sizes.min() <= 1
    assert np.array_equal(numbers, fold_numbers(n, folds, 4))
    assert n < 100 or not np.array_equal(numbers, fold_numbers(n, folds, 5))


def test_only_so_many_folds_judge(monkeypatch):
    monkeypatch.setattr("gpukit.factorization.tuning.FOLDS", ((1e9, 10, 3),))
    search = Tuning(planted(), GRID, TEMPLATE)
    parts = [len(test) for _, test in search.folds()]
    assert len(parts) == 3 and sum(parts) == pytest.approx(0.3 * len(planted()), abs=3)


def test_every_rating_judges_once():
    ratings, search = planted(), Tuning(planted(), GRID, TEMPLATE, cv=3)
    folds = list(search.folds())
    judged = np.concatenate([test.users * 1000 + test.items for _, test in folds])
    assert len(folds) == 3 and sorted(judged) == sorted(ratings.users * 1000 + ratings.items)
    assert all(len(train) + len(test) == len(ratings) for train, test in folds)


def test_what_settings_share_changes_nothing(one_thread):
    train, test = planted().split(0.2, 0)
    fold = Fold(train, test, TEMPLATE, 5)
    for setting in SETTINGS:
        fitted = estimator_of(TEMPLATE, setting, 4).fit(train, validation=test)
        assert type(fitted).__name__ == ("LSHMF" if setting.n_neighbors else "MatrixFactorization")
        np.testing.assert_allclose(curve_of(fold, setting, 4), [row["rmse"] for row in fitted.history_], rtol=1e-6)
    mean, biases = fitted.mean_, (fitted.user_baseline_[test.users], fitted.item_baseline_[test.items])
    expected = np.sqrt(np.mean((np.clip(mean + sum(biases), 1, 5) - test.values) ** 2))
    assert fold.means_rmse() == pytest.approx(expected, rel=1e-5)


@pytest.mark.gpu
def test_what_settings_share_changes_nothing_on_a_gpu():
    train, test = planted(300, 1500, 0.1, seed=2).split(0.1, 0)
    template = LSHMF(lsh_q=8, device="cuda", deterministic=True)
    fold = Fold(train, test, template, 5)
    for setting in SETTINGS:
        fitted = estimator_of(template, setting, 4).fit(train, validation=test)
        np.testing.assert_allclose(curve_of(fold, setting, 4), [row["rmse"] for row in fitted.history_], rtol=1e-6)


def test_neighbours_of_fewer_are_the_first_of_more(one_thread):
    train, test = planted().split(0.2, 0)
    more, fewer = (Fold(train, test, TEMPLATE, most).evaluator(TEMPLATE, 3).neighbors for most in (9, 4))
    assert more.shape == (30, 9) and np.array_equal(more[:, :4], fewer)


# --- trials


def test_the_default_grid_fits_the_density():
    dense, sparse = (tuning.default_grid(planted(400, 80, share, seed=1)) for share in (0.9, 0.02))
    assert max(dense["regularization"]) < max(sparse["regularization"])
    assert dense["n_factors"] == [16, 64, 80] and dense["n_neighbors"] == [0, 32]
    tiny = tuning.default_grid(planted(4, 3, 1.0))
    assert tiny["n_factors"] == [3] and tiny["n_neighbors"] == [0, 2]


def test_settings_begin_with_the_estimators_own_and_then_the_simple_ones():
    ratings = planted()
    grid = tuning.check_grid({"n_factors": [24, 8, 8], "n_neighbors": [0, 5], "regularization": [0.1, 0.05]})
    found = tuning.settings_of(grid, LSHMF(8, 5, regularization=0.05), ratings)
    assert found[0] == Setting(8, 5, 0.05) and len(found) == len(set(found)) == 8
    assert found[1:3] == [Setting(8, 0, 0.1), Setting(8, 0, 0.05)] and found[-1] == Setting(24, 5, 0.05)
    own = tuning.settings_of({}, LSHMF(n_neighbors=400), ratings)
    assert own == [Setting(30, 29, pytest.approx(0.06))]


def test_more_neighbours_than_items_are_as_many_as_there_are():
    with pytest.warns(UserWarning, match="n_neighbors=300 is more than 60 users and 30 items allow: 29 is tried"):
        found = tuning.settings_of({"n_neighbors": [300, 29, 40, 3]}, TEMPLATE, planted())
    assert sorted(one.n_neighbors for one in found) == [3, 29]
    with pytest.warns(UserWarning, match="n_factors=64 is more than .*: 30 is tried"):
        assert len(tuning.settings_of({"n_factors": [64, 31]}, TEMPLATE, planted())) == 1


@pytest.mark.parametrize(
    "grid, words",
    [
        ({}, "must be a dict"),
        ([("n_factors", [2])], "must be a dict"),
        ({"factors": [2]}, "no 'factors'"),
        ({"n_factors": []}, "n_factors has no values"),
        ({"n_factors": [0]}, "between 1 and 1024; got 0"),
        ({"n_factors": [2.5]}, "must be an integer"),
        ({"n_neighbors": [-1]}, "between 0 and 1024"),
        ({"regularization": [-0.1]}, "at least 0.0"),
        ({"regularization": [float("nan")]}, "finite"),
        ({"learning_rate": 0}, "more than 0.0"),
        ({"n_factors": range(1, 1001), "regularization": np.arange(11)}, "more than 10,000 settings"),
    ],
)
def test_grids_that_cannot_be(grid, words):
    with pytest.raises(ParameterError, match=words):
        small(grid=grid)


@pytest.mark.parametrize(
    "more, words",
    [
        ({"cv": 1}, "cv must be an integer, between 2 and 255; got 1"),
        ({"cv": 256}, "cv must be"),
        ({"epochs": 0}, "epochs must be"),
        ({"budget": 0}, "budget must be a finite number, more than 0"),
        ({"estimator": 7}, "estimator must be an LSHMF; got int"),
    ],
)
def test_rules_that_cannot_be(more, words):
    with pytest.raises(ParameterError, match=words):
        small(**more)


def test_more_folds_than_ratings():
    few = planted().take(slice(0, 6))
    with pytest.raises(ParameterError, match="6 ratings cannot be dealt into 7 folds .cv.: use 6 or fewer"):
        tune(few, GRID, cv=7)
    with pytest.raises(DataError, match="0 rows"):
        tune(planted().take(slice(0, 0)))


def test_fewer_folds_of_more_ratings():
    sizes = (200_000, 200_001, 2_000_001, 20_000_001)
    assert [count_folds(None, n) for n in sizes] == [(5, 5), (10, 5), (10, 3), (10, 2)]
    assert count_folds(4, 10**7) == (4, 4)


# --- results


def curve(*errors):
    """Return a curve of these RMSE by epoch."""
    return [{"epoch": n + 1, "seconds": 1.0, "rmse": rmse} for n, rmse in enumerate(errors)]


def tried(setting, *curves):
    """Return the Trial of a setting with such a curve on each fold."""
    return summarize(setting, [curve(*errors) for errors in curves])


def test_means_and_spreads_over_folds():
    one = tried(SETTINGS[0], (1.0, 0.8, 0.9), (1.2, 1.0, 0.6, 0.1)).row  # compared over their common epochs
    assert (one["n_epochs"], one["rmse"]) == (3, pytest.approx(0.75))
    assert one["spread"] == pytest.approx(np.std([0.9, 0.6], ddof=1))
    assert tried(SETTINGS[0], (1.0, 0.8)).row["spread"] is None
    assert tried(SETTINGS[0], (1.0, np.inf), (1.0, 0.5)).row["rmse"] == 1.0
    assert one["folds"] == 2 and one["curve"] == pytest.approx([1.1, 0.9, 0.75])


def test_more_folds_go_before_a_lower_rmse():
    order = tuning.rank_candidates([tried(SETTINGS[1], (0.1,)), tried(SETTINGS[0], (1.0,), (1.0,))])
    assert [one.candidate for one in order] == [SETTINGS[0], SETTINGS[1]]


def test_the_simplest_within_one_standard_error():
    """The error is that of the differences, fold by fold; what ran on fewer folds or diverged is left out."""
    big, near, far, short, lost = (Setting(n, 0, 0.1) for n in (9, 4, 3, 2, 1))
    found = [
        tried(big, (1.0,), (1.2,), (0.8,)),
        tried(near, (1.02,), (1.19,), (0.81,)),
        tried(far, (1.05,), (1.25,), (0.86,)),
        tried(short, (1.0,), (1.0,)),
        tried(lost, (np.inf,), (np.inf,), (np.inf,)),
    ]
    assert tuning.simplest(found, lambda one: one.n_factors).candidate == near
    assert tuning.simplest([found[0], *found[2:]], lambda one: one.n_factors).candidate == big
    assert tuning.simplest([tried(big, (1.0,)), tried(near, (1.1,))], lambda one: one.n_factors).candidate == big


def test_the_table_and_the_choice():
    news = []
    found = small(progress=lambda *one: news.append(one))
    assert [row["rmse"] for row in found.table] == sorted(row["rmse"] for row in found.table) and len(found.table) == 4
    assert found.best["regularization"] == 0.05 and found.table[0]["rmse"] < found.table[-1]["rmse"] - 0.01
    assert all(row["folds"] == 2 and row["spread"] is not None and len(row["curve"]) <= 12 for row in found.table)
    best = found.table[0]
    assert best["rmse"] == min(best["curve"]) == best["curve"][found.best["n_epochs"] - 1]
    assert {one[0] for one in news} == {"fold 1 of 2", "fold 2 of 2"} and (found.untried, found.stopped) == (0, False)
    model = found.estimator()
    assert (model.n_factors, model.regularization, model.n_epochs) == (4, 0.05, found.best["n_epochs"])
    assert model.device == "cpu" and model.random_state == 3
    assert found.estimator(found.simplest).n_epochs == found.simplest["n_epochs"]


def test_only_those_near_the_best_go_on_to_other_folds(monkeypatch):
    """With many ratings; of few all settings are trained on all folds."""
    monkeypatch.setattr(RULES, "few_ratings", len(LEARNABLE) - 1)
    found = small(cv=3)
    assert [row["folds"] for row in found.table if row["regularization"] == 5.0] == [1, 1]
    assert found.table[0]["folds"] == 3 and found.folds == 3


@pytest.mark.slow
def test_the_default_grid_is_refined_around_the_best(monkeypatch):
    monkeypatch.setattr(RULES, "few_ratings", 1)
    search = Tuning(planted(), None, TEMPLATE, cv=2, epochs=2)
    before = len(search.settings)
    search.run_rounds()
    added = search.settings[before:]
    assert added and len(set(added)) == len(added)
    assert any(one.learning_rate for one in added) and len({one.regularization for one in added}) > 1


@pytest.mark.slow
def test_what_an_estimator_chooses_for_itself_is_tried_too(monkeypatch):
    assert tuning.open_settings(TEMPLATE, planted()) == [OPEN]
    assert tuning.open_settings(LSHMF(n_factors=4), planted()) == []
    monkeypatch.setattr(RULES, "few_ratings", 0)
    assert tuning.open_settings(TEMPLATE, planted(400, 200, 0.9)) == []  # nothing is chosen for many ratings
    search = Tuning(planted(), None, TEMPLATE, cv=2, epochs=2)
    assert search.settings.index(OPEN) == 1
    train, test = planted().split(0.2, 0)
    chosen = LSHMF(lsh_q=8, device="cpu", random_state=3).fit(train).evaluate(test)["rmse"]
    assert curve_of(Fold(train, test, TEMPLATE, 5), OPEN, 9) == [pytest.approx(chosen, rel=0.02)]


def test_equal_ratings_of_a_fold_are_no_clicks():
    train, test = planted(30, 20).split(0.2, 0)
    equal = train.with_columns(users=train.users, items=train.items, values=np.full(len(train), 4, np.float32))
    rmse = curve_of(Fold(equal, test, TEMPLATE, 5), OPEN, 9)
    np.testing.assert_allclose(rmse, np.sqrt(np.mean((test.values - 4.0) ** 2)), rtol=1e-3)


def test_where_what_is_left_open_is_best_nothing_is_named():
    search = Tuning(planted(), None, TEMPLATE, cv=2, epochs=2)
    for number, one in enumerate(search.settings):
        search.results[one] = [curve(0.5 if one == OPEN else 1.0 + number)] * 2
    found = search.found()
    assert set(found.best.values()) == {None} and found.table[0]["n_epochs"] is None and found.table[0]["rmse"] == 0.5
    assert found.estimator().get_params() == TEMPLATE.get_params()
    assert search.refine(1.25)[0].n_factors  # the best setting with numeric values is refined


def test_the_budget_ends_the_search():
    found = small(budget=1e-6)
    assert found.stopped and len(found.table) == 1 and found.untried == 3
    assert found.table[0]["folds"] == 1 and found.simplest == found.best


def test_what_was_found_before_an_interrupt():
    def stop(stage, done, total, info):
        if stage.startswith("fold 2") and done == 1:
            raise KeyboardInterrupt

    search = Tuning(planted(), GRID, TEMPLATE, stop, cv=2, epochs=3)
    with pytest.raises(DataError, match="Nothing has been tried"):
        search.found()
    with pytest.raises(KeyboardInterrupt):
        search.run_rounds()
    found = search.found()
    assert len(found.table) == 4 and found.table[0]["folds"] == 2 and found.table[1]["folds"] == 1


def test_a_training_that_diverges_is_no_candidate():
    found = small(grid={"learning_rate": [1e6, 0.1], "n_factors": [4], "n_neighbors": [0]})
    assert found.best["learning_rate"] == 0.1 and not np.isfinite(found.table[-1]["curve"][-1])


# --- the same choice by scikit-learn


def test_cross_val_score_and_grid_search_agree(one_thread):
    from sklearn.model_selection import GridSearchCV, PredefinedSplit, cross_val_score

    ratings = planted(60, 30, 0.6, seed=1)
    found = tune(ratings, {**GRID, "n_neighbors": [3]}, cv=2, epochs=4, estimator=TEMPLATE)
    pairs, folds = np.stack([ratings.users, ratings.items], axis=1), PredefinedSplit(fold_numbers(len(ratings), 2, 3))
    for row in found.table:
        model = found.estimator({name: row[name] for name in found.best})
        scores = cross_val_score(model, pairs, ratings.values, cv=folds)
        assert -scores.mean() == pytest.approx(row["rmse"], abs=2e-3)
    searched = GridSearchCV(found.estimator(), {"regularization": [0.05, 5.0]}, cv=folds).fit(pairs, ratings.values)
    assert searched.best_params_ == {"regularization": found.best["regularization"]}
    assert -searched.best_score_ == pytest.approx(found.table[0]["rmse"], abs=2e-3)


# --- by time


@pytest.mark.parametrize("by", ["time", "user-time"])
def test_folds_by_time_judge_by_what_is_later_the_latest_first(by):
    ratings = planted()
    times = np.random.default_rng(0).permutation(len(ratings)).astype(np.int64)
    ratings = ratings.with_columns(**ratings.columns(), times=times)
    folds = list(Tuning(ratings, GRID, TEMPLATE, cv=3, by=by).folds())
    assert len(folds) == 3
    for train, test in folds:
        groups = [None] if by == "time" else range(60)
        for one in groups:
            before, after = ((part.times if one is None else part.times[part.users == one]) for part in (train, test))
            assert not len(before) or not len(after) or before.max() < after.min()
    assert [abs(len(test) - len(ratings) / 4) < 30 for _, test in folds] == [True] * 3
    assert len(folds[0][0]) + len(folds[0][1]) == len(ratings) and len(folds[2][0]) == pytest.approx(
        len(ratings) / 4, abs=30
    )


def test_folds_by_time_that_cannot_be():
    ratings = planted()
    with pytest.raises(DataError, match="no times"):
        small(by="time")
    timed = ratings.with_columns(**ratings.columns(), times=np.arange(len(ratings)))
    with pytest.raises(ParameterError, match="by must be one of"):
        tune(timed, GRID, by="date", estimator=TEMPLATE)
    few = Ratings(
        *np.array([[0, 1, 2], [0, 0, 1]], np.int32),
        np.float32([1, 2, 3]),
        np.arange(3),
        np.arange(2),
        times=np.arange(3),
    )
    with pytest.raises(DataError, match="no ratings to judge by"):
        tune(few, {"n_neighbors": [0]}, cv=2, by="user-time", estimator=TEMPLATE)
