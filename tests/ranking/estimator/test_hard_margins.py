"""Documents that are separable, or nearly, in any units: the minimum is reached, and certified if possible."""

import functools
import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

from gpukit.ranking import RankSVM, cpu
from gpukit.ranking.pair_sums import make_pair_sums
from gpukit.ranking.solvers.objective import Objective
from ranking import inputs, naive, sessions


def documents(n=8, noise=0.0, seed=0, size=12):
    """Return (X, y, offsets) of 5 queries whose order is linear in X, except for noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(5 * size, n))
    score = X @ rng.normal(size=n)
    score += noise * score.std() * rng.normal(size=len(X))
    return X, np.digitize(score, np.quantile(score, [0.3, 0.6])).astype(float), np.arange(0, 5 * size + 1, size)


def minimum(X, y, offsets, C):
    """Return min f, by Lawson and Hanson: the shortest (w, sqrt(2 C) xi) with z'w + xi >= 1 for each difference z."""
    i, j = naive.pairs(y, offsets)
    unit = np.abs(X).max()
    Z = (X[i] - X[j]) / unit
    rows = np.hstack([Z, np.eye(len(Z)) / (np.sqrt(2 * C) * unit)])
    residual = np.vstack([rows.T, np.ones(len(Z))]), np.append(np.zeros(rows.shape[1]), 1.0)
    u, length = scipy.optimize.nnls(*residual, maxiter=100 * len(Z))
    r = residual[0] @ u - residual[1]
    return 0.5 * np.sum((r[:-1] / r[-1]) ** 2) / unit**2


def objective(w, X, y, offsets, C):
    """Return f(w), computed from differences of documents rather than of scores."""
    i, j = naive.pairs(y, offsets)
    return 0.5 * w @ w + C * np.sum(np.maximum(0.0, 1.0 - (X[i] - X[j]) @ w) ** 2)


def fitted(X, y, offsets, C, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return RankSVM(C, scale="none", device="cpu", **parameters).fit(X, y, group=np.diff(offsets))


@functools.cache
def least(unit, noise, is_rounded):
    """Return the minimum for documents in a unit, also rounded to float32."""
    X, y, offsets = documents(noise=noise)
    return minimum((X * unit).astype(np.float32 if is_rounded else float).astype(float), y, offsets, 1.0)


@pytest.mark.parametrize("form", ["full", "diagonal", "sparse", "float32", "p-swx", "ost"])
@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("unit", [1.0, 1e3, 1e6, 1e9])
def test_large_units(unit, noise, form):
    """In units of 1e3 and more none of these converged within 100 steps of a trust region."""
    X, y, offsets = documents(noise=noise)
    X = X * unit if form != "float32" else (X * unit).astype(np.float32)
    parameters = {"precondition": False} if form == "diagonal" else {"solver": form} if form in ("p-swx", "ost") else {}
    model = fitted(scipy.sparse.csr_array(X) if form == "sparse" else X, y, offsets, 1.0, **parameters)
    X = X.astype(np.float64)
    assert model.stop_reason_ == "converged" and model.n_iter_ < 100
    assert objective(model.coef_, X, y, offsets, 1.0) <= (1 + 1e-6) * least(unit, noise, form == "float32")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("n", [2, 30])
def test_whatever_the_units_it_ends_and_says_why(n, seed):
    """Features of 1e-9 to 1e9, some of them repeated or constant; only a minimum is reported as one."""
    rng = np.random.default_rng(seed)
    X, y, offsets = documents(n, noise=[0.0, 0.3][seed % 2], seed=seed)
    units = 10.0 ** (rng.uniform(-9, 9, n) if seed % 3 else rng.choice([0, 9], n))
    X = np.hstack([X * units, X[:, :1] * units[0], np.full((len(X), 1), 1e6)])
    C = 10.0 ** rng.integers(-6, 5)
    model = fitted(X, y, offsets, C, precondition=seed % 4 < 2)
    assert model.stop_reason_ in ("converged", "rounding")
    tight = fitted(X, y, offsets, C, eps=1e-8)
    best = min(objective(one.coef_, X, y, offsets, C) for one in (model, tight))
    assert not model.converged_ or objective(model.coef_, X, y, offsets, C) <= (1 + 1e-6) * best
    assert objective(model.coef_, X, y, offsets, C) <= (1 + 1e-3) * best


def test_above_1024_features():
    """More features than documents: all pairs can be ordered."""
    X, y, offsets = documents(1100)
    model = fitted(1e6 * X, y, offsets, 1.0)
    assert model.converged_ and model.objective_ <= (1 + 1e-6) * minimum(1e6 * X, y, offsets, 1.0)


@pytest.mark.parametrize("C", [1e-4, 1.0, 100.0])
def test_the_floor_is_a_lower_bound(C):
    """For any w, for its own C and larger ones; at the minimum it is f."""
    at = inputs.case("five levels at the margin")
    X = np.ascontiguousarray(inputs.features(at, 6))
    session = make_pair_sums(sessions.problem_of(at, X), "scan", cpu)
    own, larger = (naive.minimize(X, at.y, at.offsets, value, 1e-10) for value in (C, 30 * C))
    problem, rng = Objective(session, C), np.random.default_rng(0)
    for size in (0.0, 1e-3, 1.0, 10.0):
        w = own.w + size * rng.normal(size=6)
        f, gradient = problem.evaluate(w)
        assert problem.floor(w, f, gradient) <= own.f * (1 + 1e-9)
        assert problem.floor(w, f, gradient, 30 * C) <= larger.f * (1 + 1e-9)
        assert problem.floor(w, f, gradient) >= f - 0.5 * gradient @ gradient - 1e-9 * f
    assert problem.floor(own.w, *problem.evaluate(own.w)) == pytest.approx(own.f, rel=1e-8)


def test_rounding_is_said():
    """Offsets hide the features' differences; only what float64 shows is claimed."""
    X, y, offsets = documents(12, noise=0.3)
    with pytest.warns(UserWarning, match="rounding hides further progress"):
        model = RankSVM(1e4, scale="none", device="cpu").fit(1e6 * X + 1e13, y, group=np.diff(offsets))
    assert model.stop_reason_ == "rounding" and not model.converged_


def test_constant_columns_get_no_weight():
    """Their gradient is 0, although sums of large numbers would leave rounding errors."""
    X, y, offsets = documents()
    model = fitted(np.hstack([X, np.full((len(X), 1), 1e9)]), y, offsets, 1.0)
    assert model.coef_[-1] == 0.0 and model.converged_
