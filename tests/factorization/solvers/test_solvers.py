"""The solvers of MatrixFactorization from outside: learning, repeatability, errors, files, resuming."""

import numpy as np
import pytest

import gpukit
from factorization.inputs import bias_predictor, make, planted, same_state
from gpukit.errors import ModelError, ParameterError
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.constants import DAMPING, RULES
from gpukit.factorization.model.layout import BIAS
from gpukit.factorization.solvers import SOLVERS

OTHERS = [solver for solver in SOLVERS if solver != "sgd"]
EACH = pytest.mark.parametrize("solver", OTHERS)


@EACH
def test_learning_beats_the_biases(solver):
    train, test = planted(400, 80, 0.3, seed=3).split(0.2, 0)
    mean, b, b_hat = bias_predictor(train)
    known = np.clip(mean + b[test.users] + b_hat[test.items], 1, 5)
    bias_rmse = np.sqrt(np.mean((known - test.values) ** 2))
    fitted = make(MatrixFactorization, n_epochs=None, n_factors=8, solver=solver).fit(train)
    assert -fitted.score(test) < 0.9 * bias_rmse


@EACH
@pytest.mark.parametrize("n_factors", [1, 3, 33])
def test_awkward_sizes(solver, n_factors):
    """Users and items without ratings stay at the mean."""
    ratings = planted(n_items=40)
    few = ratings.take((ratings.users != 5) & (ratings.items != 2))
    fitted = make(MatrixFactorization, n_factors=n_factors, solver=solver, n_epochs=8).fit(few)
    assert -fitted.score(few) < few.values.std()
    assert not fitted.user_factors_[5].any() and not fitted.item_factors_[2].any() and not fitted.user_bias_[5]
    unknown = fitted.predict((ratings.user_ids[[5]], ratings.item_ids[[2]]))
    assert unknown == pytest.approx(fitted.mean_, rel=1e-6)


@EACH
def test_without_biases(solver):
    ratings = planted()
    fitted = make(MatrixFactorization, solver=solver, biases=False, n_epochs=12).fit(ratings)
    assert -fitted.score(ratings) < 0.95 * ratings.values.std() and not fitted._state.user_extras[:, 0].any()


@EACH
def test_one_thread_repeats_to_the_bit(solver, one_thread):
    ratings = planted()
    one, same, other = (make(MatrixFactorization, solver=solver, random_state=seed).fit(ratings) for seed in (3, 3, 4))
    assert same_state(one, same) and not same_state(one, other)


def test_least_squares_do_not_hang_on_the_threads():
    ratings, states = planted(300, 120, 0.3), []
    for threads in (1, 3):
        gpukit.set_num_threads(threads)
        states.append(make(MatrixFactorization, solver="als").fit(ratings))
    gpukit.set_num_threads(None)
    assert same_state(*states)


@pytest.mark.parametrize("biases", [True, False])
def test_items_of_least_squares_solve_their_equations(biases):
    """By weighted lambda and the damping of the bias, given the users."""
    ratings = planted()
    model = make(MatrixFactorization, solver="als", biases=biases, regularization=0.05).fit(ratings)
    state, z = model._state, (ratings.values - model._scale.mean) / model._scale.deviation
    for item in range(3):
        own = ratings.items == item
        users, decay = state.user_factors[ratings.users[own]].astype(np.float64), 0.05 * own.sum()
        X = np.column_stack((users, np.full(own.sum(), float(biases))))
        penalty = np.diag([*np.full(users.shape[1], decay), DAMPING])
        target = z[own] - state.user_extras[ratings.users[own], BIAS]
        solution = np.linalg.solve(X.T @ X + penalty, X.T @ target)
        found = np.append(state.item_factors[item], state.item_extras[item, BIAS])
        np.testing.assert_allclose(found, solution, atol=1e-4)


def test_neighbourhoods_have_their_own_solvers():
    for solver in ("als", "hogwild"):
        with pytest.raises(ParameterError, match=f"solver must be one of 'auto', 'sgd', .*got '{solver}'"):
            LSHMF(solver=solver).check()


@EACH
def test_models_and_checkpoints(solver, one_thread, tmp_path):
    """A model is restored; a resumed training has the result of an uninterrupted one."""
    ratings, at = planted(), tmp_path / "checkpoint"
    whole = make(MatrixFactorization, solver=solver, n_epochs=6).fit(ratings)
    whole.save(tmp_path / "model.gpukit")
    back = MatrixFactorization.load(tmp_path / "model.gpukit")
    assert same_state(whole, back) and back.solver == solver

    def stop(stage, done, total, info):
        if stage == "training" and done == 3:
            raise KeyboardInterrupt

    part = make(MatrixFactorization, solver=solver, n_epochs=6)

    seconds, RULES.checkpoint_seconds = RULES.checkpoint_seconds, 0.0
    try:
        with pytest.raises(KeyboardInterrupt):
            part.fit(ratings, checkpoint=at, progress=stop)
    finally:
        RULES.checkpoint_seconds = seconds
    other = next(name for name in SOLVERS if name != solver)
    with pytest.raises(ModelError, match=f"made with solver='{solver}'"):
        make(MatrixFactorization, solver=other, n_epochs=6).fit(ratings, checkpoint=at, resume=True)
    went_on = make(MatrixFactorization, solver=solver, n_epochs=6).fit(ratings, checkpoint=at, resume=True)
    assert same_state(went_on, whole) and len(went_on.history_) == 6


@pytest.mark.parametrize(
    "parameters, says",
    [
        ({"solver": "svd"}, "solver must be one of 'auto', 'sgd', .*got 'svd'"),
        ({"solver": "als", "learning_rate": 0.1}, "learning_rate=0.1.*solver='als'"),
        ({"solver": "als", "precision": "half"}, "precision='half'.*solver='als'"),
        ({"solver": "hogwild", "precision": "half"}, "precision='half'.*solver='hogwild'"),
        ({"solver": "als", "regularization": -1}, "regularization must be"),
    ],
)
def test_what_is_refused(parameters, says):
    with pytest.raises(ParameterError, match=says):
        make(MatrixFactorization, **parameters).fit(planted())


@EACH
def test_nothing_to_steady_the_answer(solver):
    """Without regularization and with more factors than ratings the model stays finite."""
    fitted = make(MatrixFactorization, solver=solver, regularization=0.0, n_factors=30, n_epochs=3).fit(planted())
    assert np.isfinite(fitted.user_factors_).all() and np.isfinite(fitted.item_factors_).all()


def test_deterministic_training_has_one_worker():
    ratings = planted(300, 120, 0.3)
    one, same = (make(MatrixFactorization, solver="hogwild", deterministic=True).fit(ratings) for _ in range(2))
    assert same_state(one, same)


def test_defaults_of_the_solvers():
    """Few ratings need more regularization."""
    for n, least, most in ((30_000, 0.12, 0.18), (10**6, 0.06, 0.06), (10**8, 0.05, 0.05)):
        assert least <= MatrixFactorization(solver="als").check(n).regularization <= most
    given = MatrixFactorization(solver="hogwild", learning_rate=0.3, regularization=0.4, n_epochs=7).check(10)
    assert (given.learning_rate, given.regularization, given.epochs) == (0.3, 0.4, 7)
