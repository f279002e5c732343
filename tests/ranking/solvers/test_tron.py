"""TRON on problems with known minima, rule by rule, and on RankSVM against the oracle's minimum."""

import numpy as np
import pytest
import scipy.optimize
import scipy.special

from gpukit.ranking import cpu
from gpukit.ranking.pair_sums import make_pair_sums
from gpukit.ranking.solvers import tron
from gpukit.ranking.solvers.objective import Objective, Preconditioner
from ranking import data, inputs, naive, sessions


class Smooth:
    """A problem of functions f(w) -> (f, gradient) and H(w), which records its evaluation points."""

    def __init__(self, value, hessian, inverse=None):
        self.value, self.hessian, self.inverse, self.asked = value, hessian, inverse, []

    def evaluate(self, w):
        self.at = np.array(w)
        self.asked.append(self.at)
        return self.value(w)

    def product(self, v):
        Hv = self.hessian(self.at) @ v
        return Hv, float(v @ Hv)

    def floor(self, w, f, g):
        return f - 0.5 * float(g @ g)

    def noise(self, w, f):
        return 0.0


def quadratic(n, seed=0, condition=100.0):
    """Return (Smooth, minimizer) of w'A w / 2 - b'w with eigenvalues from 1 to `condition`."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    A, b = Q * np.geomspace(1, condition, n) @ Q.T, rng.normal(size=n)
    return Smooth(lambda w: (0.5 * w @ A @ w - b @ w, A @ w - b), lambda w: A), np.linalg.solve(A, b)


def logistic(n=8, seed=0):
    """Regularized logistic regression: convex, with a variable Hessian."""
    X = np.random.default_rng(seed).normal(size=(60, n)) * np.geomspace(1, 10, n)

    def value(w):
        margins = X @ w - 1
        return 0.5 * w @ w + np.logaddexp(0, -margins).sum(), w - X.T @ scipy.special.expit(-margins)

    def hessian(w):
        p = scipy.special.expit(X @ w - 1)
        return np.eye(n) + X.T * (p * (1 - p)) @ X

    return Smooth(value, hessian)


def ranking(name="five levels at the margin", n=8, widest=30):
    """Return (Queries, X, session) of a RankSVM problem with features of scales up to `widest`."""
    at = inputs.case(name)
    X = np.ascontiguousarray(inputs.features(at, n) * np.geomspace(1, widest, n), np.float32)
    return at, X, make_pair_sums(sessions.problem_of(at, X), "scan", cpu)


def cg_steps(result):
    return sum(step["cg_steps"] for step in result.history)


@pytest.mark.parametrize("n", [1, 2, 30])
def test_a_quadratic(n):
    problem, minimizer = quadratic(n)
    result = tron.minimize(problem, np.zeros(n), 1e-6, 100)
    assert result.stopped == "converged" and result.gradient <= 1e-6 * result.start_norm
    np.testing.assert_allclose(result.w, minimizer, rtol=0, atol=1e-5)


@pytest.mark.parametrize("start", [0.0, 3.0, -100.0])
def test_against_scipy(start):
    """Also from a bad start with a wrong quadratic model and rejected steps."""
    problem = logistic()
    expected = scipy.optimize.minimize(problem.value, np.zeros(8), jac=True, method="L-BFGS-B", options={"ftol": 1e-15})
    result = tron.minimize(problem, np.full(8, start), 1e-6, 200)
    assert result.stopped == "converged"
    assert result.objective == pytest.approx(expected.fun, rel=1e-9)
    f, g = problem.value(result.w)
    assert result.objective == f and result.gradient == np.linalg.norm(g)
    values = [step["f"] for step in result.history]
    assert values == sorted(values, reverse=True)


def test_a_refused_step_goes_back():
    """The model is too optimistic: the step is rejected, the radius shrinks, products are at w again."""

    def value(w):
        return float(np.sqrt(1 + w @ w) + 100 * max(0.0, abs(w[0] - 3) - 0.5)), w / np.sqrt(1 + w @ w)

    problem = Smooth(value, lambda w: 1e-3 * np.eye(1))
    result = tron.minimize(problem, np.array([3.0]), 1e-6, 1, start_norm=1.0)
    assert result.history[0]["f"] == value(np.array([3.0]))[0] and result.w == [3.0]
    assert problem.asked[-1] == [3.0] and problem.asked[-2] != [3.0]
    assert result.history[0]["radius"] <= 0.5 * abs(problem.asked[-2] - 3)


@pytest.mark.parametrize("preconditioned", [False, True])
@pytest.mark.parametrize("C", [1e-3, 1.0])
def test_the_minimum_of_ranksvm(C, preconditioned):
    at, X, session = ranking()
    preconditioner = Preconditioner(session.gram()) if preconditioned else None
    result = tron.minimize(Objective(session, C, preconditioner), np.zeros(8), 1e-9, 200)
    expected = naive.minimize(X, at.y, at.offsets, C, 1e-9)
    assert result.objective == pytest.approx(expected.f, rel=1e-10)
    assert result.stopped in ("converged", "settled")
    gradient = naive.objective(result.w, X, at.y, at.offsets, C).gradient
    assert np.linalg.norm(gradient) == pytest.approx(result.gradient, rel=1e-4, abs=1e-12 * result.start_norm)


def test_steps_are_the_oracles():
    """Without a preconditioner the Newton and CG steps equal the oracle's."""
    at, X, session = ranking(widest=1)
    result = tron.minimize(Objective(session, 0.1), np.zeros(8), 1e-5, 100)
    expected = naive.minimize(X, at.y, at.offsets, 0.1, 1e-5)
    assert (len(result.history), cg_steps(result)) == (expected.newton_steps, expected.cg_steps)


def test_the_preconditioner_saves_steps():
    _, _, session = ranking("three levels", 20)
    plain, fast = (
        tron.minimize(Objective(session, 0.01, preconditioner), np.zeros(20), 1e-6, 500)
        for preconditioner in (None, Preconditioner(session.gram()))
    )
    assert fast.objective == pytest.approx(plain.objective, rel=1e-8)
    assert 3 * cg_steps(fast) < cg_steps(plain)


@pytest.mark.parametrize("preconditioned", [False, True])
def test_as_far_as_rounding_lets_it(preconditioned):
    at, X, session = ranking()
    preconditioner = Preconditioner(session.gram()) if preconditioned else None
    result = tron.minimize(Objective(session, 1.0, preconditioner), np.zeros(8), 1e-12, 500)
    assert result.stopped in ("converged", "settled") and len(result.history) < 50
    assert result.gradient <= 1e-8 * result.start_norm


@pytest.mark.parametrize("noise", [1e-13, 1e-11])
def test_rounding_in_f_does_not_shrink_the_radius(noise):
    """If f does not show small steps, their gradients do; no step may reduce the radius to its own length."""
    problem, minimizer = quadratic(8)
    plain, rng = problem.value, np.random.default_rng(1)
    problem.value = lambda w: (plain(w)[0] * (1 + noise * rng.normal()) + 1e4 * noise * rng.normal(), plain(w)[1])
    result = tron.minimize(problem, np.zeros(8), 1e-9, 200)
    assert result.stopped in ("converged", "settled") and result.gradient <= 1e-7 * result.start_norm
    np.testing.assert_allclose(result.w, minimizer, rtol=0, atol=1e-6 * np.abs(minimizer).max())


def test_settled():
    """Reductions within rounding errors end it, if the gradient cannot decrease."""
    problem, minimizer = quadratic(5)
    problem.value, plain = lambda w: (plain(w)[0] + 1e6, plain(w)[1]), problem.value
    result = tron.minimize(problem, np.zeros(5), 0.0, 1000)
    assert result.stopped == "settled" and len(result.history) < 100
    np.testing.assert_allclose(result.w, minimizer, rtol=0, atol=1e-3)


@pytest.mark.parametrize(
    "actual, predicted, expected",
    [
        (1e-13, 1e-13, True),
        (-1e-13, 1e-13, True),
        (1e-11, 1e-13, False),
        (1e-13, 1e-11, False),
        (-1, -1, True),
        (-1, 1, False),
        (0, 0, True),
        (1, -1, False),
    ],
)
def test_settled_rule(actual, predicted, expected):
    assert tron.is_settled(-1.0, actual, predicted) == expected


@pytest.mark.parametrize("most", [0, 1, 2])
def test_max_iter(most):
    problem = logistic()
    result = tron.minimize(problem, np.zeros(8), 1e-12, most)
    assert result.stopped == "max_iter" and len(result.history) == most
    assert result.objective == problem.value(result.w)[0]


def test_nothing_to_do():
    """The gradient is zero at once."""
    problem, minimizer = quadratic(3)
    problem.value = lambda w: (7.0, np.zeros(3))
    result = tron.minimize(problem, np.zeros(3), 1e-5, 10)
    assert (result.stopped, result.objective, result.history, result.start_norm) == ("converged", 7.0, [], 0.0)
    np.testing.assert_array_equal(result.w, 0)


def test_a_warm_start():
    """It stops by the gradient at w = 0: evaluated, or passed by the caller."""
    problem, minimizer = quadratic(6)
    cold = tron.minimize(problem, np.zeros(6), 1e-6, 100)
    start = minimizer + 1e-9
    warm = tron.minimize(problem, start, 1e-6, 100)
    assert warm.start_norm == cold.start_norm and (warm.stopped, warm.history) == ("converged", [])
    problem.asked.clear()
    given = tron.minimize(problem, start, 1e-6, 100, start_norm=cold.start_norm)
    assert len(problem.asked) == 1 and given.start_norm == cold.start_norm and given.history == []
    np.testing.assert_array_equal(given.w, start)
    assert tron.minimize(problem, start, 1e-6, 100, start_norm=1e-6 * cold.start_norm).history


def test_the_start_is_left_alone_and_progress_is_told():
    problem, _ = quadratic(4)
    start, reported = np.zeros(4), []
    result = tron.minimize(problem, start, 1e-8, 100, progress=lambda *news: reported.append(news))
    assert not start.any() and len(reported) == len(result.history) + 1
    assert [news[:3] for news in reported] == [("training", i, None) for i in range(len(reported))]
    assert reported[0][3] == {"f": 0.0, "gradient": 1.0} and reported[-1][3]["gradient"] <= 1e-8


@pytest.mark.parametrize(
    "length, actual, curvature, slope, expected",  # of a predicted reduction of 1 and a radius of 10
    [
        (4, -1.0, 1.0, -1.0, 2.0),  # rejected: scale 0.5 of the length
        (8, -1.0, 1.0, -4.0, 5.0),  # rejected: never more than half of the radius
        (8, -1.0, 9.0, -1.0, 2.0),  # rejected: a quarter of the length at least
        (4, 0.1, 1.0, -1.0, 2.5),  # poor: a quarter of the radius at least
        (8, 0.1, 1.0, -1.0, 4.0),  # poor: scale times the length
        (8, 0.1, 1.0, -4.0, 5.0),  # poor: half of the radius at most
        (4, 0.5, 1.0, -1.0, 2.5),  # fair: a quarter of the radius at least
        (8, 0.5, 1.0, -3.0, 12.0),  # fair: scale times the length
        (8, 0.5, 0.0, -1.0, 32.0),  # fair, curved downwards: four times the length
        (20, 0.5, -1.0, -1.0, 40.0),  # fair: four times the radius at most
        (4, 0.9, 1.0, -1.0, 10.0),  # good: never smaller
        (8, 0.9, 1.0, -3.0, 12.0),  # good: scale times the length
        (20, 0.9, -1.0, -1.0, 40.0),  # good: four times the radius at most
    ],
)
def test_next_radius(length, actual, curvature, slope, expected):
    assert tron.next_radius(10.0, length, actual, 1.0, curvature, slope) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("turn", [1.0, -1.0, 0.0])
def test_to_boundary(turn):
    """Forwards from a step ahead, behind, or across the direction."""
    step, direction = np.array([0.3, 0.4, 0.0]), np.array([turn, 0.5 * turn, 2.0])
    alpha = tron.to_boundary(step @ step, step @ direction, direction @ direction, 1.7)
    assert alpha > 0 and np.linalg.norm(step + alpha * direction) == pytest.approx(1.7, rel=1e-14)


def test_to_boundary_does_not_cancel():
    """A step that is nearly on the boundary, straight outwards: room / 2 cross is left."""
    assert tron.to_boundary(1 - 1e-14, 1.0, 1.0, 1.0) == pytest.approx((1 - (1 - 1e-14)) / 2, rel=1e-6, abs=0)
    assert tron.to_boundary(1.0, 1.0, 1.0, 1.0) == 0


@pytest.mark.parametrize("preconditioned", [False, True])
@pytest.mark.parametrize("radius", [0.05, 1e3])
def test_conjugate_gradients(radius, preconditioned):
    """The step's length in M, its residual, and its end on the boundary or with a tenth of the gradient."""
    problem, _ = quadratic(12)
    f, g = problem.evaluate(np.zeros(12))
    A = problem.hessian(None)
    M = np.diag(np.linspace(1, 50, 12)) if preconditioned else np.eye(12)
    problem.inverse = (lambda r: np.linalg.solve(M, r)) if preconditioned else None
    found = tron.conjugate_gradients(problem, g, radius)
    np.testing.assert_allclose(found.residual, -g - A @ found.step, rtol=0, atol=1e-10)
    assert found.length == pytest.approx(np.sqrt(found.step @ M @ found.step), rel=1e-10)
    left = found.residual @ np.linalg.solve(M, found.residual) / (g @ np.linalg.solve(M, g))
    assert found.length == radius if radius < 1 else left <= 0.01
    assert g @ found.step < 0


def test_the_first_radius_is_the_gradients_length():
    """In the norm of M^-1; the first step cannot be longer, and its length becomes the radius if shorter."""
    problem, _ = quadratic(3)
    problem.inverse = lambda r: r / 4
    _, g = problem.evaluate(np.zeros(3))
    assert tron.preconditioned_norm(problem, g) == pytest.approx(np.linalg.norm(g) / 2, rel=1e-15)
    problem.inverse = None
    flat = Smooth(lambda w: (w @ w / 200, w / 100), lambda w: np.eye(2) / 100)
    tron.minimize(flat, np.array([3.0, 4.0]), 1e-8, 1, start_norm=1.0)
    np.testing.assert_allclose(flat.asked[1], [3 - 0.03, 4 - 0.04], rtol=1e-14)
    steep = Smooth(lambda w: (2 * w @ w, 4 * w), lambda w: 4 * np.eye(2))
    result = tron.minimize(steep, np.array([3.0, 4.0]), 1e-8, 1, start_norm=1.0)
    assert result.history[0]["radius"] == pytest.approx(5.0, rel=1e-14)


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e12])
def test_the_preconditioner(C):
    """For a matrix without full rank, with eigenvalues slightly below 0 by rounding: M^-1 is never indefinite."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3, 10)) * 1e3
    gram = rows.T @ rows - 1e-7 * np.eye(10)
    assert np.linalg.eigvalsh(gram).min() < 0
    inverse = Preconditioner(gram).inverse(C)
    found = np.array([inverse(e) for e in np.eye(10)])
    np.testing.assert_allclose(found, found.T, rtol=0, atol=1e-12)
    largest = 1 / (1 - min(2 * C * 1e-7, 0.5))  # M is factored as it is, with the rounding errors of G
    assert -1e-15 < np.linalg.eigvalsh(found).min() and np.linalg.eigvalsh(found).max() <= largest * (1 + 1e-12)
    if C < 2:
        np.testing.assert_allclose(found @ (np.eye(10) + 2 * C * rows.T @ rows), np.eye(10), rtol=0, atol=1e-5)


def test_products_are_exact_without_a_preconditioner():
    """Many plain CG steps do not tolerate products in float32; gradient and loss are always exact."""

    class Noted:
        n = 2

        def move(self, w):
            self.moved = w

        def walk(self, v, margin, exact=True):
            asked.append((margin, exact))
            return np.append(v, 2.0)

    asked, w = [], np.array([1.0, 2])
    for preconditioner in (None, Preconditioner(np.eye(2))):
        problem = Objective(Noted(), 0.5, preconditioner)
        f, g = problem.evaluate(w)
        Hv, curvature = problem.product(w)
        assert (f, curvature) == (3.5, 7.0)
        np.testing.assert_array_equal([g, Hv], [2 * w, 2 * w])
    assert asked == [(1.0, True), (0.0, True), (1.0, True), (0.0, False)]


def test_every_c_of_a_path_has_one_session():
    """Consecutive warm-started trainings reach the minima of separate ones."""
    at, X, session = ranking()
    preconditioner, w = Preconditioner(session.gram()), np.zeros(8)
    for C in (1e-3, 1e-2, 1e-1):
        w = tron.minimize(Objective(session, C, preconditioner), w, 1e-7, 100).w
        assert data.relative(w, naive.minimize(X, at.y, at.offsets, C, 1e-9).w) < 1e-4
