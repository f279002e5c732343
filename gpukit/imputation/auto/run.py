"""From a problem to a plan: methods tried, the near ones judged, the best or a mean of them taken."""

from typing import NamedTuple

import numpy as np

from gpukit.imputation.auto import deviations, hiding
from gpukit.imputation.auto.judging import Fold, error_of, filled, row_of
from gpukit.imputation.auto.methods import BY_NAME, METHODS
from gpukit.imputation.auto.mixing import combined, shares_of
from gpukit.imputation.auto.places import kinds
from gpukit.imputation.auto.plan import MIX, Plan

NUMBERS = 1 << 20  # of a problem that methods are judged on: a window of a longer one
TRIAL = 1 << 16  # of the columns that a trial is made on, where a method takes each column by itself
NEAR = 1.25  # times the least error of a trial: what is judged on all folds
MEMBERS = 5
WORTH = 0.997  # of the error of the best method: what a mean of several must be below
USED = 0.005  # of the largest share of a member: with less it is left out


class Trial(NamedTuple):
    """A method at the best of its settings, and its residuals on the columns of a trial, for vertices that are hidden
    whole and for others. estimate: of all that its fold hides, where it was made."""

    method: object
    setting: dict
    residuals: np.ndarray
    whole: np.ndarray
    estimate: np.ndarray | None

    def errors(self, metric):
        """[error of the residuals of either group that has any]."""
        return [error_of(self.residuals[some], metric) for some in (self.whole, ~self.whole) if some.any()]


class Judged(NamedTuple):
    """estimates: [(N, T) values of the hidden ones, an array (hidden,) a fold] of a method at a setting."""

    name: str
    setting: dict
    estimates: list


def decide(problem, asked, known, progress=None):
    """The Plan for a problem.

    asked: 'auto' or a method's name, which then serves by itself; the report has all methods. known: {name: setting}
    of methods that are decided. progress: called as progress("judging", done, None, {"method", "error"}).
    """
    options = problem.options
    whole = problem.window(NUMBERS)
    folds = [Fold(hidden, whole.without(hidden)) for hidden in hiding.folds_of(whole, options.seed)]
    if not folds:
        return unjudged(problem, asked)
    trials = tried(whole, folds[0], options.metric, progress)
    names = finalists(trials, asked, options.metric)
    judged = [judge(folds, decided(whole, trial, known, progress)) for trial in trials if trial.method.name in names]
    return settled(whole, folds, judged, trials, options.metric)


def unjudged(problem, asked):
    """The Plan where too little is observed to hide any."""
    spread = float(problem.values[problem.seen].std())
    name = "two-way-mean" if asked == "auto" else asked
    if asked == "auto" and problem.ordered:
        name = "interpolation"
    method = BY_NAME[name]
    nothing = deviations.learned(np.zeros(0), np.zeros(0, np.int8), spread)
    return Plan([(name, method.settings(problem)[0])], np.ones((len(nothing.by_kind), 1)), nothing, [], [])


def tried(problem, fold, metric, progress):
    """A Trial of every method that suits, on one fold."""
    count, columns = problem.values.shape
    some = np.arange(columns)
    if problem.values.size > TRIAL:
        rng = np.random.default_rng(problem.options.seed)
        busy = np.flatnonzero(fold.hidden.any(axis=0))
        some = np.sort(rng.permutation(busy)[: max(1, TRIAL // count)])
    found = []
    for method in METHODS:
        if method.suits(problem):
            found.append(best_setting(method, problem, fold, some, metric))
            if progress:
                told = {"method": method.name, "error": error_of(found[-1].residuals, metric)}
                progress("judging", len(found), None, told)
    return found


def best_setting(method, problem, fold, some, metric):
    """The Trial of a method: the setting with the least error on the hidden values of some columns."""
    truth, hidden = problem.values[:, some], fold.hidden[:, some]
    whole = np.broadcast_to(~fold.problem.seen.any(axis=1, keepdims=True), hidden.shape)[hidden]
    part = fold.problem.columns(some) if method.alone else fold.problem
    best = None
    for setting in method.settings(fold.problem):
        estimate = filled(method, part, setting)
        residuals = ((estimate if method.alone else estimate[:, some]) - truth)[hidden]
        if best is None or error_of(residuals, metric) < error_of(best.residuals, metric):
            best = Trial(method, setting, residuals, whole, None if method.alone else estimate[fold.hidden])
    return best


def finalists(trials, asked, metric):
    """The names of the methods that are judged on all folds."""
    if asked != "auto":
        return {asked}
    found = set()
    for errors in zip(*(trial.errors(metric) for trial in trials)):
        order = np.argsort(errors, kind="stable")[:MEMBERS]
        found |= {trials[at].method.name for at in order if errors[at] <= NEAR * errors[order[0]]}
    return found


def decided(problem, trial, known, progress):
    """A Trial with the setting that serves."""
    name, find = trial.method.name, trial.method.decide
    if find is None:
        return trial
    return trial._replace(setting=known[name] if name in known else find(problem, progress), estimate=None)


def judge(folds, trial):
    """Judged of a Trial on all folds."""
    known = [] if trial.estimate is None else [trial.estimate]
    estimates = [filled(trial.method, fold.problem, trial.setting)[fold.hidden] for fold in folds[len(known) :]]
    return Judged(trial.method.name, trial.setting, known + estimates)


def settled(problem, folds, judged, trials, metric):
    """The Plan of what was judged on a problem's folds."""
    truths = [problem.values[fold.hidden] for fold in folds]
    found = [kinds(fold.problem)[fold.hidden] for fold in folds]
    truth, of_kind = np.concatenate(truths), np.concatenate(found)
    estimates = np.array([np.concatenate(one.estimates) for one in judged])
    shares = shares_of(estimates, truth, of_kind, metric)
    best = min(range(len(judged)), key=lambda at: error_of(estimates[at] - truth, metric))
    if error_of(combined(estimates, shares, of_kind) - truth, metric) > WORTH * error_of(
        estimates[best] - truth, metric
    ):
        shares = np.zeros(shares.shape)
        shares[:, best] = 1.0
    kept = np.flatnonzero(shares.max(axis=0) > USED)
    shares = shares[:, kept] / shares[:, kept].sum(axis=1, keepdims=True)
    residuals = combined(estimates[kept], shares, of_kind) - truth
    members = [(judged[at].name, judged[at].setting) for at in kept]
    plan = Plan(members, shares, deviations.learned(residuals, of_kind, 0.0), [], [])
    parts = np.split(residuals, np.cumsum([len(part) for part in truths])[:-1])
    mean = (np.bincount(of_kind, minlength=len(shares)) @ shares / len(truth)).tolist()
    return plan._replace(
        rows=report(plan, dict(zip([name for name, _ in members], mean)), judged, trials, truths, parts, metric)
    )


def report(plan, served, judged, trials, truths, parts, metric):
    """[judging.Row], the least error first; of what was only tried a row of its trial."""
    rows = [
        row_of(one.name, one.setting, [e - t for e, t in zip(one.estimates, truths)], metric, served.get(one.name, 0.0))
        for one in judged
    ]
    names = {row.name for row in rows}
    rows += [
        row_of(trial.method.name, trial.setting, [trial.residuals], metric)
        for trial in trials
        if trial.method.name not in names
    ]
    rows = [row._replace(setting={key: one for key, one in row.setting.items() if key != "options"}) for row in rows]
    if plan.method == MIX:
        rows.append(row_of(MIX, served, parts, metric, 1.0))
    return sorted(rows, key=lambda row: row.error)
