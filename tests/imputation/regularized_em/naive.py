"""Regularized EM one entry at a time, in float64."""

import numpy as np


def stacked(x, lags):
    """Return x (N, T) and its neighbouring columns for each lag.

    The columns before and after it, with repeated ends.
    """
    N, T = x.shape
    out = [row.copy() for row in x]
    for lag in range(1, lags + 1):
        for step in (-lag, lag):
            out += [np.array([x[i, min(max(t + step, 0), T - 1)] for t in range(T)]) for i in range(N)]
    return np.array(out)


def completed(start, seen, lags, ridge, limits, rounds, still):
    """Return start (N, T) imputed at unseen entries.

    The formulas are those of the package's card.
    """
    x, (N, T) = np.array(start), start.shape
    lost = np.zeros(N)
    for _ in range(rounds):
        old, z = x.copy(), stacked(x, lags)
        n, m = len(z), z.mean(axis=1)
        S = np.array([[np.mean((z[i] - m[i]) * (z[j] - m[j])) for j in range(n)] for i in range(n)])
        for i in range(n):
            S[i, i] += lost[i % N] + ridge
        P = np.linalg.inv(S)
        lost = np.array([np.mean(~seen[i]) / P[i, i] for i in range(N)])
        for i in range(N):
            new = {}
            for t in np.flatnonzero(~seen[i]):
                predicted = m[i] - sum(P[i, j] / P[i, i] * (z[j, t] - m[j]) for j in range(n) if j != i)
                new[t] = min(max(predicted, limits[i][0]), limits[i][1])
            for t, value in new.items():
                x[i, t] = z[i, t] = value
                for lag in range(1, lags + 1):
                    for part, at in ((2 * lag - 1, t + lag), (2 * lag, t - lag)):
                        if 0 <= at < T:
                            z[part * N + i, at] = value - m[i] + m[part * N + i]
        if sum((x[~seen] - old[~seen]) ** 2) <= still**2 * max(1, np.count_nonzero(~seen)):
            break
    return x
