"""All methods by name; the plan of an imputation, its report, and imputation by a plan.

The weighted mean of a plan has the least error on hidden values. Shares are convex. They begin as the probabilities
that a method is the best, by resampling the hidden values, and are improved by Frank-Wolfe steps towards single
methods. If few runs begin or end at different times, as at the ends of series, they are too few to fit shares to: the
best single method has all.

Estimates are corrected by the median residual of hidden values. Averaging methods are correct in the mean. For skewed
values, such as speeds between free flow and congestion, the least absolute error is at the median: that of the hidden
values with similar estimates. A bend is a piecewise linear function through KNOTS points (estimate, offset), learned on
hidden values. It is used if it lowers the error on folds left out of its fit.
"""

import itertools
from typing import NamedTuple

import numpy as np

from gpukit.imputation import kriging, local, regression, regularized_em, scans, simple
from gpukit.imputation.auto import uncertainty
from gpukit.imputation.auto.judging import KINDS, NEVER, error_of, finite_estimate, kinds, row_of, run_concurrently
from gpukit.imputation.auto.uncertainty import Deviations, changes_beyond, compute_features, measure_features
from gpukit.imputation.constants import KNOTS, MOST_VALUES
from gpukit.imputation.problem import return_freed_memory
from gpukit.imputation.smoothness import method as smoothness
from gpukit.imputation.spectral import choose as spectral
from gpukit.model_selection.trial import Trial, best_of


def shares_of(estimates, truth, kinds, metric, units=np.inf):
    """Return shares (KINDS, members) whose rows add up to 1: those of whole vertices, and those of all other kinds.

    A group without values has the shares of all values. estimates (members, values), truth (values,), kinds (values,)
    int8; units: number of runs of all other kinds, at different times.
    """
    shares, whole = np.empty((KINDS, len(estimates))), kinds == NEVER
    fewest_units = 6  # to fit shares to; ablated
    few = 0 < units < fewest_units
    for rows, group, alone in ((slice(NEVER, NEVER + 1), whole, False), (slice(NEVER + 1, None), ~whole, few)):
        values = group if group.any() else slice(None)
        shares[rows] = optimize_shares(estimates[:, values], truth[values], metric, alone)
    return shares


def optimize_shares(estimates, truth, metric, alone):
    """Return (members,) shares: the part of resampled values on which each method is the best, then Frank-Wolfe steps.

    A step must lower the error by more than its standard error. `alone`: the best single method has all.
    """
    most_steps, lengths = 20, (0.5, 0.3, 0.2, 0.1, 0.05)
    sample = slice(None, None, max(1, len(truth) // MOST_VALUES))
    residuals, methods = estimates[:, sample] - truth[sample], np.eye(len(estimates))
    sizes = np.abs if metric == "absolute" else np.square

    def trial_of(shares):
        return Trial(shares, -sizes(shares @ residuals), {})

    if alone:
        return best_of(map(trial_of, methods)).candidate
    best = trial_of(share_of_wins(sizes(residuals[:, np.lexsort(residuals)])))  # whatever the order of the values
    for _ in range(most_steps):
        step = best_of(trial_of((1 - length) * best.candidate + length * one) for length in lengths for one in methods)
        if not step.is_better(best):
            break
        best = step
    return best.candidate


def share_of_wins(sizes):
    """Return (members,): the share of bootstrap samples on which each method has the least error; sizes: of its errors.

    Methods that few hidden values cannot tell apart are mixed. Source: Efron, Ann. Stat. 7 (1979).
    """
    samples, count = 50, sizes.shape[1]
    draws = np.random.default_rng(0).multinomial(count, np.full(count, 1.0 / count), samples)
    return np.bincount(np.argmin(sizes @ draws.T, axis=0), minlength=len(sizes)) / samples


def weighted_mean(estimates, shares, kinds):
    """Return the mean of estimates, weighted by the shares (KINDS, members) of their kinds.

    estimates: one array of any shape per member; kinds have the same shape.
    """
    out = np.zeros(estimates[0].shape)
    for member, estimate in enumerate(estimates):
        out += shares[kinds, member] * estimate
    return out


def zero_bends():
    """Return (2, 2, KNOTS) float64: no correction of whole vertices and of other values."""
    return np.zeros((2, 2, KNOTS))


def apply_bends(bends, estimate, kinds):
    """Return corrected estimates of any shape; kinds have the same shape."""
    out = np.array(estimate)
    for group, mask in enumerate((kinds == NEVER, kinds != NEVER)):
        knots, offsets = bends[group]
        if offsets.any():
            out[mask] += np.interp(estimate[mask], knots, offsets)
    return out


def learn_bends(parts, metric, units=(KNOTS, KNOTS)):
    """Learn bends from [(estimates, truth, kinds)], one tuple per fold.

    units: number of independent units (judging.Fold.units) among whole vertices and among other values. With fewer
    than KNOTS, as for days missing on all vertices, no bend is learned, because it would fit those days only.
    """
    bends, values_per_knot = zero_bends(), 40
    for group in (0, 1):
        group_parts = [(e[chosen], t[chosen]) for e, t, k in parts for chosen in [(k == NEVER) == (group == 0)]]
        group_parts = [part for part in group_parts if len(part[0])]
        is_enough = units[group] >= KNOTS and sum(len(e) for e, _ in group_parts) >= 2 * KNOTS * values_per_knot
        if is_enough and len(group_parts) > 1 and lowers_error(group_parts, metric):
            bends[group] = fit_bend(group_parts, metric)
    return bends


def lowers_error(parts, metric):
    """Return True if a bend lowers the error on folds left out of its fit."""
    before, after = [], []
    for fold, (estimate, truth) in enumerate(parts):
        knots, offsets = fit_bend(parts[:fold] + parts[fold + 1 :], metric)
        before.append(estimate - truth)
        after.append(estimate + np.interp(estimate, knots, offsets) - truth)
    after, before = np.concatenate(after), np.concatenate(before)
    limit = 1.1 * error_of(before, "squared")  # among many zeros the median is 0, whatever the others are; test
    return error_of(after, "squared") <= limit and error_of(after, metric) < error_of(before, metric)


def fit_bend(parts, metric):
    """Return (2, KNOTS): increasing estimates, and the median or mean residual near each."""
    estimate, truth = (np.concatenate(part) for part in zip(*parts))
    order = np.argsort(estimate, kind="stable")
    middle = np.median if metric == "absolute" else np.mean
    pieces = np.array_split(order, KNOTS)
    knots = np.array([np.median(estimate[piece]) for piece in pieces])
    return np.array([knots, [middle((truth - estimate)[piece]) for piece in pieces]])


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
    """Return [(values,)] estimates of the members for the missing values."""
    methods, missing = [BY_NAME[name] for name, _ in plan.members], ~problem.seen

    def estimate(index):
        out = finite_estimate(methods[index], problem, plan.members[index][1])[missing]
        return_freed_memory(problem.values)
        return out

    return_freed_memory(problem.values)
    return run_concurrently(problem, methods, estimate)


def combine_members(problem, plan, estimates):
    """Return (estimate, deviation) (values,) of the missing values from those of the members, in original units.

    The missing values of the problem are filled in meanwhile, because a copy may not fit into memory.
    """
    missing = ~problem.seen
    kind, field = kinds(problem)[missing], problem.values
    estimate = apply_bends(plan.bends, weighted_mean(estimates, plan.shares, kind), kind)
    changes = changes_beyond(problem, missing)
    field[missing] = estimate
    try:
        features = measure_features(problem, field, estimates, missing)
    finally:
        field[missing] = 0.0
        return_freed_memory(field)
    deviation = plan.deviations.at(kind, features, changes)
    return (estimate, deviation) if problem.units is None else problem.units.back(estimate, deviation, missing)


def build_plan(folds, origins, trials, metric, may_bend):
    """Return the Plan of methods judged on folds.

    origins: [Fold] that only deviations are learned on, see masking.origins_of. trials: (judged, tried): [Trial] on all
    folds, see judging.start_search, and those of methods that were only tried. may_bend: allow corrections of
    estimates.
    """
    judged, tried = trials
    fold_kinds = [kinds(fold.problem) for fold in folds]
    members, shares = choose_members(folds, fold_kinds, judged, metric)
    estimates = list(zip(*(member.row["estimates"] for member in members)))
    fields = [weighted_mean(parts, shares, k) for parts, k in zip(estimates, fold_kinds)]
    units = count_units(folds, fold_kinds)
    parts = zip(fields, folds, fold_kinds)
    hidden = [(field[fold.hidden], fold.truth[fold.hidden], k[fold.hidden]) for field, fold, k in parts]
    bends = learn_bends(hidden, metric, units) if may_bend else zero_bends()
    fields = [apply_bends(bends, field, k) for field, k in zip(fields, fold_kinds)]
    estimates = [[part[fold.hidden] for part in parts] for parts, fold in zip(estimates, folds)]
    errors = [errors_of(*parts) for parts in zip(itertools.count(), folds, fold_kinds, estimates, fields)]
    mean = np.bincount(np.concatenate([part.kinds for part in errors]), minlength=len(shares)) @ shares
    chosen = [member.candidate for member in members]
    served = dict(zip((one.name for one in chosen), (mean / mean.sum()).tolist()))
    rows = report(judged + tried, len(folds), served, metric)
    if len(members) > 1 or bends.any():
        rows.append(row_of(MIX, served, [part.residuals for part in errors], metric, 1.0))
    rows = sorted(rows, key=lambda row: row.error)
    plan = Plan([(one.name, one.setting) for one in chosen], shares, bends, None, rows, [])
    errors += [errors_at_origin(plan, number, fold) for number, fold in enumerate(origins, len(folds))]
    return plan._replace(deviations=learn_deviations([*folds, *origins], errors, units[0]))


def errors_at_origin(plan, number, fold):
    """Return uncertainty.Errors of a Plan without deviations on a Fold that its choice does not know."""
    problem, fold_kinds = fold.problem, kinds(fold.problem)
    estimates, missing, field = estimates_of(problem, plan), ~problem.seen, problem.values.copy()
    kind = fold_kinds[missing]
    field[missing] = apply_bends(plan.bends, weighted_mean(estimates, plan.shares, kind), kind)
    return errors_of(number, fold, fold_kinds, [part[fold.hidden[missing]] for part in estimates], field)


def learn_deviations(folds, errors, units):
    """Return Deviations learned from the errors on folds; units: number of vertices hidden whole."""
    changes, first = [changes_beyond(fold.problem, fold.hidden) for fold in folds], folds[0].problem
    least = uncertainty.least_of(first.values[first.seen], sum(map(len, changes)))
    return uncertainty.learn_with_growth(errors, changes, units, least)


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

    estimates: [(values,)] of the members for the hidden values.
    """
    field = np.where(fold.problem.seen, fold.problem.values, field)
    residuals = (field - fold.truth)[fold.hidden]
    features = compute_features(fold.problem, field, estimates, fold.hidden)
    row, first, end = scans.runs(fold.hidden)
    runs = np.repeat(number * fold.hidden.size + np.arange(len(row)), end - first)  # distinct in all folds
    entries, columns = np.flatnonzero(fold.hidden), fold.hidden.shape[1]
    places = runs, entries, entries // columns, number * columns + entries % columns
    return uncertainty.Errors(residuals, fold_kinds[fold.hidden], features, *places)


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
    *("vertex-median", "interpolation", "seasonal", "trend"),
    *("regression", "kriging", "regularized-em", "smoothness", "local", "spectral"),
)


def candidates_of(problem, name):
    """Return [Method] to try: the suitable CANDIDATES for 'auto', else the named one and the simple ones."""
    methods = map(BY_NAME.get, CANDIDATES) if name == "auto" else dict.fromkeys((*simple.METHODS, BY_NAME[name]))
    return [method for method in methods if method.suits(problem)]
