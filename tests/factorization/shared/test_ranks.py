"""Factorization over ranks: the model of one process."""

import re

import numpy as np
import pytest
from parallel.test_team import together

from factorization.shared.data import generated, ratings
from gpukit.errors import DataError, ParameterError
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.constants import RULES

FACTORS = {"n_factors": 16, "learning_rate": 0.2, "regularization": 0.04, "device": "cpu"}
NEAR = {**FACTORS, "n_neighbors": 5, "lsh_q": 20}


def fitted(size, estimator, kind=None, **named):
    """Models of all ranks (None: of one process), fitted with validation."""
    train, test = generated() if kind is None else kind
    if size is None:
        return estimator.fit(train, validation=test, **named)
    done = together(size, lambda team: type(estimator)(**estimator.get_params()).fit(train, validation=test, team=team))
    for one in done:
        if isinstance(one, Exception):
            raise one
    return done


def same(models, alone=None):
    """All ranks have the same model, bit-identical to that of a single process."""
    for model in models:
        for name, array in models[0]._state._asdict().items():
            np.testing.assert_array_equal(getattr(model._state, name), array, name)
            if alone is not None:
                np.testing.assert_array_equal(array, getattr(alone._state, name), name)
        assert [entry["rmse"] for entry in model.history_] == [entry["rmse"] for entry in models[0].history_]


def learns_as_well(models, alone):
    """The test error is that without ranks, within the spread of seeds."""
    (first, last), its = (alone.history_[at]["rmse"] for at in (0, -1)), models[0].history_[-1]["rmse"]
    assert first - last > 0.01 and abs(its - last) < 0.006, (first, last, its)


@pytest.mark.parametrize("size, scale", [(2, 0.02), (3, 0.004), (4, 0.004)])
def test_to_the_bit_where_one_result_is_asked_for(size, scale):
    """Also with only two blocks: the ranks beyond them are idle."""
    estimator, kind = MatrixFactorization(**FACTORS, n_epochs=3, deterministic=True), generated(scale)
    models, alone = fitted(size, estimator, kind), fitted(None, MatrixFactorization(**estimator.get_params()), kind)
    same(models, alone)
    assert models[1].history_[-1]["rmse"] == pytest.approx(alone.history_[-1]["rmse"], rel=1e-12)
    for its, own in zip(models[1]._rated, alone._rated, strict=True):
        np.testing.assert_array_equal(its, own)


def test_a_checkpoint_continues_with_another_number_of_ranks(tmp_path, monkeypatch):
    """Each rank takes its users from the checkpoint, which has all."""
    monkeypatch.setattr(RULES, "checkpoint_seconds", 0.0)
    train, _ = generated(0.004)
    settings = {**FACTORS, "learning_rate": 0.1, "deterministic": True}
    path = tmp_path / "checkpoint"

    def fit(epochs, team, **more):
        return MatrixFactorization(**settings, n_epochs=epochs).fit(train, team=team, checkpoint=path, **more)

    for model in together(2, lambda team: fit(2, team)):
        assert len(model.history_) == 2
    same(together(3, lambda team: fit(4, team, resume=True)), MatrixFactorization(**settings, n_epochs=4).fit(train))


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 4])
def test_users_learn_as_well_as_in_one_process(size, one_thread):
    estimator = MatrixFactorization(**FACTORS, n_epochs=8)
    models, alone = fitted(size, estimator), fitted(None, MatrixFactorization(**estimator.get_params()))
    same(models)
    learns_as_well(models, alone)


def test_ranks_do_not_grow_apart_in_the_first_epoch():
    """Random initial factors are equal on all ranks.

    Ranks that each chose their own directions would be an epoch behind.
    """
    estimator = MatrixFactorization(**FACTORS, n_epochs=2)
    models, alone = fitted(2, estimator), fitted(None, MatrixFactorization(**estimator.get_params()))
    its, own = (model.history_[1]["rmse"] for model in (models[0], alone))
    assert its < own + 0.005, (its, own)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 4])
def test_items_learn_with_the_neighbours_of_one_process(size, one_thread):
    estimator = LSHMF(**NEAR, n_epochs=8)
    models, alone = fitted(size, estimator), fitted(None, LSHMF(**estimator.get_params()))
    same(models)
    np.testing.assert_array_equal(models[0].neighbors_, alone.neighbors_)
    assert models[0].random_share_ == alone.random_share_
    learns_as_well(models, alone)
    assert np.abs(models[0].explicit_influences_).max() > 0


@pytest.mark.parametrize("size, scale", [(2, 0.02), (4, 0.004)])
def test_neighbours_train_the_same_twice(size, scale):
    """Also with only two blocks; the neighbours are those of one process."""
    estimator, kind = LSHMF(**NEAR, n_epochs=2, deterministic=True), generated(scale)
    models, alone = fitted(size, estimator, kind), fitted(None, LSHMF(**estimator.get_params()), kind)
    same(models + fitted(size, estimator, kind))
    np.testing.assert_array_equal(models[-1].neighbors_, alone.neighbors_)
    assert abs(models[-1].history_[-1]["rmse"] - alone.history_[-1]["rmse"]) < 0.006


@pytest.mark.slow
def test_settings_are_chosen_where_ratings_make_one_block():
    """Open settings, ratings of the first rank alone.

    The best epoch is kept, with unknown users and items.
    """
    table, others = ratings(), ratings(shape=(70, 40), n=500)
    given = {"device": "cpu", "deterministic": True, "early_stopping": 2, "n_epochs": 30}
    alone = MatrixFactorization(**given).fit(table, validation=others)
    models = together(3, lambda team: MatrixFactorization(**given).fit(table, validation=others, team=team))
    same(models, alone)
    assert [model.chosen_ for model in models] == [alone.chosen_] * 3
    assert [len(model.history_) for model in models] == [len(alone.history_)] * 3


@pytest.mark.slow
def test_what_is_chosen_is_chosen_once():
    """Open settings and few ratings."""
    table = ratings()
    done = together(2, lambda team: MatrixFactorization(device="cpu").fit(table, team=team))
    alone = MatrixFactorization(device="cpu").fit(table)
    same(done)
    assert [model.chosen_ for model in done] == [alone.chosen_] * 2
    assert [row["rmse"] for row in done[1].trials_] == [row["rmse"] for row in alone.trials_]


def test_biases_alone():
    """Too few ratings for anything else."""
    table = ratings(n=RULES.least_ratings - 1)
    alone = MatrixFactorization(device="cpu").fit(table)
    for model in together(2, lambda team: MatrixFactorization(device="cpu").fit(table, team=team)):
        assert model.chosen_ == alone.chosen_ and not model.history_
        predicted = [each.predict((table.users, table.items)) for each in (model, alone)]
        np.testing.assert_allclose(*predicted, rtol=1e-6)


def test_users_and_items_without_ratings_and_unknown_ones():
    train, test = generated()
    train = train.take((train.users % 7 != 3) & (train.items % 11 != 5))
    models = fitted(2, MatrixFactorization(**FACTORS, n_epochs=2), (train, test))
    alone = fitted(None, MatrixFactorization(**FACTORS, n_epochs=2), (train, test))
    assert abs(models[0].history_[-1]["rmse"] - alone.history_[-1]["rmse"]) < 0.01
    assert not models[0].user_factors_[3::7].any()


def test_stopping_early_keeps_the_best_everywhere():
    train, test = generated()
    settings = {**FACTORS, "n_epochs": 40, "early_stopping": 1, "learning_rate": 0.25, "regularization": 0.02}
    done = together(2, lambda team: MatrixFactorization(**settings).fit(train, validation=test, team=team))
    same(done)
    assert len(done[0].history_) < 40


def test_all_ranks_train_the_epochs_that_early_stopping_chose():
    table, options = ratings(), {**FACTORS, "n_epochs": 40, "early_stopping": 1, "learning_rate": 0.25}
    alone = MatrixFactorization(**options).fit(table)
    done = together(2, lambda team: MatrixFactorization(**options).fit(table, team=team))
    assert len(alone.history_) < 40 and [model.chosen_ for model in done] == [alone.chosen_] * 2
    assert [len(model.history_) for model in done] == [len(alone.history_)] * 2


REFUSED = [
    (MatrixFactorization(solver="hogwild", device="cpu"), "solver='hogwild' does not work over ranks"),
    (MatrixFactorization(feedback="implicit", device="cpu"), "Clicks are learned over ranks by solver='ials' alone"),
    (LSHMF(hash="minhash", device="cpu", n_factors=4, n_neighbors=3), "hash='minhash' is not computed over ranks"),
    (LSHMF(search="exact", device="cpu", n_factors=4, n_neighbors=3), "search='exact' reads all ratings"),
]


@pytest.mark.parametrize("estimator, message", REFUSED, ids=lambda each: "" if isinstance(each, str) else repr(each))
def test_what_is_refused(estimator, message):
    """The message is one line, on every rank."""
    table = ratings()
    for error in together(2, lambda team: type(estimator)(**estimator.get_params()).fit(table, team=team)):
        assert isinstance(error, ParameterError), error
        assert "\n" not in str(error)
        assert re.search(message, str(error))


def test_weights_are_refused():
    table = ratings()
    weights = np.full(len(table), 2.0)
    weights[0] = 1.0
    done = together(2, lambda team: MatrixFactorization(**FACTORS).fit(table, sample_weight=weights, team=team))
    assert all(isinstance(error, ParameterError) and "weights" in str(error) for error in done)


def test_too_few_ratings_for_so_many_ranks():
    table = ratings(shape=(2, 400))
    done = together(3, lambda team: MatrixFactorization(**FACTORS).fit(table, team=team))
    assert all(isinstance(error, DataError) and "too few" in str(error) for error in done)
