"""Select a plan: try all methods, judge the finalists, use the best one or a mean."""

import itertools
import warnings
from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError
from gpukit.imputation import scans
from gpukit.imputation.auto import calibration, deviations, masking
from gpukit.imputation.auto.gap_kinds import GROUPS, KINDS, kinds
from gpukit.imputation.auto.judging import Fold, error_of, filled, run_concurrently, threads_pay
from gpukit.imputation.auto.methods import BY_NAME, candidates_of
from gpukit.imputation.auto.mixing import loss_of, standard_error
from gpukit.imputation.auto.plan import Plan
from gpukit.imputation.auto.plan_builder import Judged, build_plan
from gpukit.imputation.auto.spectral import note_left_out

NUMBERS = 1 << 20  # of a problem that methods are judged on: a window of a longer one
TRIAL = 1 << 16  # of the columns that a trial is made on, where a method takes each column by itself
AHEAD = 1 << 25  # entries of a problem that unselected methods may impute early: each needs a table
ROUNDING = 1e-6  # of the largest residual
NEAR = 1.25  # largest error of a finalist, relative to the least error of the trial
MOST = 0.5  # share of equal values worth a note; scans.commonest needs at least this share
MEMBERS = 3  # of each group of values
FEW, WIDER, MORE = 20, 1.5, 6  # with fewer than FEW hidden units, WIDER and MORE replace NEAR and MEMBERS
SURE = 2.0  # standard errors above the least loss for which WIDER replaces NEAR


class Candidate(NamedTuple):
    """A method at its best setting, with the residuals of a trial.

    residuals, groups (gap_kinds.GROUPS): of the trial's columns on all its folds. estimates: [(N, T) float32] of
    these folds, if computed.
    """

    method: object
    setting: dict
    residuals: np.ndarray
    groups: np.ndarray
    estimates: list

    def errors(self, metric):
        """Return the error of each group that has residuals."""
        return [error_of(self.residuals[self.groups == group], metric) for group in np.unique(self.groups)]

    def may_beat(self, best, group, metric):
        """Return True if its loss to the best of a group is within chance: a few values may cause it."""
        some = self.groups == group
        mine, least = loss_of(np.array([self.residuals[some], best.residuals[some]]), metric)
        return bool((mine - least).sum() <= SURE * standard_error(mine - least))


def decide(problem, asked, known, progress=None):
    """Return (Plan, {name: (N, T)} of members that have imputed the problem already).

    asked: 'auto' or a method's name; a named method is used alone, and the report adds the simple methods. known:
    {name: setting} of methods that are already decided. progress: called as progress("judging", done, None,
    {"method", "error"}).
    """
    options = problem.options
    whole = problem.window(NUMBERS)
    folds = masking.folds_of(whole, options.seed)
    folds = [Fold(hidden.values, whole.without(hidden.lost), whole.values) for hidden in folds]
    if not folds:
        return plan_without_folds(problem, asked)._replace(units=problem.units), {}
    units = count_units(folds[0])
    trial_folds = folds if asked != "auto" or 0 < units[1] < FEW else folds[:1]
    trials = try_methods(whole, trial_folds, candidates_of(whole, asked), options.metric, progress)
    if asked != "auto" and asked not in {trial.method.name for trial in trials}:
        raise DataError(
            f"the method {asked!r} has nothing to say about these data: they have no order or no period that it needs, "
            "or are too many for it. Give times, take another method, or 'auto' (--method auto)."
        )
    names = finalists(trials, asked, options.metric, any(0 < count < FEW for count in units))
    near = [trial for trial in trials if trial.method.name in names]
    judged, ahead = judge_finalists(
        near, folds, whole, problem, lambda trial: decide_setting(whole, trial, known, progress)
    )
    plan = build_plan(folds, judged, trials, options.metric, asked == "auto")
    return plan._replace(notes=notes_of(problem), units=problem.units), ahead


def judge_finalists(near, folds, whole, problem, decide):
    """Return ([Judged] on all folds, {name: (N, T)} of candidates that imputed the problem early).

    If methods run concurrently and one of them is long, the others with a known setting impute meanwhile: a finalist
    is more likely to be used than not. whole: problem of the folds. decide(trial): the trial with its final setting.
    """
    early = threads_pay(whole) and problem.values.size <= AHEAD and any(trial.method.long for trial in near)
    early_trials = [trial for trial in near if trial.method.decide is None] if early else []

    def work(at):
        if at < len(near):
            return judge(folds, decide(near[at]))
        method, setting, *_ = early_trials[at - len(near)]
        return filled(method, problem, setting)

    results = run_concurrently(whole, [trial.method for trial in near + early_trials], work)
    return results[: len(near)], {trial.method.name: one for trial, one in zip(early_trials, results[len(near) :])}


def plan_without_folds(problem, asked):
    """Return a Plan if too few values are observed to hide any.

    Interpolation in time, or means without an order. If vertices miss everything or nothing, the center of the
    others.
    """
    usual = "interpolation" if problem.ordered else "two-way-mean"
    if masking.is_whole_only(problem.seen):
        usual = "vertex-median" if problem.options.metric == "absolute" else "vertex-mean"
    name = usual if asked == "auto" else asked
    note = (
        f"too few values are observed to hide any and judge methods by, {problem.seen.sum():,}, of "
        f"{problem.seen.any(axis=1).sum():,} of the vertices: {name} fills in, and deviations are those of what is "
        "observed."
    )
    warnings.warn(note, stacklevel=6)
    values = problem.values[problem.seen]
    method, spread = BY_NAME[name], float(values.std() or np.abs(values).mean())  # one value says nothing of its error
    members = [(name, method.settings(problem)[0])]
    return Plan(members, np.ones((KINDS, 1)), calibration.zero_bends(), deviations.constant(spread), [], [note])


def notes_of(problem):
    """Return [text] about unusual properties of the data."""
    if problem.units is not None:
        return [problem.units.note, *empty_columns(problem), *note_left_out(problem)]
    value, equal, count = scans.commonest(*scans.some(slice(None), problem.values, problem.seen))
    notes = []
    if equal == count:
        notes.append(f"all that is observed is {value:g}.")
    elif equal > MOST * count:
        notes.append(
            f"{equal / count:.0%} of what is observed is {value:g}: the least absolute error may be that "
            "of this value everywhere; metric='squared' (--metric squared) judges by squares."
        )
    return notes + empty_columns(problem) + note_left_out(problem)


def empty_columns(problem):
    """Return [text] about unordered columns without observed values."""
    empty = int((~problem.seen.any(axis=0)).sum())
    if not empty or problem.ordered:
        return []
    return [f"{empty:,} columns are observed on no vertex: they have the vertices' means."]


def try_methods(problem, folds, methods, metric, progress):
    """Return a Candidate of each method, on the folds."""
    count, columns = problem.values.shape
    sample = np.arange(columns)
    if problem.values.size > TRIAL:
        rng = np.random.default_rng(problem.options.seed)
        busy = np.flatnonzero(np.any([fold.hidden.any(axis=0) for fold in folds], axis=0))
        sample = np.sort(rng.permutation(busy)[: max(1, TRIAL // count)])
    numbers = itertools.count(1)

    def report_trial(trial):
        if progress:
            message = {"method": trial.method.name, "error": error_of(trial.residuals, metric)}
            progress("judging", next(numbers), None, message)

    return run_concurrently(
        problem, methods, lambda at: best_setting(methods[at], problem, folds, sample, metric), report_trial
    )


def best_setting(method, problem, folds, some, metric):
    """The Candidate of a method: the setting with the least error on the hidden values of some columns."""
    groups = np.concatenate([GROUPS[kinds(fold.problem)[:, some][fold.hidden[:, some]]] for fold in folds])
    best = None
    for setting in method.settings(folds[0].problem):
        pairs = [residuals_on(method, problem, fold, some, setting) for fold in folds]
        residuals = np.concatenate([one for one, _ in pairs])
        if best is None or error_of(residuals, metric) < error_of(best.residuals, metric):
            best = Candidate(method, setting, residuals, groups, [] if method.alone else [kept for _, kept in pairs])
    return best


def residuals_on(method, problem, fold, some, setting):
    """(residuals on the hidden values of some columns of a fold, the estimate (N, T) float32, None of a method that was
    asked for those columns alone)."""
    truth, hidden = problem.values[:, some], fold.hidden[:, some]
    if method.alone:
        return (filled(method, fold.problem.columns(some), setting) - truth)[hidden], None
    estimate = filled(method, fold.problem, setting)
    return (estimate[:, some] - truth)[hidden], estimate.astype(np.float32)


def count_units(fold):
    """Return the number of whole vertices and of other independent units of a fold."""
    units = np.unique(fold.units(kinds(fold.problem)[fold.hidden]))
    whole = np.count_nonzero(units < len(fold.hidden))
    return whole, len(units) - whole


def is_equal(trial, other):
    """Return True if two trials are equal up to rounding."""
    size = float(np.abs(trial.residuals).max(initial=0.0))
    return np.allclose(trial.residuals, other.residuals, rtol=0.0, atol=ROUNDING * size)


def finalists(trials, asked, metric, few):
    """Return the names of the methods to judge on all folds.

    Equal methods are represented by the first of them, and by those with estimates for isolated vertices (unjoined).
    few: few units are hidden; one of them may decide, so more methods are judged.
    """
    if asked != "auto":
        return {asked}
    unlike = [t for at, t in enumerate(trials) if t.method.unjoined or not any(is_equal(t, u) for u in trials[:at])]
    names, near, members = set(), *((WIDER, MORE) if few else (NEAR, MEMBERS))
    for group, errors in zip(np.unique(unlike[0].groups), zip(*(trial.errors(metric) for trial in unlike))):
        order = np.argsort(errors, kind="stable")[:members]
        best, least = unlike[order[0]], errors[order[0]]
        close = [unlike[at] for at in order if errors[at] <= WIDER * least]
        names |= {t.method.name for t in close if t.may_beat(best, group, metric)}
        names |= {unlike[at].method.name for at in order if errors[at] <= near * least}
    return names


def decide_setting(problem, trial, known, progress):
    """Return a Candidate with its final setting."""
    name, find = trial.method.name, trial.method.decide
    if find is None:
        return trial
    return trial._replace(setting=known[name] if name in known else find(problem, progress), estimates=[])


def judge(folds, trial):
    """Return Judged of a Candidate on all folds."""
    rest = folds[len(trial.estimates) :]
    more = [filled(trial.method, fold.problem, trial.setting).astype(np.float32) for fold in rest]
    return Judged(trial.method.name, trial.setting, trial.estimates + more)
