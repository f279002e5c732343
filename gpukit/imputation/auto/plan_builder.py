"""Build a plan and its report from judged methods."""

from typing import NamedTuple

import numpy as np

from gpukit.imputation.auto import calibration, deviations
from gpukit.imputation.auto.error_features import compute_features
from gpukit.imputation.auto.gap_kinds import kinds
from gpukit.imputation.auto.growth import changes_beyond
from gpukit.imputation.auto.judging import error_of, row_of
from gpukit.imputation.auto.mixing import shares_of, shrink_shares, weighted_mean
from gpukit.imputation.auto.plan import MIX, Plan

WORTH = 0.997  # largest error of a mean, relative to the best method
USED = 0.005  # members whose largest share is smaller are dropped


class Judged(NamedTuple):
    """A method with its setting and its estimates, [(N, T) float32], one per fold."""

    name: str
    setting: dict
    estimates: list


def build_plan(folds, judged, trials, metric, may_bend):
    """Return the Plan of methods judged on folds.

    trials: methods that were only tried. may_bend: allow corrections of estimates.
    """
    fold_kinds = [kinds(fold.problem) for fold in folds]
    members, shares = choose_members(folds, fold_kinds, judged, metric)
    fields = [weighted_mean([member.estimates[at] for member in members], shares, k) for at, k in enumerate(fold_kinds)]
    bends = bends_of(folds, fold_kinds, fields, metric) if may_bend else calibration.zero_bends()
    errors = [errors_of(folds, fold_kinds, members, bends, fields, at) for at in range(len(folds))]
    changes = [changes_beyond(fold.problem, fold.hidden) for fold in folds]
    first, hidden = folds[0].problem, sum(np.count_nonzero(fold.hidden) for fold in folds)
    least = deviations.least_of(first.values[first.seen], hidden)
    model = deviations.learn_with_growth(errors, changes, count_units(folds, fold_kinds)[0], least)
    mean = np.bincount(np.concatenate([part.kinds for part in errors]), minlength=len(shares)) @ shares
    served = dict(zip((member.name for member in members), (mean / mean.sum()).tolist()))
    rows = report(folds, judged, trials, served, metric)
    if len(members) > 1 or bends.any():
        rows.append(row_of(MIX, served, [part.residuals for part in errors], metric, 1.0))
    rows = sorted(rows, key=lambda row: row.error)
    return Plan([(member.name, member.setting) for member in members], shares, bends, model, rows, [])


def units_of(folds, fold_kinds):
    """Return [(values,)]: judging.Fold.units of the hidden values of each fold."""
    return [fold.units(k[fold.hidden]) for fold, k in zip(folds, fold_kinds)]


def count_units(folds, fold_kinds):
    """Return the number of units of whole vertices and of others, over all folds."""
    numbers = [np.unique(one) for one in units_of(folds, fold_kinds)]
    whole = sum(np.count_nonzero(one < len(folds[0].hidden)) for one in numbers)
    return whole, sum(map(len, numbers)) - whole


def choose_members(folds, fold_kinds, judged, metric):
    """Return (members, shares) of the mean; the best method alone if the mean is not better."""
    truth = np.concatenate([fold.truth[fold.hidden] for fold in folds])
    of_kind = np.concatenate([k[fold.hidden] for k, fold in zip(fold_kinds, folds)])
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
            for at, (fold, one) in enumerate(zip(folds, units_of(folds, fold_kinds)))
        ]
    )
    shares = shrink_shares(shares, estimates, truth, of_kind, units, metric)
    used = np.flatnonzero(shares.max(axis=0) > USED)
    return [judged[at] for at in used], shares[:, used] / shares[:, used].sum(axis=1, keepdims=True)


def bends_of(folds, fold_kinds, fields, metric):
    """Return the bends (calibration.zero_bends) of fields (N, T), one per fold."""
    parts = [
        (field[fold.hidden], fold.truth[fold.hidden], k[fold.hidden])
        for field, fold, k in zip(fields, folds, fold_kinds)
    ]
    return calibration.learn_bends(parts, metric, count_units(folds, fold_kinds))


def errors_of(folds, fold_kinds, members, bends, fields, at):
    """Return deviations.Errors of the final estimates on fold `at`."""
    fold, k = folds[at], fold_kinds[at]
    field = np.where(fold.problem.seen, fold.problem.values, calibration.apply_bends(bends, fields[at], k))
    residuals = (field - fold.truth)[fold.hidden]
    features = compute_features(fold.problem, field, [one.estimates[at] for one in members], fold.hidden)
    return deviations.Errors(residuals, k[fold.hidden], features)


def report(folds, judged, trials, served, metric):
    """Return [judging.Row] of methods that were judged or only tried.

    served: {name: share}. Errors of methods only tried on one fold are scaled by the ratio of the others' errors on
    all folds to those on that fold.
    """
    rows = []
    for one in judged:
        residuals = [(estimate - fold.truth)[fold.hidden] for estimate, fold in zip(one.estimates, folds)]
        rows.append(row_of(one.name, without_options(one.setting), residuals, metric, served.get(one.name, 0.0)))
    names = {row.name for row in rows}
    only_tried = [trial for trial in trials if trial.method.name not in names]
    first = [error_of(trial.residuals, metric) for trial in trials if trial.method.name in names]
    scale = sum(row.error for row in rows) / sum(first) if sum(first) > 0 else 1.0
    return rows + [
        row_of(trial.method.name, without_options(trial.setting), [scale * trial.residuals], metric)
        for trial in only_tried
    ]


def without_options(setting):
    """Return a setting without the options of its iterations."""
    return {key: one for key, one in setting.items() if key != "options"}
