"""The local regression in float64, one value at a time."""

import numpy as np


def line(row, left, right, t, at):
    """The line of a row through two columns, at a third."""
    if left == right:
        return row[left]
    share = (at[t] - at[left]) / (at[right] - at[left])
    return (1 - share) * row[left] + share * row[right]


def features(values, seen, at, series, near, v, t):
    """Return (x, the line's point) of a missing value (v, t)."""
    places = np.flatnonzero(seen[v])
    before, after = list(places[places < t][::-1]), list(places[places > t])
    before, after = before or after[:1], after or before[:1]
    before, after = (some + [some[-1]] * 3 for some in (before[:3], after[:3]))
    point = line(values[v], before[0], after[0], t, at)
    x = [*(values[v][before[:3]] - point), *(values[v][after[1:3]] - point), 1.0]
    for n in near[v]:
        row = series[n]
        x += [row[t] - line(row, before[0], after[0], t, at), row[t] - point]
        x += [row[max(t - 1, 0)] - point, row[min(t + 1, len(row) - 1)] - point]
    return np.array(x), point


def regression(X, y, start, pull, rounds, least=0.1):
    """Coefficients by dense solves."""
    beta = start
    for _ in range(max(rounds, 1)):
        residuals = np.abs(y - X @ beta)
        w = 1 / np.maximum(residuals, least * residuals.mean() + 1e-30) if rounds else np.ones(len(y))
        w /= w.mean()
        G = X.T @ (w[:, None] * X)
        D = np.diag(pull)
        beta = np.linalg.solve(G + D + 1e-12 * np.eye(len(G)), X.T @ (w * y) + D @ start)
    return beta
