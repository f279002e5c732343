"""Regression of each series on the other series, their lags and time.

    x_it = a_i + b_i t + sum over j != i, lags k of c_ijk x_j,t+k + r_it          penalty: ridge * (b^2 + |c|^2)

Other series are interpolated where they are missing; those that miss most of the values that i misses are left out. The
coefficients are fitted to the values or, with b_i as the mean and without its penalty, to their changes from column to
column. The residual r is 0 in a gap, or interpolated from its ends. All these predictions, with one lag or none and
with RIDGES, are averaged for each series. Their weights are powers of their errors on runs of the series that are
hidden like its gaps: of a series that misses its end, the values before it. Series that are missing together are hidden
together.

The eigendecomposition uses LAPACK. Cost: about n^2 T + n^3 for each series, with n = N (1 + 2 lags) and T columns.
Source: Hoerl and Kennard, "Ridge regression" (Technometrics 12, 1970).
"""

import itertools

import numpy as np

from gpukit.imputation import regularized_em, scans
from gpukit.imputation.auto.judging import simple_estimate
from gpukit.imputation.constants import ERROR_FLOOR
from gpukit.imputation.periods import FEWEST_COLUMNS
from gpukit.imputation.problem import Method, one_setting
from gpukit.imputation.regularized_em import MOST_WORK

RIDGES = (1e-6, 1e-4, 1e-2, 1.0, 100.0)  # relative to the predictors' mean sum of squares; chosen


def suits(problem):
    """Return True for two or more partly observed series in time, if the cost is acceptable."""
    is_enough = problem.ordered and regularized_em.is_partly_observed(problem, FEWEST_COLUMNS)
    return is_enough and work(problem, 0) <= MOST_WORK


def work(problem, lags):
    """Return the additions of all fits, about."""
    return len(problem.values) * regularized_em.work(problem, lags)


def fill(problem, setting):
    """Return (N, T) predictions; NaN for unobserved vertices."""
    estimates, alive = predictions(problem), problem.seen.any(axis=1)
    total, hidden = np.zeros(estimates.shape[:2]), False
    for number in range(2):  # runs for each gap
        runs, lost = hide_like_gaps(problem.seen, number)
        errors = np.where(runs, np.abs(predictions(problem.without(lost)) - problem.values), 0.0)
        total, hidden = total + errors.sum(axis=2), hidden | runs.any(axis=1)
    # The power of the inverse errors is chosen on the tables of `gpukit bench ends`.
    floor = ERROR_FLOOR**3 * total.mean(axis=0) + np.finfo(np.float64).tiny
    weights = np.where(hidden, ((total + floor) / (total.min(axis=0) + floor)) ** -4.0, 1.0)
    out = np.einsum("cn,cnt->nt", weights / weights.sum(axis=0), estimates)
    out[~alive] = np.nan
    return out


def hide_like_gaps(seen, number):
    """Return (hidden, lost) (N, T) bool: a run or more of each row with gaps, the next ones for each number.

    A run at an end lies number + 1 lengths before the gap, and all beyond it is lost. No row loses over half.
    """
    hidden, lost = np.zeros((2, *seen.shape), bool)
    for row in np.flatnonzero(seen.any(axis=1) & ~seen.all(axis=1)):
        observed = np.flatnonzero(seen[row])
        first, last, most = observed[0], observed[-1], len(observed) // 2
        _, starts, ends = scans.runs(~seen[row : row + 1])
        length = max(1, min(int((ends - starts).max()), most // 2))
        near = min((number + 1) * length, most)
        for is_missing, run in ((last < seen.shape[1] - 1, observed[::-1][:near]), (first > 0, observed[:near])):
            if is_missing:
                hidden[row, run[-length:]], lost[row, run] = True, True
        inner = ~seen[row]
        inner[:first] = inner[last + 1 :] = False
        moved = np.roll(inner, length if number % 2 else -length) & seen[row] & ~lost[row]
        if np.count_nonzero(moved | lost[row]) <= most:
            hidden[row] |= moved
            lost[row] |= moved
    return hidden, lost


def predictions(problem):
    """Return (candidates, N, T) predictions of partly observed series; others are filled in by a simple method."""
    series, lags = simple_estimate(problem), 1 if work(problem, 1) <= MOST_WORK else 0
    level, scale = series.mean(axis=1, keepdims=True), series.std(axis=1, keepdims=True)
    scale[scale <= 0] = 1.0
    series, columns = (series - level) / scale, np.arange(series.shape[1])
    lag_series = np.array([series[:, np.clip(columns + lag, 0, columns[-1])] for lag in range(-lags, lags + 1)])
    counts = range(lags + 1)
    out = np.repeat(series[None], 3 * len(RIDGES) * len(counts), axis=0)
    for row in np.flatnonzero(problem.seen.any(axis=1) & ~problem.seen.all(axis=1)):
        is_used = problem.seen[:, ~problem.seen[row]].mean(axis=1) > 0.5
        parts = [lag_series[lags - count : lags + count + 1, is_used].reshape(-1, len(columns)).T for count in counts]
        out[:, row] = np.concatenate([predict(part, series[row], problem.seen[row]) for part in parts])
    return out * scale + level


def predict(X, y, seen):
    """Return (3 ridges, T) predictions of a series y (T,) from predictors X (T, n), for its observed columns seen (T,).

    They are fitted to values, the residual 0; to values, the residual interpolated; and to changes, likewise.
    """
    columns, both = np.arange(len(y)), seen[1:] & seen[:-1]
    time = (columns - columns.mean()) / columns.std()
    ones, all_columns = np.ones((len(y), 1)), np.column_stack([X, time])
    levels = ridge_fits((ones, all_columns, y), seen, (ones, all_columns))
    steps = ones[1:], np.diff(X, axis=0), np.diff(y)
    changes = ridge_fits(steps, both, (columns[:, None], X)) if both.any() else np.zeros(levels.shape)
    rest = [y - value for value in itertools.chain(levels, changes)]
    anchors = np.array([np.interp(columns, columns[seen], value[seen]) for value in rest])
    return np.concatenate([levels, np.concatenate([levels, changes]) + anchors])


def ridge_fits(data, rows, times):
    """Return (ridges, T) predictions times (free, X) of fits to some rows of data (free, X, y); free: not penalized."""
    free, X, y = (part[rows] for part in data)
    means = np.linalg.lstsq(free, np.column_stack([X, y]), rcond=None)[0]
    X, y = X - free @ means[:, :-1], y - free @ means[:, -1]
    values, Q = np.linalg.eigh(X.T @ X)
    penalties = np.array(RIDGES)[:, None] * max(float(values.mean()) if len(values) else 0.0, np.finfo(np.float32).tiny)
    coefficients = (Q.T @ (X.T @ y)) / (np.maximum(values, 0.0) + penalties) @ Q.T
    return coefficients @ (times[1] - times[0] @ means[:, :-1]).T + times[0] @ means[:, -1]


NEEDS = f"series in order of time, observed in part, with N^3 (N + T) <= {MOST_WORK:,} for N series of T columns"
METHOD = Method("regression", suits, one_setting, fill, ordered=True, host=True, needs=NEEDS)
