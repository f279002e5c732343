"""Tikhonov regularization and feature propagation as methods."""

import numpy as np

from gpukit.graphs.adjacency import laplacian, normalized_laplacian
from gpukit.imputation.baselines.means import level
from gpukit.imputation.baselines.smoothing import ROUGH, feature_propagation, smoothed
from gpukit.imputation.problem import Method, always

TAUS = (0.3, 3.0, 0.03)
ITERATIONS = (5, 40)


def taus(problem):
    """Return regularization strengths and centerings."""
    return [{"tau": tau, "center": center} for center in ("columns", "both") for tau in TAUS]


def rounds(problem):
    """Return numbers of steps and centerings."""
    return [{"iterations": count, "center": center} for center in ("columns", "both") for count in ITERATIONS]


def tikhonov_by(form):
    """Return Tikhonov regularization by a Laplacian as a fill function."""
    return lambda problem, setting: centred_fill(
        problem, setting, lambda rest, seen: smoothed(form(problem.adjacency), rest, seen, setting["tau"], None, ROUGH)
    )


def propagate(problem, setting):
    """Fill in by feature propagation."""
    return centred_fill(
        problem,
        setting,
        lambda rest, seen: feature_propagation(problem.adjacency, rest, seen, setting["iterations"]),
    )


def centred_fill(problem, setting, smooth):
    """Apply `smooth` to centred values (N, 1, T) and add the mean."""
    base = level(problem, setting["center"])
    rest = np.where(problem.seen, problem.values - base, 0.0)
    return base + smooth(rest[:, None], problem.seen[:, None])[:, 0]


METHODS = (
    Method("tikhonov", always, taus, tikhonov_by(laplacian), alone=True),
    Method("tikhonov-normalized", always, taus, tikhonov_by(normalized_laplacian), alone=True),
    Method("feature-propagation", always, rounds, propagate, alone=True),
)
