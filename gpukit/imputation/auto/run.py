"""From a problem to a plan: methods tried, the near ones judged, the best or a mean of them taken."""

import itertools
import warnings
from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError
from gpukit.imputation import scans
from gpukit.imputation.auto import calibration, deviations, masking
from gpukit.imputation.auto.gap_kinds import GROUPS, KINDS, kinds
from gpukit.imputation.auto.judging import Fold, error_of, filled, side_by_side, threads_pay
from gpukit.imputation.auto.methods import BY_NAME, candidates_of
from gpukit.imputation.auto.mixing import loss_of, standard_error
from gpukit.imputation.auto.plan import Plan
from gpukit.imputation.auto.plan_builder import Judged, settled
from gpukit.imputation.auto.spectral import left_out

NUMBERS = 1 << 20  # of a problem that methods are judged on: a window of a longer one
TRIAL = 1 << 16  # of the columns that a trial is made on, where a method takes each column by itself
AHEAD = 1 << 25  # of a problem that methods fill in before it is known whether they serve: each has a table of its own
ROUNDING = 1e-6  # of the largest residual
NEAR = 1.25  # times the least error of a trial: what is judged on all folds
MOST = 0.5  # of the values, equal ones that are told: no less, see scans.commonest
MEMBERS = 3  # of each group of values
FEW, WIDER, MORE = 20, 1.5, 6  # units hidden in a trial; in place of NEAR and MEMBERS where they are fewer
SURE = 2.0  # standard errors of the difference to the least, up to which WIDER holds in place of NEAR too


class Candidate(NamedTuple):
    """A method at the best of its settings, and its residuals on the columns of a trial, with their groups
    (gap_kinds.GROUPS), of all its folds. estimates: [(N, T) float32] of these, where they were made."""

    method: object
    setting: dict
    residuals: np.ndarray
    groups: np.ndarray
    estimates: list

    def errors(self, metric):
        """[error of the residuals of each group that has any]."""
        return [error_of(self.residuals[self.groups == group], metric) for group in np.unique(self.groups)]

    def may_beat(self, best, group, metric):
        """Whether it loses no more than chance may account for to the best of a group: a few values may be all."""
        some = self.groups == group
        mine, least = loss_of(np.array([self.residuals[some], best.residuals[some]]), metric)
        return bool((mine - least).sum() <= SURE * standard_error(mine - least))


def decide(problem, asked, known, progress=None):
    """(the Plan for a problem, {name: (N, T)} of members that have filled it in already).

    asked: 'auto' or a method's name, which then serves by itself; the report has the simple ones too. known: {name:
    setting} of methods that are decided. progress: called as progress("judging", done, None, {"method", "error"}).
    """
    options = problem.options
    whole = problem.window(NUMBERS)
    folds = masking.folds_of(whole, options.seed)
    folds = [Fold(hidden.values, whole.without(hidden.lost), whole.values) for hidden in folds]
    if not folds:
        return unjudged(problem, asked)._replace(units=problem.units), {}
    units = units_in(folds[0])
    some = folds if asked != "auto" or 0 < units[1] < FEW else folds[:1]
    trials = tried(whole, some, candidates_of(whole, asked), options.metric, progress)
    if asked != "auto" and asked not in {trial.method.name for trial in trials}:
        raise DataError(
            f"the method {asked!r} has nothing to say about these data: they have no order or no period that it needs, "
            "or are too many for it. Give times, take another method, or 'auto' (--method auto)."
        )
    names = finalists(trials, asked, options.metric, any(0 < count < FEW for count in units))
    near = [trial for trial in trials if trial.method.name in names]
    judged, ahead = judged_of(near, folds, whole, problem, lambda trial: decided(whole, trial, known, progress))
    plan = settled(folds, judged, trials, options.metric, asked == "auto")
    return plan._replace(notes=notes_of(problem), units=problem.units), ahead


def judged_of(near, folds, whole, problem, decide):
    """([Judged] of Candidates on all folds, {name: (N, T)} of those that fill in the problem meanwhile).

    Where methods work beside each other and one of them is long, which the others would wait for, all do whose setting
    is known: who comes as near as that serves more often than not. whole: what they are judged on; decide(trial): with
    its setting.
    """
    early = threads_pay(whole) and problem.values.size <= AHEAD and any(trial.method.long for trial in near)
    ahead = [trial for trial in near if trial.method.decide is None] if early else []

    def work(at):
        if at < len(near):
            return judge(folds, decide(near[at]))
        method, setting, *_ = ahead[at - len(near)]
        return filled(method, problem, setting)

    found = side_by_side(whole, [trial.method for trial in near + ahead], work)
    return found[: len(near)], {trial.method.name: one for trial, one in zip(ahead, found[len(near) :])}


def unjudged(problem, asked):
    """The Plan where too little is observed to hide any: interpolation in time, means where there is no order; where
    vertices miss everything or nothing, what is the middle of the others."""
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
    """[text] of what is odd about a problem."""
    if problem.units is not None:
        return [problem.units.note, *empty_columns(problem), *left_out(problem)]
    value, alike, count = scans.commonest(*scans.some(slice(None), problem.values, problem.seen))
    notes = []
    if alike == count:
        notes.append(f"all that is observed is {value:g}.")
    elif alike > MOST * count:
        notes.append(
            f"{alike / count:.0%} of what is observed is {value:g}: the least absolute error may be that "
            "of this value everywhere; metric='squared' (--metric squared) judges by squares."
        )
    return notes + empty_columns(problem) + left_out(problem)


def empty_columns(problem):
    """[text] of columns without order in which nothing is observed."""
    empty = int((~problem.seen.any(axis=0)).sum())
    if not empty or problem.ordered:
        return []
    return [f"{empty:,} columns are observed on no vertex: they have the vertices' means."]


def tried(problem, folds, methods, metric, progress):
    """A Candidate of each of some methods, on folds."""
    count, columns = problem.values.shape
    some = np.arange(columns)
    if problem.values.size > TRIAL:
        rng = np.random.default_rng(problem.options.seed)
        busy = np.flatnonzero(np.any([fold.hidden.any(axis=0) for fold in folds], axis=0))
        some = np.sort(rng.permutation(busy)[: max(1, TRIAL // count)])
    numbers = itertools.count(1)

    def heard(trial):
        if progress:
            told = {"method": trial.method.name, "error": error_of(trial.residuals, metric)}
            progress("judging", next(numbers), None, told)

    return side_by_side(problem, methods, lambda at: best_setting(methods[at], problem, folds, some, metric), heard)


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


def units_in(fold):
    """(vertices that a fold hides whole, its other runs), as many as err by chances of their own."""
    units = np.unique(fold.units(kinds(fold.problem)[fold.hidden]))
    whole = np.count_nonzero(units < len(fold.hidden))
    return whole, len(units) - whole


def alike(trial, other):
    """Whether two trials are the same but for rounding."""
    size = float(np.abs(trial.residuals).max(initial=0.0))
    return np.allclose(trial.residuals, other.residuals, rtol=0.0, atol=ROUNDING * size)


def finalists(trials, asked, metric, few):
    """The names of the methods that are judged on all folds, of those that fill in alike the first, and what knows
    something where others do not (unjoined); few: of few hidden units one may decide, so more methods are judged."""
    if asked != "auto":
        return {asked}
    unlike = [t for at, t in enumerate(trials) if t.method.unjoined or not any(alike(t, u) for u in trials[:at])]
    found, near, members = set(), *((WIDER, MORE) if few else (NEAR, MEMBERS))
    for group, errors in zip(np.unique(unlike[0].groups), zip(*(trial.errors(metric) for trial in unlike))):
        order = np.argsort(errors, kind="stable")[:members]
        best, least = unlike[order[0]], errors[order[0]]
        some = [unlike[at] for at in order if errors[at] <= WIDER * least]
        found |= {t.method.name for t in some if t.may_beat(best, group, metric)}
        found |= {unlike[at].method.name for at in order if errors[at] <= near * least}
    return found


def decided(problem, trial, known, progress):
    """A Candidate with the setting that serves."""
    name, find = trial.method.name, trial.method.decide
    if find is None:
        return trial
    return trial._replace(setting=known[name] if name in known else find(problem, progress), estimates=[])


def judge(folds, trial):
    """Judged of a Candidate on all folds."""
    rest = folds[len(trial.estimates) :]
    more = [filled(trial.method, fold.problem, trial.setting).astype(np.float32) for fold in rest]
    return Judged(trial.method.name, trial.setting, trial.estimates + more)
