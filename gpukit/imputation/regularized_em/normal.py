"""Predictions of missing values from a normal distribution over the vertices."""

import numpy as np

ROUNDS, STILL = 30, 3e-4  # at most; change of imputed values at which they end, in deviations of a vertex


def stacked(series, lags):
    """Return (n, T), n = N (1 + 2 lags): series (N, T), then the columns before and after for each lag.

    The first and last columns repeat beyond the ends.
    """
    places, last = np.arange(series.shape[1]), series.shape[1] - 1
    moved = [np.clip(places + step, 0, last) for lag in range(1, lags + 1) for step in (-lag, lag)]
    return np.concatenate([series, *(series[:, columns] for columns in moved)])


def completed(series, seen, lags, ridge, limits):
    """Return series (N, T) float64 with missing values predicted from the others, starting from series.

    seen (N, T) bool; limits (N, 2): bounds of each vertex's imputed values. Every vertex has an observed value.
    """
    out, gaps = series.copy(), [np.flatnonzero(~row) for row in seen]
    lacking, lost = (~seen).mean(axis=1), np.zeros(len(series))
    for _ in range(ROUNDS):
        rows = stacked(out, lags)
        means = rows.mean(axis=1)
        rows -= means[:, None]
        weights, diagonal = fit_weights(rows, np.tile(lost, 1 + 2 * lags), ridge, len(series))
        lost, before = lacking / diagonal, out.copy()
        swept(rows, weights, gaps, limits - means[: len(series), None], lags)
        out = np.where(seen, series, rows[: len(series)] + means[: len(series), None])
        if np.square(out - before).sum() <= STILL**2 * max(1, sum(map(len, gaps))):
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


def swept(rows, weights, gaps, limits, lags):
    """Fill in the gaps [columns] of rows (n, T), one vertex after another, from the latest values of the others."""
    count, last = len(weights), rows.shape[1] - 1
    for vertex, columns in enumerate(gaps):
        new = np.clip(weights[vertex] @ rows[:, columns], *limits[vertex])
        rows[vertex, columns] = new
        for lag in range(1, lags + 1):
            for part, step in ((2 * lag - 1, lag), (2 * lag, -lag)):  # columns before and after
                inside = (columns + step >= 0) & (columns + step <= last)
                rows[part * count + vertex, columns[inside] + step] = new[inside]
