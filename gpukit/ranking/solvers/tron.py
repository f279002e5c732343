"""TRON: the trust-region Newton method with conjugate gradients (Algorithm 1), preconditioned.

A problem has five methods; the first two run on the device of the documents:

    evaluate(w)    -> f, gradient        moves the point at which products are taken
    product(v)     -> H v, v'H v         generalized Hessian at that point (Eq. 8)
    inverse(r)     -> M^-1 r             of a fixed preconditioner, or None
    floor(w, f, g) -> a lower bound of min f, from one evaluation
    noise(w, f)    -> a bound of the rounding error of f

Vectors have one number per feature and stay on the host. Rules: Lin, Weng and Keerthi 2008, as in Lee and Lin's
rankSVM; the radius starts at ||g|| (Algorithm 1's printed 0 would never move). With a preconditioner all lengths except
those of the stopping rule are in the norm of M: ||s||_M, ||g||_M^-1.

Stopping. The gap is f plus its noise minus the largest lower bound: f(w) - min f is at most the gap.
"""

from typing import NamedTuple

import numpy as np

ACCEPT = 1e-4  # eta_0: the least actual over the predicted reduction
GAP = 0.1  # the allowed gap, relative to f, over eps


class Step(NamedTuple):
    """Result of conjugate gradients: step, its residual -g - H s, its length in M, the CG steps taken."""

    step: np.ndarray
    residual: np.ndarray
    length: float
    steps: int


class Result(NamedTuple):
    """Result of a minimization.

    w, f(w), ||g||, the reason it stopped ('converged', 'settled', 'max_iter'), a dict per iteration, ||g|| at w = 0,
    and the gap: an upper bound of f(w) - min f.
    """

    w: np.ndarray
    objective: float
    gradient: float
    stopped: str
    history: list
    start_norm: float
    gap: float

    @property
    def is_minimum(self):
        """True if f(w) is certified to be within 1e-6 of the minimum, relatively."""
        certified = 1e-6
        return self.gap <= certified * abs(self.objective)


def minimize(problem, w, eps, max_iter, start_norm=None, progress=lambda *news: None, loose=False):
    """Minimize from w until ||g|| <= eps * start_norm and the gap is at most GAP * eps * |f|.

    It also ends if rounding hides the rest of f and ||g|| no longer halves. start_norm: None for ||g|| at w = 0, which
    is one more evaluation unless w is 0. loose: the decrease of the last step replaces a larger gap, and nothing is
    certified.
    """
    hidden = 1e-9  # relative reductions that rounding may hide: sums over pairs cancel
    w = np.array(w, np.float64)
    if start_norm is None and w.any():
        start_norm = float(np.linalg.norm(problem.evaluate(np.zeros_like(w))[1]))
    f, g = problem.evaluate(w)
    if start_norm is None:
        start_norm = float(np.linalg.norm(g))
    radius, history, floor, last = None, [], problem.floor(w, f, g), np.inf

    def result(stopped):
        gap = max(f + problem.noise(w, f) - floor, 0.0)
        return Result(w, f, float(np.linalg.norm(g)), stopped, history, start_norm, gap)

    while len(history) < max_iter:
        size, allowed = float(np.linalg.norm(g)), GAP * eps * abs(f)
        progress("training", len(history), None, {"f": f, "gradient": size / max(start_norm, 1e-300)})
        gap = f + problem.noise(w, f) - floor
        if size <= eps * start_norm and min(gap, last if loose else gap) <= allowed:
            return result("converged")
        norm, first = preconditioned_norm(problem, g), radius is None
        limit = norm if first else radius
        step = conjugate_gradients(problem, g, limit, allowed)
        radius = step.length if first else radius
        slope = float(g @ step.step)
        predicted = -0.5 * (slope - step.step @ step.residual)
        trial, trial_gradient = problem.evaluate(w + step.step)
        floor = max(floor, problem.floor(w + step.step, trial, trial_gradient))
        actual = f - trial
        if 0 < predicted <= hidden * abs(f) and preconditioned_norm(problem, trial_gradient) < norm:
            actual = predicted  # a step without a visible effect on f must not shrink the radius to its own length
        radius = next_radius(radius, step.length, actual, predicted, trial - f - slope, slope)
        if actual > ACCEPT * predicted:
            w, f, g = w + step.step, trial, trial_gradient
            last = np.inf if step.length >= limit else predicted + abs(actual - predicted)
        history.append({"f": f, "gradient": float(np.linalg.norm(g)), "cg_steps": step.steps, "radius": radius})
        if is_settled(f, actual, predicted) and history[-1]["gradient"] > size / 2:
            return result("settled")
        if actual <= ACCEPT * predicted:
            f, g = problem.evaluate(w)
    return result("max_iter")


def is_settled(f, actual, predicted):
    """Return True if both reductions are within rounding errors."""
    tolerance = 1e-12  # relative reductions within rounding errors
    return (abs(actual) <= tolerance * abs(f) and abs(predicted) <= tolerance * abs(f)) or (
        actual <= 0 and predicted <= 0
    )


def preconditioned_norm(problem, g):
    """Return ||g|| in the norm of M^-1."""
    return float(np.sqrt(g @ (problem.inverse(g) if problem.inverse else g)))


def next_radius(radius, length, actual, predicted, curvature, slope):
    """Return the radius after a step of this length: rules of Lin and More 1999."""
    poor, good = 0.25, 0.75  # eta_1, eta_2: of the actual over the predicted reduction
    shrink, keep, grow = 0.25, 0.5, 4.0  # sigma_1..3: of the radius
    scale = grow if curvature <= 0 else max(shrink, -0.5 * slope / curvature)
    if actual < ACCEPT * predicted:
        return min(max(scale, shrink) * length, keep * radius)
    if actual < poor * predicted:
        return max(shrink * radius, min(scale * length, keep * radius))
    if actual < good * predicted:
        return max(shrink * radius, min(scale * length, grow * radius))
    return max(radius, min(scale * length, grow * radius))


def conjugate_gradients(problem, g, radius, allowed=0.0):
    """Minimize g's + s'Hs / 2 within ||s||_M <= radius, until the residual is a tenth of g (Eq. 2).

    If the decrease so far is within `allowed`, continue until ||residual||^2 / 2 is too, which then certifies the
    point.
    """
    cg_tolerance = 0.1
    step, residual = np.zeros_like(g), -g
    z = problem.inverse(residual) if problem.inverse else residual
    direction, image = z.copy(), residual.copy()  # image = M direction, so that M is not needed
    size = float(residual @ z)
    target, square, fall = cg_tolerance * np.sqrt(size), 0.0, 0.0  # square = ||step||_M^2
    most = max(2 * len(g), 5)  # rounding takes more steps than unknowns if features are dependent
    for done in range(most):
        left = 0.5 * float(residual @ residual)
        if size == 0.0 or np.sqrt(size) <= target and (fall > 0.5 * allowed or left <= 0.5 * allowed):
            return Step(step, residual, float(np.sqrt(square)), done)
        curved, curvature = problem.product(direction)
        if not 0.0 < curvature < np.inf:  # the numbers are too small or too large for float64
            return Step(step, residual, float(np.sqrt(square)), done)
        alpha = size / curvature
        cross, direction_norm = float(step @ image), float(direction @ image)
        next_square = square + alpha * (2.0 * cross + alpha * direction_norm)
        if next_square > radius * radius:
            alpha = to_boundary(square, cross, direction_norm, radius)
            return Step(step + alpha * direction, residual - alpha * curved, radius, done + 1)
        fall += 0.5 * alpha * size
        step, residual, square = step + alpha * direction, residual - alpha * curved, next_square
        z = problem.inverse(residual) if problem.inverse else residual
        size, before = float(residual @ z), size
        direction, image = z + size / before * direction, residual + size / before * image
    return Step(step, residual, float(np.sqrt(square)), most)


def to_boundary(square, cross, curvature, radius):
    """Return alpha >= 0 with ||step + alpha direction||_M = radius, by the root formula that does not cancel."""
    room = radius * radius - square
    root = np.sqrt(max(cross * cross + curvature * room, 0.0))
    return room / (cross + root) if cross >= 0 else (root - cross) / curvature
