"""Smoothness over graph and time in float64, by dense matrices."""

import numpy as np


def differences(at, lag):
    """Return D (T, T) of squared differences a lag apart.

    x' D x is the sum over columns a lag apart of weight (x_t - x_t+lag)^2; weights of lag 1 by distance.
    """
    count = len(at)
    D = np.zeros((count, count))
    for t in range(count - lag):
        weight = np.median(np.diff(at)) / (at[t + 1] - at[t]) if lag == 1 else 1.0
        step = np.zeros(count)
        step[t], step[t + lag] = 1.0, -1.0
        D += weight * np.outer(step, step)
    return D


def matrix(L, seen, at, lags, near, steady, together):
    """Return (N T, N T) of M + a L + sum b_k D_k + c_k L D_k.

    The order is row after row.
    """
    whole = np.diag(seen.ravel().astype(float)) + near * np.kron(L, np.eye(len(at)))
    for lag, b, c in zip(lags, steady, together):
        D = differences(at, lag)
        whole += b * np.kron(np.eye(len(L)), D) + c * np.kron(L, D)
    return whole


def likeness(values, seen, i, j):
    """Return (number, squared positive correlation about 0) of the changes observed in both series."""
    there = seen[:, 1:] & seen[:, :-1]
    both = there[i] & there[j]
    x, y = np.diff(values[i])[both], np.diff(values[j])[both]
    return both.sum(), max(x @ y, 0.0) ** 2 / ((x @ x) * (y @ y))
