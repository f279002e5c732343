"""From judged methods to a plan: shares, bends, deviations, and the report."""

from typing import NamedTuple

import numpy as np

from gpukit.imputation.auto import calibration, deviations
from gpukit.imputation.auto.error_features import compute_features
from gpukit.imputation.auto.gap_kinds import kinds
from gpukit.imputation.auto.growth import changes_beyond
from gpukit.imputation.auto.judging import error_of, row_of
from gpukit.imputation.auto.mixing import shares_of, shrink_shares, weighted_mean
from gpukit.imputation.auto.plan import MIX, Plan

WORTH = 0.997  # of the error of the best method: what a mean of several must be below
USED = 0.005  # of the largest share of a member: with less it is left out


class Judged(NamedTuple):
    """estimates: [(N, T) float32 of a fold] of a method at a setting."""

    name: str
    setting: dict
    estimates: list


def settled(folds, judged, trials, metric, free):
    """The Plan of what was judged on folds, and tried on the first; free: whether estimates may be bent."""
    found = [kinds(fold.problem) for fold in folds]
    members, shares = chosen(folds, found, judged, metric)
    fields = [weighted_mean([one.estimates[at] for one in members], shares, k) for at, k in enumerate(found)]
    bends = bends_of(folds, found, fields, metric) if free else calibration.zero_bends()
    errors = [errors_of(folds, found, members, bends, fields, at) for at in range(len(folds))]
    changes = [changes_beyond(fold.problem, fold.hidden) for fold in folds]
    left, hidden = folds[0].problem, sum(np.count_nonzero(fold.hidden) for fold in folds)
    least = deviations.least_of(left.values[left.seen], hidden)
    known = deviations.learn_with_growth(errors, changes, counted(folds, found)[0], least)
    mean = np.bincount(np.concatenate([part.kinds for part in errors]), minlength=len(shares)) @ shares
    served = dict(zip((one.name for one in members), (mean / mean.sum()).tolist()))
    rows = report(folds, judged, trials, served, metric)
    if len(members) > 1 or bends.any():
        rows.append(row_of(MIX, served, [part.residuals for part in errors], metric, 1.0))
    rows = sorted(rows, key=lambda row: row.error)
    return Plan([(one.name, one.setting) for one in members], shares, bends, known, rows, [])


def units_of(folds, found):
    """[(values,)]: judging.Fold.units of the hidden values of each fold."""
    return [fold.units(k[fold.hidden]) for fold, k in zip(folds, found)]


def counted(folds, found):
    """(units of vertices that are hidden whole, units of others), of all folds."""
    numbers = [np.unique(one) for one in units_of(folds, found)]
    whole = sum(np.count_nonzero(one < len(folds[0].hidden)) for one in numbers)
    return whole, sum(map(len, numbers)) - whole


def chosen(folds, found, judged, metric):
    """(members, shares): the methods of which a mean serves; the best alone where the mean is not better."""
    truth = np.concatenate([fold.truth[fold.hidden] for fold in folds])
    of_kind = np.concatenate([k[fold.hidden] for k, fold in zip(found, folds)])
    estimates = np.array(
        [np.concatenate([part[fold.hidden] for part, fold in zip(one.estimates, folds)]) for one in judged]
    )
    shares = shares_of(estimates, truth, of_kind, metric)
    errors = [error_of(estimate - truth, metric) for estimate in estimates]
    if error_of(weighted_mean(estimates, shares, of_kind) - truth, metric) > WORTH * min(errors):
        shares = np.eye(len(judged))[[int(np.argmin(errors))] * len(shares)]
    units = np.concatenate(
        [
            at * fold.hidden.size * fold.hidden.shape[1] + one
            for at, (fold, one) in enumerate(zip(folds, units_of(folds, found)))
        ]
    )
    shares = shrink_shares(shares, estimates, truth, of_kind, units, metric)
    kept = np.flatnonzero(shares.max(axis=0) > USED)
    return [judged[at] for at in kept], shares[:, kept] / shares[:, kept].sum(axis=1, keepdims=True)


def bends_of(folds, found, fields, metric):
    """The bends (calibration.straight) of fields (N, T), a fold each."""
    parts = [
        (field[fold.hidden], fold.truth[fold.hidden], k[fold.hidden]) for field, fold, k in zip(fields, folds, found)
    ]
    return calibration.learn_bends(parts, metric, counted(folds, found))


def errors_of(folds, found, members, bends, fields, at):
    """deviations.Errors of what serves, on the fold of number `at`."""
    fold, k = folds[at], found[at]
    field = np.where(fold.problem.seen, fold.problem.values, calibration.apply_bends(bends, fields[at], k))
    residuals = (field - fold.truth)[fold.hidden]
    features = compute_features(fold.problem, field, [one.estimates[at] for one in members], fold.hidden)
    return deviations.Errors(residuals, k[fold.hidden], features)


def report(folds, judged, trials, served, metric):
    """[judging.Row] of what was judged, and of what was only tried; served: {name: share}.

    Errors of what was only tried, on one fold, are scaled by how much larger the others' were on all folds.
    """
    rows = []
    for one in judged:
        residuals = [(estimate - fold.truth)[fold.hidden] for estimate, fold in zip(one.estimates, folds)]
        rows.append(row_of(one.name, told(one.setting), residuals, metric, served.get(one.name, 0.0)))
    names = {row.name for row in rows}
    left = [trial for trial in trials if trial.method.name not in names]
    first = [error_of(trial.residuals, metric) for trial in trials if trial.method.name in names]
    harder = sum(row.error for row in rows) / sum(first) if sum(first) > 0 else 1.0
    return rows + [row_of(trial.method.name, told(trial.setting), [harder * trial.residuals], metric) for trial in left]


def told(setting):
    """A setting without the options of its steps."""
    return {key: one for key, one in setting.items() if key != "options"}
