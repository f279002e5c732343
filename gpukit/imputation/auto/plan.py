"""All methods by name; the plan of an imputation, its report, and imputation by a plan."""

import itertools
from typing import NamedTuple

import numpy as np

from gpukit._pool import map_row_blocks
from gpukit.imputation import kriging, local, regression, regularized_em, scans, simple
from gpukit.imputation.auto import ensemble, uncertainty
from gpukit.imputation.auto.ensemble import apply_bends, shares_of, weighted_mean
from gpukit.imputation.auto.error_features import changes_beyond, compute_features
from gpukit.imputation.auto.judging import error_of, finite_estimate, kinds, row_of, run_concurrently
from gpukit.imputation.auto.uncertainty import Deviations
from gpukit.imputation.smoothness import method as smoothness
from gpukit.imputation.spectral import method as spectral

MIX = "mix"


class Plan(NamedTuple):
    """Selected methods and everything needed to impute with them.

    members: [(name, setting)]. shares (KINDS, members). bends (2, 2, KNOTS). deviations: Deviations. rows:
    [judging.Row], best first. notes: [text]. units: units.Units of the original problem, or None.
    """

    members: list
    shares: np.ndarray
    bends: np.ndarray
    deviations: Deviations
    rows: list
    notes: list
    units: object = None

    @property
    def method(self):
        """Name of the selected method, or 'mix' for a mean or corrected estimates."""
        alone = len(self.members) == 1 and not self.bends.any()
        return self.members[0][0] if alone else MIX


def attributes_of(plan):
    """Return {attribute: value} of a GraphImputer that report a Plan; None: of the method 'spectral' without one."""
    if plan is None:
        return {"method_": "spectral", "report_": [], "coverage_": {}, "notes_": []}
    coverage = plan.deviations.coverage
    return {"method_": plan.method, "report_": plan.rows, "coverage_": coverage, "notes_": plan.notes}


def estimates_of(problem, plan):
    """Return [(N, T)] estimates of the members."""
    methods = [BY_NAME[name] for name, _ in plan.members]
    return run_concurrently(
        problem, methods, lambda index: finite_estimate(methods[index], problem, plan.members[index][1])
    )


def combine_members(problem, plan, estimates):
    """Return (estimate, deviation) (N, T) from the estimates of the members, in original units.

    The deviation of an observed value is 0.
    """
    kind, missing, deviation = kinds(problem), ~problem.seen, np.zeros(problem.seen.shape)
    estimate, field = np.empty(missing.shape), np.empty(missing.shape)

    def fill_rows(rows):
        mean = weighted_mean([value[rows] for value in estimates], plan.shares, kind[rows])
        estimate[rows] = apply_bends(plan.bends, mean, kind[rows])
        field[rows] = np.where(problem.seen[rows], problem.values[rows], estimate[rows])

    map_row_blocks(fill_rows, missing.shape)
    features, changes = compute_features(problem, field, estimates, missing), changes_beyond(problem, missing)
    deviation[missing] = plan.deviations.at(kind[missing], features, changes)
    return (estimate, deviation) if problem.units is None else problem.units.back(estimate, deviation)


def build_plan(folds, judged, tried, metric, may_bend):
    """Return the Plan of methods judged on folds.

    judged: [Trial] on all folds, see judging.start_search. tried: those of methods that were only tried. may_bend:
    allow corrections of estimates.
    """
    fold_kinds = [kinds(fold.problem) for fold in folds]
    members, shares = choose_members(folds, fold_kinds, judged, metric)
    estimates = list(zip(*(member.row["estimates"] for member in members)))
    fields = [weighted_mean(parts, shares, k) for parts, k in zip(estimates, fold_kinds)]
    units = count_units(folds, fold_kinds)
    parts = zip(fields, folds, fold_kinds)
    hidden = [(field[fold.hidden], fold.truth[fold.hidden], k[fold.hidden]) for field, fold, k in parts]
    bends = ensemble.learn_bends(hidden, metric, units) if may_bend else ensemble.zero_bends()
    fields = [apply_bends(bends, field, k) for field, k in zip(fields, fold_kinds)]
    errors = [errors_of(*parts) for parts in zip(itertools.count(), folds, fold_kinds, estimates, fields)]
    changes = [changes_beyond(fold.problem, fold.hidden) for fold in folds]
    first, count = folds[0].problem, sum(np.count_nonzero(fold.hidden) for fold in folds)
    least = uncertainty.least_of(first.values[first.seen], count)
    model = uncertainty.learn_with_growth(errors, changes, units[0], least)
    mean = np.bincount(np.concatenate([part.kinds for part in errors]), minlength=len(shares)) @ shares
    chosen = [member.candidate for member in members]
    served = dict(zip((one.name for one in chosen), (mean / mean.sum()).tolist()))
    rows = report(judged + tried, len(folds), served, metric)
    if len(members) > 1 or bends.any():
        rows.append(row_of(MIX, served, [part.residuals for part in errors], metric, 1.0))
    rows = sorted(rows, key=lambda row: row.error)
    return Plan([(one.name, one.setting) for one in chosen], shares, bends, model, rows, [])


def count_units(folds, fold_kinds):
    """Return the number of units (judging.Fold.units) of whole vertices and of others, over all folds."""
    units = [np.unique(fold.units(k[fold.hidden])) for fold, k in zip(folds, fold_kinds)]
    whole = sum(np.count_nonzero(numbers < len(folds[0].hidden)) for numbers in units)
    return whole, sum(map(len, units)) - whole


def choose_members(folds, fold_kinds, judged, metric):
    """Return (members, shares (KINDS, members)) of the mean with the least error."""

    def hidden(arrays):
        return np.concatenate([array[fold.hidden] for array, fold in zip(arrays, folds)])

    estimates = np.array([hidden(trial.row["estimates"]) for trial in judged])
    units = count_units(folds, fold_kinds)[1]
    shares = shares_of(estimates, hidden([fold.truth for fold in folds]), hidden(fold_kinds), metric, units)
    least = 0.005  # members whose largest weight is smaller are dropped
    used = np.flatnonzero(shares.max(axis=0) > least)
    return [judged[index] for index in used], shares[:, used] / shares[:, used].sum(axis=1, keepdims=True)


def errors_of(number, fold, fold_kinds, estimates, field):
    """Return uncertainty.Errors of the final estimates, field (N, T), on a fold of a number.

    estimates: [(N, T)] of the members.
    """
    field = np.where(fold.problem.seen, fold.problem.values, field)
    residuals = (field - fold.truth)[fold.hidden]
    features = compute_features(fold.problem, field, estimates, fold.hidden)
    row, first, end = scans.runs(fold.hidden)
    runs = np.repeat(number * fold.hidden.size + np.arange(len(row)), end - first)  # distinct in all folds
    return uncertainty.Errors(residuals, fold_kinds[fold.hidden], features, runs)


def report(trials, folds, served, metric):
    """Return a judging.Row of each Trial, on all of some number of folds or on the first one.

    served: {name: share}. Errors on the first fold are scaled by the ratio of the others' errors on all folds to those
    on the first one.
    """
    whole = [[error_of(part, metric) for part in trial.row["residuals"]] for trial in trials]
    whole = np.array([errors for errors in whole if len(errors) == folds])
    scale = whole.mean() / whole[:, 0].mean() if whole[:, 0].any() else 1.0
    rows = []
    for trial in trials:
        parts, name = trial.row["residuals"], trial.candidate.name
        parts = parts if len(parts) == folds else [scale * part for part in parts]
        rows.append(row_of(name, without_options(trial.candidate.setting), parts, metric, served.get(name, 0.0)))
    return rows


def without_options(setting):
    """Return a setting without the options of its iterations."""
    return {key: value for key, value in setting.items() if key != "options"}


METHODS = (
    *simple.METHODS,
    simple.TREND,
    regression.METHOD,
    kriging.METHOD,
    regularized_em.METHOD,
    smoothness.METHOD,
    local.METHOD,
    spectral.METHOD,
)
BY_NAME = {method.name: method for method in METHODS}
CANDIDATES = (
    *("vertex-median", "interpolation", "akima", "seasonal", "trend"),
    *("regression", "kriging", "regularized-em", "smoothness", "local", "spectral"),
)


def candidates_of(problem, name):
    """Return [Method] to try: the suitable CANDIDATES for 'auto', else the named one and the simple ones."""
    methods = map(BY_NAME.get, CANDIDATES) if name == "auto" else dict.fromkeys((*simple.METHODS, BY_NAME[name]))
    return [method for method in methods if method.suits(problem)]
