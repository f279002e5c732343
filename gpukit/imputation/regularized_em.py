"""Regularized EM: columns are samples of a normal distribution over the vertices, with unknown mean and covariance.

    S = mean over columns t of (x_t - m) (x_t - m)'  +  C_mis        x_t: observed and imputed values
    P = (S + ridge I)^-1
    x_it = m_i - sum over j != i of P_ij / P_ii (x_jt - m_j)          wherever x_it is missing

These steps alternate until the imputed values converge. C_mis corrects the variance that imputation by a mean loses:
for a vertex with a share s of missing values s / P_ii. Vertices are divided by their standard deviations, so that
ridge has no unit. For columns in time x_t includes the columns before and after (lags = 1), from the result without
them.

The method needs no graph and predicts a vertex from any others: different kinds of sensors, parts and their sum.

The inverse uses LAPACK. Cost of a round: n^2 T + n^3 for n = N (1 + 2 lags) rows and T columns.
Source: Dempster, Laird, Rubin, "Maximum likelihood from incomplete data via the EM algorithm" (1977); Schneider,
"Analysis of incomplete climate data", J. Climate 14 (2001), for the ridge.
"""

import numpy as np

from gpukit.imputation.auto.judging import simple_estimate
from gpukit.imputation.constants import FEWEST_OBSERVED
from gpukit.imputation.problem import Method
from gpukit.imputation.simple import limits_of
from gpukit.model_selection.splits import order_by_values


def stack_lags(series, lags):
    """Return (n, T), n = N (1 + 2 lags): series (N, T), then the columns before and after for each lag.

    The first and last columns repeat beyond the ends.
    """
    places, last = np.arange(series.shape[1]), series.shape[1] - 1
    shifts = [np.clip(places + step, 0, last) for lag in range(1, lags + 1) for step in (-lag, lag)]
    return np.concatenate([series, *(series[:, columns] for columns in shifts)])


def complete_series(series, seen, lags, ridge, limits):
    """Return series (N, T) float64 with missing values predicted from the others, starting from series.

    seen (N, T) bool; limits (N, 2): bounds of each vertex's imputed values. Every vertex has an observed value.
    """
    rounds, still = 30, 3e-4  # at most; change of imputed values at which they end, in deviations of a vertex
    out, gaps = series.copy(), [np.flatnonzero(~row) for row in seen]
    lacking, lost = (~seen).mean(axis=1), np.zeros(len(series))
    for _ in range(rounds):
        rows = stack_lags(out, lags)
        means = rows.mean(axis=1)
        rows -= means[:, None]
        weights, diagonal = fit_weights(rows, np.tile(lost, 1 + 2 * lags), ridge, len(series))
        lost, before = lacking / diagonal, out.copy()
        sweep(rows, weights, gaps, limits - means[: len(series), None], lags)
        out = np.where(seen, series, rows[: len(series)] + means[: len(series), None])
        if np.square(out - before).sum() <= still**2 * max(1, sum(map(len, gaps))):
            break
    return out


def fit_weights(rows, lost, ridge, count):
    """Return (weights (count, n), P_ii (count,)) that predict the first `count` rows from all centred rows (n, T).

    lost (n,): corrections of the variances.
    """
    S = rows @ rows.T / rows.shape[1]
    S[np.diag_indices(len(S))] += lost + ridge
    P = np.linalg.inv(S)[:count]
    diagonal = np.diag(P).copy()
    weights = -P / diagonal[:, None]
    weights[np.arange(count), np.arange(count)] = 0.0
    return weights, diagonal


def sweep(rows, weights, gaps, limits, lags):
    """Fill in the gaps [columns] of rows (n, T), one vertex after another, from the latest values of the others."""
    count, last = len(weights), rows.shape[1] - 1
    for vertex, columns in enumerate(gaps):
        new = np.clip(weights[vertex] @ rows[:, columns], *limits[vertex])
        rows[vertex, columns] = new
        for lag in range(1, lags + 1):
            for part, step in ((2 * lag - 1, lag), (2 * lag, -lag)):  # columns before and after
                inside = (columns + step >= 0) & (columns + step <= last)
                rows[part * count + vertex, columns[inside] + step] = new[inside]


MOST_WORK = 1 << 26  # of a round


def suits(problem):
    """Return True for two or more partly observed vertices, if the cost of a round is acceptable."""
    return is_partly_observed(problem, FEWEST_OBSERVED) and work(problem, 0) <= MOST_WORK


def is_partly_observed(problem, fewest):
    """Return True for two or more observed vertices, some of them in part, and at least `fewest` columns."""
    alive = problem.seen.any(axis=1)
    return bool(alive.sum() > 1 and problem.values.shape[1] >= fewest and not problem.seen[alive].all())


def work(problem, lags):
    """Return the additions of a round, about: n^2 T + n^3."""
    count, columns = problem.values.shape
    rows = count * (1 + 2 * lags)
    return rows**2 * (columns + rows)


def settings(problem):
    """Return numbers of columns on either side and ridges."""
    most = 1 if problem.ordered and work(problem, 1) <= MOST_WORK else 0
    return [{"lags": lags, "ridge": ridge} for lags in range(most + 1) for ridge in (1e-6, 1e-4, 1e-3, 1e-2, 1e-1)]


def fill(problem, setting):
    """Return (N, T) predictions; NaN for unobserved vertices.

    A sweep uses the latest values of the vertices before. Vertices are therefore in the order of order_by_values.
    """
    alive = problem.seen.any(axis=1)
    out = np.full(problem.values.shape, np.nan)
    if alive.any():
        rows = order_by_values(np.where(problem.seen, problem.values, np.nan))[: np.count_nonzero(alive)]
        out[rows] = estimate_alive(simple_estimate(problem)[rows], problem.seen[rows], setting)
    return out


def estimate_alive(series, seen, setting):
    """Return (N, T) of observed vertices; series are filled in by a simple method where not seen (N, T)."""
    mean = series.mean(axis=1, keepdims=True, where=seen)
    scale = series.std(axis=1, keepdims=True, where=seen)
    scale[scale <= 0] = 1.0
    series = (series - mean) / scale
    limits = np.stack(limits_of(series, seen), axis=1)
    for lags in range(setting["lags"] + 1):
        series = complete_series(series, seen, lags, setting["ridge"], limits)
    return series * scale + mean


NEEDS = f"two or more vertices observed in part, with N^2 (N + T) <= {MOST_WORK:,} for N vertices of T columns"
METHOD = Method("regularized-em", suits, settings, fill, host=True, needs=NEEDS)
