"""The minimum for slow trust regions: Newton's method along a path of C, each minimum the start of the next.

If a model can order nearly all pairs, the features' units determine the hardness of the margins: the loss of features
of size 1e9 weighs 1e18 times as much against w'w / 2. Few pairs stay active, they change with every step, and rounding
of the gradient hides the effect of w'w / 2. Four methods help.

A smaller C comes first. Its minimum is near the next one's, and its lower bounds hold for every larger C.

The Newton point x of the active pairs solves H x = 2 C X'A'e from x = 0, without a preconditioner. So x is a sum of
differences of documents at every step, and directions without an active pair stay exactly 0, for any C. A
preconditioner is used only if that does not reach a minimum, as for features of very different units.

A line search finds the lowest point towards x, by the slope: f is convex, and piecewise a parabola.

If all pairs can be ordered, w of a smaller C is lengthened until no pair is active. Then f = w'w / 2 without sums that
rounding affects, for any C.
"""

from typing import NamedTuple

import numpy as np

from gpukit.ranking.solvers import tron

TRUSTED = 20  # steps of the trust region before the path, then of line searches
SOLVED = 1e-3  # of f: the gap at which a smaller C ends; above it the preconditioner is tried, or the path ends
SLACK, LENGTHS = 0.25, 10.0 ** np.arange(5)  # of the allowed gap; its multiples that are tried


class Point(NamedTuple):
    """w with its f and gradient."""

    w: np.ndarray
    f: float
    g: np.ndarray


class Place(NamedTuple):
    """w with f, ||g|| and the rounding error of f."""

    w: np.ndarray
    f: float
    gradient: float
    noise: float


def find_minimum(problem, w, eps, max_iter, start_norm=None, progress=lambda *news: None, loose=False):
    """Return the tron.Result of tron.minimize, with line searches and the path if it is too slow.

    loose: see tron.minimize; the path is not used.
    """
    result = tron.minimize(problem, w, eps, min(max_iter, TRUSTED), start_norm, progress, loose)
    if not is_done(result, eps):
        result = search_on(problem, result, eps, max_iter, progress)
    if not (loose or is_done(result, eps)) and len(result.history) < max_iter:
        result = Path(problem, eps, result, max_iter, progress).follow()
    while result.stopped == "max_iter" and len(result.history) < max_iter:
        result = search_on(problem, result, eps, max_iter, progress)
    return result


def is_done(result, eps):
    """Return True if the gap of a tron.Result is certified to be small enough."""
    allowed = tron.GAP * eps * abs(result.objective)
    return result.stopped == "converged" or (result.stopped == "settled" and result.gap <= allowed)


def search_on(problem, result, eps, max_iter, progress):
    """Return the tron.Result after TRUSTED more Newton steps with line searches; 'settled' if rounding hides their
    effect. Conjugate gradients are preconditioned and end early."""
    history, floor = list(result.history), result.objective - result.gap
    point, gap, hidden, stopped = Point(result.w, *problem.evaluate(result.w)), np.inf, False, "max_iter"
    for left in range(min(TRUSTED, max_iter - len(history)), -1, -1):
        floor, before = max(floor, problem.floor(*point)), gap
        gap, allowed = max(point.f + problem.noise(point.w, point.f) - floor, 0.0), tron.GAP * eps * point.f
        progress("training", len(history), None, news(point))
        if gap <= allowed and norm(point.g) <= eps * result.start_norm:
            stopped = "converged"
        elif hidden and gap > 0.5 * before:
            stopped = "settled"
        if stopped != "max_iter" or not left:
            break
        step = tron.conjugate_gradients(problem, point.g, np.inf, allowed)
        new = search(problem, point, point.w + step.step)
        hidden, point = new.f >= point.f - problem.noise(point.w, point.f), new
        history.append({**news(point), "cg_steps": step.steps, "radius": None})
    final = result._replace(stopped=stopped, history=history, gap=gap)
    return final._replace(w=point.w, objective=point.f, gradient=norm(point.g))


class Path:
    """Newton steps for rising C from 0, after a tron.Result that did not converge; floor: the best bound of min f."""

    def __init__(self, problem, eps, result, max_iter, progress):
        self.problem, self.eps, self.before = problem, eps, result
        self.history, self.most, self.progress = list(result.history), max_iter, progress
        self.floor, self.scale = result.objective - result.gap, 0.0
        self.inverses = [lambda C: lambda r: r, problem.preconditioner.inverse]

    def follow(self):
        """Return the tron.Result of the lowest point: on the path, lengthened, or the previous one."""
        w, before = np.zeros_like(self.before.w), self.before
        most = 10.0  # of f: a bound of rounding above which a larger C is not tried; it is far above most errors
        noise = self.problem.noise(before.w, before.objective)
        places = [Place(before.w, before.objective, before.gradient, noise)]
        for C in path_of(self.problem):
            stage = self.problem.at(C)
            point = self.best(stage, w)
            w, noisy = point.w, stage.noise(point.w, point.f) > most * point.f
            if is_ordered(point):
                places += lengthen(self.problem, point, SLACK * tron.GAP * self.eps) + exact_place(self.problem, w)
            result = self.result(lowest(places), "converged")
            if result.gap <= tron.GAP * self.eps * result.objective and len(places) > 1:
                return result
            if noisy:
                break
        places += exact_place(self.problem, w) + exact_place(self.problem, before.w)
        point = Point(w, *self.problem.evaluate(w))
        places.append(Place(w, point.f, norm(point.g), self.problem.noise(*point[:2])))
        best = lowest(places)
        hidden = noisy or self.problem.noise(best.w, best.f) > tron.GAP * self.eps * best.f
        return self.result(best, "settled" if hidden else "max_iter")

    def result(self, place, stopped):
        """Return the tron.Result at a Place."""
        gap, final = max(place.f + place.noise - self.floor, 0.0), self.before._replace(history=self.history)
        return final._replace(w=place.w, objective=place.f, gradient=place.gradient, stopped=stopped, gap=gap)

    def best(self, stage, w):
        """Return the lowest Point of `solve`, without or with a preconditioner: the better one for the last C."""
        points = []
        for _ in self.inverses:
            points.append(self.solve(stage, w))
            if points[-1].f - stage.floor(*points[-1]) <= SOLVED * points[-1].f:
                break
            self.inverses = self.inverses[1:] + self.inverses[:1]
        return min(points, key=lambda point: point.f)

    def solve(self, stage, w):
        """Return the Point at which Newton steps for one C end: certified, or with a negligible decrease of f."""
        hard = 1e-12  # relative fall of f at which Newton steps at one C end
        energy = 1e-4  # of the allowed gap: conjugate gradients end when their last steps lower the model by less
        point, inverse = Point(w, *stage.evaluate(w)), self.inverses[0](stage.C)
        while len(self.history) < self.most:
            self.scale = max(self.scale, stage.floor(*point))  # of smaller C too: minima increase with C
            self.floor = max(self.floor, stage.floor(*point, self.problem.C))
            last = stage.C == self.problem.C or is_ordered(point)
            if (
                point.f + stage.noise(point.w, point.f) - self.scale
                <= (tron.GAP * self.eps if last else SOLVED) * point.f
            ):
                break
            self.progress("training", len(self.history), None, news(point))
            x, steps = newton_point(stage, energy * tron.GAP * self.eps * self.scale, inverse)
            new = search(stage, point, x)
            if not new.f < point.f:
                break
            point, before = new, point
            self.history.append({**news(point), "cg_steps": steps, "radius": None, "C": stage.C})
            if before.f - point.f <= hard * point.f:
                break
        self.floor = max(self.floor, stage.floor(*point, self.problem.C))
        return point


def lowest(places):
    """Return the Place with the smallest upper bound of f."""
    return min(places, key=lambda place: place.f + place.noise)


def news(point):
    """Return the progress report of a Point."""
    return {"f": point.f, "gradient": norm(point.g)}


def norm(vector):
    """||vector||."""
    return float(np.linalg.norm(vector))


def path_of(problem):
    """Return the C of the path, from the value at which no feature's loss curves f more than w'w / 2."""
    ratio = 30.0  # ratio of each C of the path to the previous one
    grid, C = [], problem.softest()
    while C < problem.C:
        grid.append(C)
        C *= ratio
    return [*grid, problem.C]


def newton_point(problem, small, inverse):
    """Return (the minimum of the quadratic model, the number of conjugate gradient steps) at the last evaluated point.

    It ends when its last steps lower the model by less than `small`. inverse: r -> M^-1 r of a preconditioner.
    """
    most, last = 1000, 6  # conjugate gradient steps, and those that are compared with `small`
    x, residual = np.zeros(problem.n), problem.target()
    direction, falls = inverse(residual), []
    size = float(residual @ direction)
    while len(falls) < min(3 * problem.n + 20, most) and float(residual @ residual) > 2.0 * small and size > 0.0:
        image, curvature = problem.product(direction)
        if not 0.0 < curvature < np.inf:  # the numbers are too small or too large for float64
            break
        alpha = size / curvature
        x, residual = x + alpha * direction, residual - alpha * image
        falls.append(0.5 * alpha * size)
        z = inverse(residual)
        size, before = float(residual @ z), size
        direction = z + size / before * direction
        if len(falls) >= last and sum(falls[-last:]) <= small:
            break
    return x, len(falls)


def search(problem, point, x):
    """Return the Point near the minimum of f on the way to x, or beyond.

    Newton's method, in a bracket that is halved if a step does not halve it.
    """
    searches, flat = 20, 0.1  # evaluations of a line search; the fraction of the slope at which it ends
    step = x - point.w
    first, low, high, length, width = float(point.g @ step), 0.0, np.inf, 1.0, np.inf
    if not first < 0:
        return point
    for _ in range(searches):
        new = Point(point.w + length * step, *problem.evaluate(point.w + length * step))
        slope = float(new.g @ step)
        if abs(slope) <= flat * abs(first):
            break
        low, high = (low, length) if slope > 0 else (length, high)
        curvature = problem.product(step)[1]
        length -= slope / curvature if curvature > 0.0 else np.inf
        if not low < length < high or high - low > 0.5 * width:
            length = 2.0 * low if high == np.inf else 0.5 * (low + high)
        width = high - low
    return new


def is_ordered(point):
    """Return True if the loss at a Point is such a small part of f that all pairs may be in order."""
    ordered = 0.01  # of f: the largest loss of a smaller C that may vanish after lengthening w
    return point.f - 0.5 * float(point.w @ point.w) <= ordered * point.f


def exact_place(problem, w):
    """Return [the Place of a problem at w, f added pair by pair], or [] if this is not possible."""
    result = problem.sharp(w)
    return [] if result is None else [Place(w, result[0], norm(problem.evaluate(w)[1]), result[1])]


def lengthen(problem, point, slack):
    """Return [the Place on the ray through a Point of a smaller C where no pair is active], or [].

    slack: the first value to try for the largest slack of a pair.
    """
    noise = 4.0 * problem.score_noise(point.w)
    for longer in LENGTHS:
        w = point.w / (1.0 - longer * slack)
        if np.array_equal(problem.evaluate(w)[1], w):
            w = w * (1.0 + noise)  # rounding may have hidden an active pair
            return [Place(w, 0.5 * float(w @ w), norm(w), 0.0)]
    return []
