"""MatrixFactorization and LSHMF from outside: learning, reproducibility, predictions, errors."""

import os
import signal

import numpy as np
import pytest
import scipy.sparse

from factorization.inputs import bias_predictor, make, planted, same_state
from gpukit.errors import DataError, GpukitError, ParameterError
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization import cpu as cpu_steps
from gpukit.ratings import Ratings, as_ratings, synth_ratings

BOTH = pytest.mark.parametrize("model", [MatrixFactorization, LSHMF])


@BOTH
def test_learning_beats_the_biases(model):
    train, test = planted(400, 80, 0.3, seed=3).split(0.2, 0)
    mean, b, b_hat = bias_predictor(train)
    known = np.clip(mean + b[test.users] + b_hat[test.items], 1, 5)
    bias_rmse = np.sqrt(np.mean((known - test.values) ** 2))
    fitted = make(model, n_epochs=20, n_factors=8).fit(train)
    assert -fitted.score(test) < 0.9 * bias_rmse
    assert fitted.evaluate(test)["mae"] < fitted.evaluate(test)["rmse"] == -fitted.score(test)


def test_generated_ratings():
    train, test = synth_ratings("ml-10m", scale=0.002).split(0.1, 0)
    mean, b, b_hat = bias_predictor(train)
    bias_rmse = np.sqrt(np.mean((mean + b[test.users] + b_hat[test.items] - test.values) ** 2))
    assert -make(LSHMF, n_neighbors=16).fit(train).score(test) < bias_rmse


@BOTH
def test_what_fit_leaves(model):
    ratings, news = planted(), []
    fitted = make(model).fit(ratings, validation=ratings, progress=lambda *n: news.append(n))
    assert fitted.user_ids_ is ratings.user_ids and fitted.item_ids_ is ratings.item_ids
    assert [entry["epoch"] for entry in fitted.history_] == [1, 2, 3, 4, 5]
    assert all(set(entry) == {"epoch", "seconds", "rmse"} for entry in fitted.history_)
    assert fitted.history_[-1]["rmse"] < fitted.history_[0]["rmse"]
    assert fitted.history_[-1]["rmse"] == pytest.approx(-fitted.score(ratings), rel=1e-6)
    assert set(fitted.timings_) == {"choosing", "prepare", "neighbours", "training", "compiling"}
    assert fitted.device_.startswith("cpu")
    assert (
        fitted.mean_ == pytest.approx(ratings.values.mean()) and fitted.scale_ == (1, 5) and fitted.n_features_in_ == 30
    )
    assert fitted.neighbors_.shape == (30, 4 if model is LSHMF else 0)
    assert [n[1:3] for n in news if n[0] == "training"] == [(e, 5) for e in range(1, 6)]


@pytest.mark.parametrize("n_factors, n_neighbors", [(1, 1), (31, 29), (33, 5), (130, 2)])
def test_any_number_of_factors_and_neighbors(n_factors, n_neighbors):
    ratings = planted(140, 131)
    for model, more in ((MatrixFactorization, {}), (LSHMF, {"n_neighbors": n_neighbors})):
        fitted = make(model, n_factors=n_factors, **more).fit(ratings)
        assert fitted._state.user_factors.shape == (140, n_factors) and -fitted.score(ratings) < ratings.values.std()


@BOTH
def test_one_thread_repeats_to_the_bit(model, one_thread):
    ratings = planted()
    one, same, other = (make(model, random_state=seed).fit(ratings) for seed in (3, 3, 4))
    assert same_state(one, same) and not same_state(one, other)


@pytest.mark.parametrize(
    "parameters", [{"rates": "paper"}, {"biases": False}, {"learning_rate": 0.02, "regularization": 0}]
)
def test_other_rates(parameters):
    ratings = planted()
    fitted = make(MatrixFactorization, n_epochs=20, **parameters).fit(ratings)
    assert -fitted.score(ratings) < 0.95 * ratings.values.std()
    assert fitted._state.user_extras[:, 0].any() == parameters.get("biases", True)


# Validation and stopping


def test_early_stopping_keeps_the_best():
    train, test = planted(200, 60, 0.2, seed=1).split(0.2, 0)
    model = make(
        MatrixFactorization, n_factors=16, n_epochs=60, learning_rate=0.5, regularization=0.0, early_stopping=3
    )
    model.fit(train, validation=test)
    rmse = [entry["rmse"] for entry in model.history_]
    assert len(rmse) < 60 and int(np.argmin(rmse)) == len(rmse) - 4
    assert -model.score(test) == pytest.approx(min(rmse), rel=1e-6) and rmse[-1] > min(rmse)


def test_the_best_epoch_is_kept_at_the_end_too():
    """n_epochs ends the run during the patience of early stopping."""
    train, test = planted(200, 60, 0.2, seed=1).split(0.2, 0)
    model = make(
        MatrixFactorization, n_factors=16, n_epochs=25, learning_rate=0.5, regularization=0.0, early_stopping=50
    )
    model.fit(train, validation=test)
    rmse = [entry["rmse"] for entry in model.history_]
    assert np.argmin(rmse) < 24 and -model.score(test) == pytest.approx(min(rmse), rel=1e-6)


def test_validation_fraction(one_thread):
    ratings = planted()
    model = make(MatrixFactorization, validation_fraction=0.25, random_state=2).fit(ratings)
    train, test = ratings.split(0.25, 2)
    explicit = make(MatrixFactorization, random_state=2).fit(train, validation=test)
    assert model.history_[-1]["rmse"] == explicit.history_[-1]["rmse"] and same_state(model, explicit)
    assert model._rated.indptr[-1] == len(train)


def test_validation_with_unknown_ids():
    ratings = planted()
    other = Ratings(
        np.array([0, 1, 1], np.int32),
        np.array([0, 1, 0], np.int32),
        np.array([3, 4, 5], np.float32),
        np.array([7, 10**6]),
        np.array([1, 10**6]),
    )
    model = make(LSHMF).fit(ratings, validation=other)
    assert model.history_[-1]["rmse"] == pytest.approx(-model.score(other), rel=1e-6)


# Errors


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"n_factors": 0}, "n_factors.*got 0"),
        ({"n_factors": 1025}, "n_factors.*1024.*got 1025"),
        ({"n_factors": 2.5}, "n_factors.*2.5"),
        ({"n_epochs": 0}, "n_epochs.*got 0"),
        ({"rates": "fast"}, "rates.*'paper'.*'fast'"),
        ({"beta": 0.3}, "beta=0.3.*rates='adaptive'.*Use rates='paper'"),
        ({"beta": -1, "rates": "paper"}, "beta.*-1"),
        ({"solver": "ials", "feedback": "implicit", "rates": "paper"}, "rates='paper' means nothing to solver='ials'"),
        ({"solver": "ease", "feedback": "implicit", "unobserved_weight": 0.3}, "means nothing to solver=.ease."),
        ({"solver": "ials", "feedback": "implicit", "n_negatives": 3}, "n_negatives=3 means nothing to solver='ials'"),
        ({"solver": "sampled", "feedback": "implicit", "row_solver": "cholesky"}, "row_solver='cholesky' means nothi"),
        ({"regularization": 1e300}, "regularization.*at most 1e.30; got 1e.300"),
        ({"solver": "ials", "feedback": "implicit", "unobserved_weight": 1e39}, "unobserved_weight.*at most 1e.30"),
        ({"learning_rate": -0.1}, "learning_rate.*-0.1"),
        ({"learning_rate": 0}, "learning_rate.*more than 0"),
        ({"learning_rate": float("nan")}, "learning_rate.*nan"),
        ({"regularization": -1}, "regularization.*-1"),
        ({"validation_fraction": 1.0}, "validation_fraction.*0.9.*1.0"),
        ({"early_stopping": -1}, "early_stopping.*-1"),
        ({"precision": "double"}, "precision.*'auto', 'single', 'half'.*'double'"),
        ({"precision": "half"}, "precision='half' needs a GPU.*'auto' or 'single'"),
        ({"random_state": "x"}, "random_state.*'x'"),
        ({"random_state": -1}, "random_state.*-1"),
    ],
)
@BOTH
def test_parameters_out_of_bounds(model, wrong, message):
    with pytest.raises(ParameterError, match=message) as caught:
        make(model, **wrong).fit(planted())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"n_neighbors": 0}, "n_neighbors.*got 0"),
        ({"search": "near"}, "search.*'random'.*'near'"),
        ({"hash": "cosine"}, "hash.*'simlsh', 'minhash', 'projection'.*'cosine'"),
        ({"hash": None}, "hash.*None"),
        ({"lsh_q": 0}, "lsh_q must be .*got 0"),
        ({"lsh_psi": 3}, "lsh_psi must be .*got 3"),
        ({"lsh_p": 2**20}, r"lsh_p \* lsh_q \* lsh_bits must be"),
        ({"influence_rate": -1}, "influence_rate.*-1"),
        ({"influence_regularization": 0.1, "solver": "ials", "feedback": "implicit"}, "means nothing to solver='ials'"),
    ],
)
def test_neighbour_parameters_out_of_bounds(wrong, message):
    with pytest.raises(ParameterError, match=message):
        make(LSHMF, **wrong).fit(planted())


@pytest.mark.parametrize("name", ["influence_rate", "influence_regularization"])
def test_a_divergence_is_explained_by_the_parameter_that_causes_it(name):
    with pytest.raises(GpukitError, match=rf"Training diverged \({name}=1e.20\).*Use a smaller {name}\."):
        LSHMF(n_factors=2, n_neighbors=3, n_epochs=3, device="cpu", **{name: 1e20}).fit(planted())


@pytest.mark.parametrize("search", ["hamming", "random"])
def test_more_neighbours_and_factors_than_there_are(search):
    with pytest.warns(UserWarning, match="=30 is more than 60 users and 30 items allow: 29 are used") as record:
        fitted = make(LSHMF, n_neighbors=30, n_factors=31, search=search).fit(planted())
    assert any("n_factors=31 is more" in str(warning.message) for warning in record)
    assert fitted.neighbors_.shape == (30, 29) and fitted.user_factors_.shape == (60, 30)
    assert (fitted.chosen_["n_factors"], fitted.chosen_["n_neighbors"]) == (30, 29)


@pytest.mark.parametrize("shape", [(1, 5), (5, 1)])
@BOTH
def test_one_user_or_one_item(model, shape):
    with pytest.raises(DataError, match="at least two of each"):
        make(model).fit(np.arange(5.0).reshape(shape))


@BOTH
def test_no_ratings(model):
    with pytest.raises(DataError, match="no ratings"):
        make(model).fit(planted().take(slice(0, 0)))
    with pytest.raises(DataError, match="no ratings"):
        make(model).fit(scipy.sparse.csr_matrix((6, 7)))


def test_training_that_diverges():
    with pytest.raises(GpukitError, match="diverged.*learning_rate=50"):
        make(MatrixFactorization, learning_rate=50, rates="paper", n_epochs=20).fit(planted())


def test_least_squares_that_diverges(monkeypatch):
    """The remedy is a setting that least squares has."""
    real = cpu_steps.DeviceModel.state

    def state(session):
        result = real(session)
        return result._replace(user_factors=np.full_like(result.user_factors, np.nan))

    monkeypatch.setattr(cpu_steps.DeviceModel, "state", state)
    with pytest.raises(GpukitError, match=r"regularization=0.05.*Use a larger regularization"):
        make(MatrixFactorization, solver="als", regularization=0.05).fit(planted())


# Unusual ratings


@BOTH
def test_equal_ratings(model):
    ratings = planted()
    equal = Ratings(
        ratings.users, ratings.items, np.full(len(ratings), 3, np.float32), ratings.user_ids, ratings.item_ids
    )
    fitted = make(model, feedback="explicit").fit(equal)
    np.testing.assert_array_equal(fitted.predict(equal), 3)
    assert fitted.predict(([-1], [-1]))[0] == 3


def test_constant_rows():
    dense = np.full((12, 9), np.nan)
    dense[:6], dense[6:] = 1, 5
    model = make(LSHMF, n_epochs=30).fit(dense)
    predicted = model.predict(as_ratings(dense))
    assert np.abs(predicted - as_ratings(dense).values).max() < 0.5


def test_explicit_zeros_are_ratings():
    zeros = scipy.sparse.coo_matrix(([0.0, 0, 0, 4, 4, 4], ([0, 0, 0, 1, 1, 2], [0, 1, 2, 0, 1, 2])), (3, 3))
    model = make(MatrixFactorization, n_epochs=30).fit(zeros)
    assert model.scale_ == (0, 4) and model.mean_ == 2
    low, high = model.predict(([0, 1], [0, 0]))
    assert low < 1.2 < 2.8 < high
    assert model.recommend([0], 1)[0][0, 0] is None  # user 0 has rated everything


@BOTH
def test_ratings_of_many_levels(model):
    train, test = planted(200, 60, 0.3, seed=5).split(0.2, 0)
    noise = np.random.default_rng(0).normal(size=len(train)).astype(np.float32) * 0.1
    smooth = Ratings(train.users, train.items, train.values + noise, train.user_ids, train.item_ids)
    assert len(np.unique(smooth.values)) > 255
    plain, other = (make(model, n_epochs=10, deterministic=True).fit(ratings) for ratings in (train, smooth))
    assert other.score(test) == pytest.approx(plain.score(test), rel=0.05)


@pytest.mark.parametrize("scale", [(0.5, 1000.0), (-10.0, 10.0), (0.0, 1e-3), (0.0, 1e-9), (1e20, 2e20)])
def test_any_rating_scale(scale):
    ratings = planted()
    low, high = scale
    values = (low + (ratings.values - 1) * np.float32((high - low) / 4)).astype(np.float32)
    other = Ratings(ratings.users, ratings.items, values, ratings.user_ids, ratings.item_ids)
    plain, scaled = (make(LSHMF, deterministic=True, search="random").fit(r) for r in (ratings, other))
    assert scaled.score(other) / (high - low) == pytest.approx(plain.score(ratings) / 4, rel=1e-3)


def test_ids_may_be_text():
    ratings = planted()
    named = Ratings(
        ratings.users,
        ratings.items,
        ratings.values,
        np.char.add("u", ratings.user_ids.astype(str)),
        np.char.add("i", ratings.item_ids.astype(str)),
    )
    model = make(LSHMF).fit(named)
    assert model.predict((["u7"], ["i1"]))[0] != pytest.approx(model.mean_, abs=1e-4)
    assert model.recommend(["u7"], 2)[0][0, 0].startswith("i")


def press_ctrl_c(stage, done, total, info):
    """Return a progress callback that interrupts the run during its third epoch."""
    if stage == "training" and done == 3:
        os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_without_a_checkpoint():
    model = make(MatrixFactorization)
    with pytest.raises(KeyboardInterrupt):
        model.fit(planted(), progress=press_ctrl_c)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(GpukitError, match="not fitted"):
        model.predict(([1], [1]))


def test_pairs_are_no_validation_of_ratings():
    ratings = planted()
    pairs = (ratings.user_ids[ratings.users[:5]], ratings.item_ids[ratings.items[:5]])
    with pytest.raises(DataError, match="tested on holds 5 pairs without ratings"):
        make(LSHMF).fit(ratings, validation=pairs)
