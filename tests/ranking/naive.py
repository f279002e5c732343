"""Oracles of linear RankSVM over every pair of a query, in float64. Pairs (i, j): one query, y_i > y_j."""

from typing import NamedTuple

import numpy as np

ROWS = 256  # documents whose pairs are computed together


class Point(NamedTuple):
    """f(w) of Eq. (1), its gradient (n,), and the function v -> H v of Eq. (8)."""

    f: float
    gradient: np.ndarray
    hessian_vector: object


class Minimum(NamedTuple):
    """w (n,), f(w), the Newton steps (accepted ones) and all conjugate gradient steps."""

    w: np.ndarray
    f: float
    newton_steps: int
    cg_steps: int


def pair_sums(y, s, u, offsets):
    """Return (plus, minus), (l,) float64: for each i the sums of u_j over the active pairs (j, i), and (i, j)."""
    plus, minus = np.zeros(len(y)), np.zeros(len(y))
    for begin, end in zip(offsets[:-1], offsets[1:]):
        Y, S, U = y[begin:end], s[begin:end], u[begin:end]
        for first in range(begin, end, ROWS):
            i = slice(first, min(first + ROWS, end))
            above = (Y > y[i, None]) & (S - s[i, None] < 1)
            below = (Y < y[i, None]) & (s[i, None] - S < 1)
            plus[i] = np.where(above, U, 0).sum(axis=1)
            minus[i] = np.where(below, U, 0).sum(axis=1)
    return plus, minus


def pairs(y, offsets):
    """Return (i, j), (p,) int64 each: all preference pairs."""
    found = [(np.empty(0, int), np.empty(0, int))]
    for begin, end in zip(offsets[:-1], offsets[1:]):
        high, low = np.nonzero(y[begin:end, None] > y[begin:end])
        found.append((high + begin, low + begin))
    return tuple(np.concatenate(part) for part in zip(*found))


def pair_count(y, offsets):
    """Return |P|."""
    return len(pairs(y, offsets)[0])


def objective(w, X, y, offsets, C, query_weight=None, sample_weight=None, gains=None):
    """Return the Point at w; query_weight (m,) multiplies C in the pairs of each query, sample_weight (l,) twice.

    gains (l,): their difference multiplies it, too.
    """
    costs = _costs(y, offsets, C, query_weight, sample_weight, gains)
    return _point(w, np.asarray(X, np.float64), pairs(y, offsets), costs)


def _costs(y, offsets, C, query_weight, sample_weight=None, gains=None):
    """Return the factor (p,) of each pair's loss."""
    weight = np.ones(len(offsets) - 1) if query_weight is None else np.asarray(query_weight, np.float64)
    own = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    i, j = pairs(y, offsets)
    return C * np.repeat(weight, np.diff(offsets))[i] * own[i] * own[j] * (1 if gains is None else gains[i] - gains[j])


def _point(w, X, of, costs):
    i, j = of
    slack = 1 - ((X @ w)[i] - (X @ w)[j])
    costs = np.where(slack > 0, costs, 0)

    def transposed(z):
        """Return the sum over pairs of z (x_i - x_j)."""
        return X.T @ (np.bincount(i, z, len(X)) - np.bincount(j, z, len(X)))

    def hessian_vector(v):
        return v + 2 * transposed(costs * ((X @ v)[i] - (X @ v)[j]))

    f = 0.5 * w @ w + np.sum(costs * slack**2)
    return Point(float(f), w - 2 * transposed(costs * slack), hessian_vector)


def minimize(X, y, offsets, C, eps, query_weight=None, most=1000, sample_weight=None, gains=None):
    """Return the Minimum of Eq. (1): TRON of LIBLINEAR 1.94 from w = 0, until ||g|| <= eps ||g0||."""
    X, of = np.asarray(X, np.float64), pairs(y, offsets)
    costs = _costs(y, offsets, C, query_weight, sample_weight, gains)
    w = np.zeros(X.shape[1])
    point = _point(w, X, of, costs)
    delta = start = np.linalg.norm(point.gradient)
    newton = cg = 0
    while np.linalg.norm(point.gradient) > eps * start and newton < most:
        s, r, steps = _conjugate_gradients(point, delta)
        cg += steps
        new = _point(w + s, X, of, costs)
        slope, length = point.gradient @ s, np.linalg.norm(s)
        predicted, actual = -0.5 * (slope - s @ r), point.f - new.f
        delta = min(delta, length) if newton == 0 else delta
        delta = _next_radius(delta, length, new.f - point.f - slope, slope, actual, predicted)
        scale = 1e-12 * abs(point.f)
        if actual > 1e-4 * predicted:
            w, point, newton = w + s, new, newton + 1
        if (actual <= 0 and predicted <= 0) or (abs(actual) <= scale and abs(predicted) <= scale):
            break
    return Minimum(w, point.f, newton, cg)


def _next_radius(delta, length, bend, slope, actual, predicted):
    alpha = 4 if bend <= 0 else max(0.25, -0.5 * slope / bend)
    if actual < 1e-4 * predicted:
        return min(max(alpha, 0.25) * length, 0.5 * delta)
    if actual < 0.25 * predicted:
        return max(0.25 * delta, min(alpha * length, 0.5 * delta))
    if actual < 0.75 * predicted:
        return max(0.25 * delta, min(alpha * length, 4 * delta))
    return max(delta, min(alpha * length, 4 * delta))


def _conjugate_gradients(point, delta):
    """Return (s, residual -g - H s, steps), where s approximates -H^-1 g.

    ||s|| <= delta; it ends when ||residual|| <= 0.1 ||g||.
    """
    s, r = np.zeros_like(point.gradient), -point.gradient
    d, steps, goal = r.copy(), 0, 0.1 * np.linalg.norm(r)
    while np.linalg.norm(r) > goal:
        steps += 1
        Hd = point.hessian_vector(d)
        alpha = (r @ r) / (d @ Hd)
        if np.linalg.norm(s + alpha * d) > delta:
            alpha = max(np.roots([d @ d, 2 * s @ d, s @ s - delta**2]).real)
            return s + alpha * d, r - alpha * Hd, steps
        s, before = s + alpha * d, r @ r
        r = r - alpha * Hd
        d = r + (r @ r) / before * d
    return s, r, steps
