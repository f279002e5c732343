"""TRON: the trust-region Newton method with conjugate gradients (Algorithm 1), preconditioned.

The problem is seen through three questions, answered on whatever device holds the documents:

    evaluate(w) -> f, gradient        moves the point at which products are taken
    product(v)  -> H v, v'H v         generalized Hessian at that point (Eq. 8)
    inverse(r)  -> M^-1 r             of a fixed preconditioner, or None

Vectors have one number a feature, so they stay on the host. Rules: Lin, Weng and Keerthi 2008, as Lee and Lin's
rankSVM runs them; the radius starts at ||g|| (Algorithm 1's printed 0 would never move). With a preconditioner all
lengths but the stopping rule's are those of M: ||s||_M, ||g||_M^-1.
"""

from typing import NamedTuple

import numpy as np

ACCEPT, POOR, GOOD = 1e-4, 0.25, 0.75  # eta_0..2: of the actual over the predicted reduction
SHRINK, KEEP, GROW = 0.25, 0.5, 4.0  # sigma_1..3: of the radius
CG_TOLERANCE = 0.1
SETTLED = 1e-12  # relative reductions that rounding leaves
HIDDEN = 1e-9  # up to which rounding may hide a relative reduction: sums over pairs cancel


class Step(NamedTuple):
    """What conjugate gradients found: step, its residual -g - H s, its length in M, the CG steps taken."""

    step: np.ndarray
    residual: np.ndarray
    length: float
    steps: int


class Result(NamedTuple):
    """w, f(w), ||g||, why it stopped ('converged', 'settled', 'max_iter'), a dict per iteration, ||g|| at w = 0."""

    w: np.ndarray
    objective: float
    gradient: float
    stopped: str
    history: list
    start_norm: float


def minimize(problem, w, eps, max_iter, start_norm=None, progress=lambda *news: None):
    """Minimize from w until ||g|| <= eps * start_norm (None: ||g|| at w = 0, an evaluation more unless w is 0), or
    until rounding hides what is left of f and ||g|| no longer halves."""
    w = np.array(w, np.float64)
    if start_norm is None and w.any():
        start_norm = float(np.linalg.norm(problem.evaluate(np.zeros_like(w))[1]))
    f, g = problem.evaluate(w)
    if start_norm is None:
        start_norm = float(np.linalg.norm(g))
    target, radius, history = eps * start_norm, None, []
    while len(history) < max_iter:
        size = float(np.linalg.norm(g))
        progress("training", len(history), None, {"f": f, "gradient": size / max(start_norm, 1e-300)})
        if size <= target:
            return Result(w, f, size, "converged", history, start_norm)
        first = radius is None
        found = conjugate_gradients(problem, g, preconditioned_norm(problem, g) if first else radius)
        radius = found.length if first else radius
        slope = float(g @ found.step)
        predicted = -0.5 * (slope - found.step @ found.residual)
        trial, trial_gradient = problem.evaluate(w + found.step)
        actual = f - trial
        if 0 < predicted <= HIDDEN * abs(f) and np.linalg.norm(trial_gradient) < size:
            actual = predicted  # a step that cannot be seen in f must not shrink the radius to its own length
        radius = next_radius(radius, found.length, actual, predicted, trial - f - slope, slope)
        if actual > ACCEPT * predicted:
            w, f, g = w + found.step, trial, trial_gradient
        history.append({"f": f, "gradient": float(np.linalg.norm(g)), "cg_steps": found.steps, "radius": radius})
        if settled(f, actual, predicted) and history[-1]["gradient"] > size / 2:
            return Result(w, f, float(np.linalg.norm(g)), "settled", history, start_norm)
        if actual <= ACCEPT * predicted:
            f, g = problem.evaluate(w)
    return Result(w, f, float(np.linalg.norm(g)), "max_iter", history, start_norm)


def settled(f, actual, predicted):
    """Whether both reductions are within rounding error."""
    return (abs(actual) <= SETTLED * abs(f) and abs(predicted) <= SETTLED * abs(f)) or (actual <= 0 and predicted <= 0)


def preconditioned_norm(problem, g):
    """||g|| in the norm of M^-1."""
    return float(np.sqrt(g @ (problem.inverse(g) if problem.inverse else g)))


def next_radius(radius, length, actual, predicted, curvature, slope):
    """The radius after a step of this length: rules of Lin and More 1999."""
    scale = GROW if curvature <= 0 else max(SHRINK, -0.5 * slope / curvature)
    if actual < ACCEPT * predicted:
        return min(max(scale, SHRINK) * length, KEEP * radius)
    if actual < POOR * predicted:
        return max(SHRINK * radius, min(scale * length, KEEP * radius))
    if actual < GOOD * predicted:
        return max(SHRINK * radius, min(scale * length, GROW * radius))
    return max(radius, min(scale * length, GROW * radius))


def conjugate_gradients(problem, g, radius):
    """Minimize g's + s'Hs / 2 within ||s||_M <= radius, until the residual is a tenth of g (Eq. 2)."""
    step, residual = np.zeros_like(g), -g
    z = problem.inverse(residual) if problem.inverse else residual
    direction, image = z.copy(), residual.copy()  # image = M direction, so that no M is needed
    size = float(residual @ z)
    target, square = CG_TOLERANCE * np.sqrt(size), 0.0  # square = ||step||_M^2
    most = max(len(g), 5)
    for done in range(most):
        if np.sqrt(size) <= target:
            return Step(step, residual, float(np.sqrt(square)), done)
        curved, curvature = problem.product(direction)
        alpha = size / curvature
        cross, own = float(step @ image), float(direction @ image)
        grown = square + alpha * (2.0 * cross + alpha * own)
        if grown > radius * radius:
            alpha = to_boundary(square, cross, own, radius)
            return Step(step + alpha * direction, residual - alpha * curved, radius, done + 1)
        step, residual, square = step + alpha * direction, residual - alpha * curved, grown
        z = problem.inverse(residual) if problem.inverse else residual
        size, before = float(residual @ z), size
        direction, image = z + size / before * direction, residual + size / before * image
    return Step(step, residual, float(np.sqrt(square)), most)


def to_boundary(square, cross, own, radius):
    """alpha >= 0 with ||step + alpha direction||_M = radius, by the root formula that does not cancel."""
    room = radius * radius - square
    root = np.sqrt(max(cross * cross + own * room, 0.0))
    return room / (cross + root) if cross >= 0 else (root - cross) / own
