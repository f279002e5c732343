"""Select a plan: try all methods, judge the finalists, use the best one or a mean."""

import itertools
import warnings

import numpy as np

from gpukit.errors import DataError
from gpukit.imputation.auto import ensemble, masking, uncertainty
from gpukit.imputation.auto.judging import (
    GROUPS,
    KINDS,
    Fold,
    MethodTrial,
    error_of,
    finite_estimate,
    kinds,
    run_concurrently,
)
from gpukit.imputation.auto.plan import BY_NAME, Plan, build_plan, candidates_of, count_units
from gpukit.imputation.constants import FEW_UNITS, FINALISTS, NEAR, ROUNDING
from gpukit.imputation.spectral.method import note_left_out
from gpukit.model_selection.trial import finalists

WINDOW = 1 << 20  # entries of the window of a long problem that methods are judged on


def decide(problem, name, known_settings, progress=None):
    """Return the Plan of a problem.

    name: 'auto' or a method's name; a named method is used alone, and the report adds the simple methods.
    known_settings: {name: setting} of methods that are already decided. progress: called as progress("judging", done,
    None, {"method", "error"}).
    """
    options = problem.options
    window = problem.window(WINDOW)
    folds = masking.folds_of(window, options.seed)
    folds = [Fold(hidden.values, window.without(hidden.lost), window.values) for hidden in folds]
    if not folds:
        return plan_without_folds(problem, name)._replace(units=problem.units)
    runs = count_units(folds[:1], [kinds(folds[0].problem)])[1]
    trial_folds = folds if name != "auto" or 0 < runs < FEW_UNITS else folds[:1]
    trials = try_methods(window, trial_folds, candidates_of(window, name), options.metric, progress)
    if name != "auto" and name not in {trial.name for trial in trials}:
        raise DataError(
            f"the method {name!r} has nothing to say about these data: they have no order or no period that it needs, "
            "or are too many for it. Give times, take another method, or 'auto' (--method auto)."
        )
    chosen = choose_finalists(trials, options.metric) if name == "auto" else {name}
    final_trials = [trial for trial in trials if trial.name in chosen]
    judged = run_concurrently(
        window,
        [trial.method for trial in final_trials],
        lambda index: judge(folds, decide_setting(window, final_trials[index], known_settings, progress)),
    )
    plan = build_plan(folds, judged, trials, options.metric, name == "auto")
    return plan._replace(notes=notes_of(problem), units=problem.units)


def plan_without_folds(problem, name):
    """Return a Plan if too few values are observed to hide any.

    Interpolation in time, or means without an order. If vertices miss everything or nothing, the center of the
    others.
    """
    usual = "interpolation" if problem.ordered else "two-way-mean"
    if masking.is_whole_only(problem.seen):
        usual = "vertex-median" if problem.options.metric == "absolute" else "vertex-mean"
    name = usual if name == "auto" else name
    note = (
        f"too few values are observed to hide any and judge methods by, {problem.seen.sum():,}, of "
        f"{problem.seen.any(axis=1).sum():,} of the vertices: {name} fills in, and deviations are those of what is "
        "observed."
    )
    warnings.warn(note, stacklevel=6)
    values = problem.values[problem.seen]
    method, spread = BY_NAME[name], float(values.std() or np.abs(values).mean())  # one value says nothing of its error
    members = [(name, method.settings(problem)[0])]
    return Plan(members, np.ones((KINDS, 1)), ensemble.zero_bends(), uncertainty.constant(spread), [], [note])


def notes_of(problem):
    """Return [text] about unusual properties of the data."""
    if problem.units is not None:
        return [problem.units.note, *empty_columns(problem), *note_left_out(problem)]
    values = problem.values[problem.seen]
    value = np.partition(values, len(values) // 2)[len(values) // 2]  # that of most values, if there is one
    equal, count, notes = np.count_nonzero(values == value), len(values), []
    if equal == count:
        notes.append(f"all that is observed is {value:g}.")
    elif 2 * equal > count:
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
    """Return a MethodTrial of each method, on the folds."""
    groups = np.concatenate([GROUPS[kinds(fold.problem)[fold.hidden]] for fold in folds])
    numbers = itertools.count(1)

    def report_trial(trial):
        if progress:
            message = {"method": trial.name, "error": error_of(trial.residuals, metric)}
            progress("judging", next(numbers), None, message)

    trials = run_concurrently(
        problem, methods, lambda index: best_setting(methods[index], problem, folds, metric), report_trial
    )
    return [trial._replace(groups=groups) for trial in trials]


def best_setting(method, problem, folds, metric):
    """Return the MethodTrial of a method: the setting with the least error on the hidden values."""
    best = None
    for setting in method.settings(folds[0].problem):
        estimates = [finite_estimate(method, fold.problem, setting) for fold in folds]
        residuals = [(estimate - problem.values)[fold.hidden] for estimate, fold in zip(estimates, folds)]
        residuals = np.concatenate(residuals)
        if best is None or error_of(residuals, metric) < error_of(best.residuals, metric):
            estimates = [estimate.astype(np.float32) for estimate in estimates]
            best = MethodTrial(method, setting, residuals, None, estimates)
    return best


def is_equal(trial, other):
    """Return True if two trials are equal up to rounding."""
    size = float(np.abs(trial.residuals).max(initial=0.0))
    return np.allclose(trial.residuals, other.residuals, rtol=0.0, atol=ROUNDING * size)


def choose_finalists(trials, metric):
    """Return the names of the methods to judge on all folds.

    Equal methods, as many are on unobserved vertices, are represented by the first of them, and by those with estimates
    for isolated vertices (unjoined).
    """
    distinct = [
        trial
        for index, trial in enumerate(trials)
        if trial.method.unjoined or not any(is_equal(trial, other) for other in trials[:index])
    ]
    errors = np.array([trial.errors(metric) for trial in distinct])
    return {distinct[index].name for group in errors.T for index in finalists(group, NEAR, FINALISTS)}


def decide_setting(problem, trial, known_settings, progress):
    """Return a MethodTrial with its final setting."""
    name, decide = trial.name, trial.method.decide
    if decide is None:
        return trial
    setting = known_settings[name] if name in known_settings else decide(problem, progress)
    return trial._replace(setting=setting, estimates=[])


def judge(folds, trial):
    """Return a MethodTrial with its estimates on all folds."""
    further = folds[len(trial.estimates) :]
    estimates = [finite_estimate(trial.method, fold.problem, trial.setting).astype(np.float32) for fold in further]
    return trial._replace(estimates=trial.estimates + estimates)
