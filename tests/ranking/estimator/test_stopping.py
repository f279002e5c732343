"""The end of training: certified minima in any units of the features, and models without weights."""

import warnings

import numpy as np
import pytest
import scipy.sparse

from gpukit.errors import DataError
from gpukit.ranking import RankSVM
from ranking import naive

RNG = np.random.default_rng(0)
SCALES = {
    "decades": lambda n: 10.0 ** np.random.default_rng(1).uniform(-5, 4, n),
    "two": lambda n: np.where(np.arange(n) % 2, 1e9, 1.0),
    "tiny": lambda n: np.full(n, 1e-6),
    "huge": lambda n: np.full(n, 1e6),
}


def documents(n=12, wide=0, scale="decades"):
    """Return (X, y, qid) of 240 documents in 12 queries with nonlinear labels; wide: more columns of noise."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(240, n)) @ (np.eye(n) + 0.5)
    y = np.digitize(X[:, :3].sum(axis=1) + 8 * rng.normal(size=240), [-5, 5]).astype(float)
    X = np.hstack([X * SCALES[scale](n), 1e-3 * rng.normal(size=(240, wide))])
    return X, y, np.repeat(np.arange(12), 20)


def excess(model, X, y, qid, C):
    """Return the relative excess of the objective over the minimum, which the oracle's gradient certifies."""
    offsets = np.append(np.flatnonzero(np.diff(qid, prepend=-1)), len(qid))
    best = RankSVM(C, eps=1e-11, scale="none", device="cpu", max_iter=1000).fit(X, y, qid)
    at = naive.objective(best.coef_, X, y, offsets, C)
    floor = at.f - 0.5 * at.gradient @ at.gradient
    if 0.5 * at.gradient @ at.gradient > 1e-8 * at.f:  # rounding of large features: their units are changed instead
        size = np.abs(X).max(axis=0)
        scaled = RankSVM(C, eps=1e-11, scale="none", device="cpu", precondition=False).fit(X, y, qid)
        assert scaled.objective_ == pytest.approx(best.objective_, rel=1e-8) and size.max() > 1
        floor = min(best.objective_, scaled.objective_)
    return naive.objective(model.coef_, X, y, offsets, C).f / floor - 1


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("precondition", [True, False])
@pytest.mark.parametrize("C", [1e-4, 1.0, 100.0])
def test_the_units_of_features_do_not_matter(scale, precondition, C):
    X, y, qid = documents(scale=scale)
    model = RankSVM(C, scale="none", device="cpu", precondition=precondition).fit(X, y, qid)
    assert model.converged_ and model.stop_reason_ == "converged"
    assert excess(model, X, y, qid, C) < 1e-6


@pytest.mark.parametrize("solver", ["scan", "p-swx", "dcm", "ost"])
@pytest.mark.parametrize("sparse", [False, True])
def test_every_solver_above_1024_features(solver, sparse):
    X, y, qid = documents(wide=1030)
    given = scipy.sparse.csr_array(X) if sparse else X
    model = RankSVM(1.0, scale="none", device="cpu", solver=solver).fit(given, y, qid)
    assert model.converged_ and excess(model, X, y, qid, 1.0) < 1e-6


def test_repeated_columns():
    X, y, qid = documents()
    X = np.hstack([X, X, 1e3 * X[:, :4]])
    for precondition in (True, False):
        model = RankSVM(1.0, scale="none", device="cpu", precondition=precondition).fit(X, y, qid)
        assert model.converged_ and excess(model, X, y, qid, 1.0) < 1e-6


@pytest.mark.slow
def test_breast_cancer_and_a_thousand_small_columns():
    """f = 1,259 was reported as converged; a gradient near 0 certifies the reference minimum."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    X = np.hstack([X, 1e-3 * np.random.default_rng(0).normal(size=(len(X), 1000))])
    model = RankSVM(1.0, scale="none", device="cpu").fit(X, y, group=[len(y)])
    tight = RankSVM(1.0, scale="none", device="cpu", eps=1e-10).fit(X, y, group=[len(y)])
    gradient = naive.objective(tight.coef_, X, y, np.array([0, len(y)]), 1.0).gradient
    assert 0.5 * gradient @ gradient < 1e-7 * tight.objective_
    assert model.converged_ and model.objective_ <= (1 + 1e-6) * tight.objective_


@pytest.mark.parametrize("eps", [1e-2, 1e-3, 1e-5])
@pytest.mark.parametrize("max_iter", [1, 3, 200])
def test_converged_is_never_wrong(eps, max_iter):
    X, y, qid = documents()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = RankSVM(1.0, scale="none", device="cpu", eps=eps, max_iter=max_iter).fit(X, y, qid)
    assert model.converged_ == (model.stop_reason_ == "converged")
    assert not model.converged_ or excess(model, X, y, qid, 1.0) < 1e-6
    assert bool(caught) == (model.stop_reason_ == "max_iter")
    if model.stop_reason_ == "eps":
        assert excess(model, X, y, qid, 1.0) < eps / 10


def test_hard_margins_are_not_called_converged_early():
    """Separable documents in large units: a result that cannot be certified is reported."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 30)) * 10.0 ** rng.uniform(-5, 4, 30)
    y, group = (X[:, 0] > 0).astype(float), [60]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RankSVM(1e6, scale="none", device="cpu").fit(X, y, group=group)
    gradient = naive.objective(model.coef_, X, y, np.array([0, 60]), 1e6).gradient
    assert model.converged_ or model.stop_reason_ in ("rounding", "max_iter")
    assert not model.converged_ or 0.5 * gradient @ gradient < 1e-3 * model.objective_


@pytest.mark.parametrize(("C", "size"), [(1e-300, 1.0), (1.0, 1e-200)], ids=["a tiny C", "tiny features"])
def test_a_model_without_weights_is_reported(C, size):
    X, y, qid = documents(scale="tiny")
    with pytest.warns(UserWarning, match="All weights are 0"):
        model = RankSVM(C, scale="none", device="cpu").fit(X * size, y, qid)
    assert not model.coef_.any()


def test_constant_features_are_named():
    X = np.repeat(RNG.normal(size=(12, 2)), 20, axis=0)
    _, y, qid = documents()
    import pandas as pd

    with pytest.warns(UserWarning, match="no feature differs within a query .feature 1, feature 2"):
        RankSVM(1.0, device="cpu").fit(X, y, qid)
    with pytest.warns(UserWarning, match="age, size"):
        RankSVM(1.0, device="cpu").fit(pd.DataFrame(X, columns=["age", "size"]), y, qid)
    with pytest.warns(UserWarning, match="no feature differs"):
        RankSVM(1.0, device="cpu").fit(scipy.sparse.csr_array(X), y, qid)


@pytest.mark.parametrize("precondition", [True, False])
def test_a_c_that_overflows(precondition):
    X, y, qid = documents(scale="huge")
    with pytest.raises(DataError, match=r"C=1e\+300 the objective is beyond"):
        RankSVM(1e300, scale="none", device="cpu", precondition=precondition).fit(X, y, qid)


@pytest.mark.parametrize(
    "eps, size, words",
    [(1e300, 1.0, "eps=1e\\+300 ends the training where it starts"), (1e-5, 1e150, "nothing certifies the minimum")],
)
def test_reasons_are_those_of_the_training(eps, size, words):
    rng = np.random.default_rng(0)
    X, qid = size * rng.normal(size=(60, 3)), np.repeat(np.arange(12), 5)
    with pytest.warns(UserWarning, match=words):
        model = RankSVM(1.0, eps=eps, device="cpu").fit(X, X[:, 0] > 0, qid)
    assert not model.converged_


def test_a_large_eps_still_learns():
    X, y, qid = documents(scale="tiny")
    assert RankSVM(1e9, scale="none", device="cpu", eps=2).fit(X, y, qid).coef_.any()


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_the_diagonal_is_the_covariances(form):
    X, y, qid = documents(scale="tiny")
    run = RankSVM(1.0, scale="none", device="cpu").prepare(form(1e6 * X), y, qid, query_weight=np.arange(12.0))
    np.testing.assert_allclose(run.session.gram(diagonal=True), run.session.gram().diagonal(), rtol=1e-10)
