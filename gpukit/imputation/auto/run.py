"""Select a plan: try all methods, judge the finalists, use the best one or a mean."""

import itertools
import warnings

import numpy as np

from gpukit.errors import DataError
from gpukit.imputation.auto import judging, masking, uncertainty
from gpukit.imputation.auto.judging import GROUPS, KINDS, Candidate, Fold, error_of, kinds
from gpukit.imputation.auto.plan import BY_NAME, Plan, build_plan, candidates_of, count_units, zero_bends
from gpukit.imputation.constants import FEW_UNITS, FINALISTS, NEAR, ROUNDING
from gpukit.imputation.spectral.choose import competes, note_left_out
from gpukit.model_selection.trial import finalists


def decide(problem, name, known_settings, progress=None):
    """Return the Plan of a problem.

    name: 'auto' or a method's name; a named method is used alone, and the report adds the simple methods.
    known_settings: {name: setting} of methods that are already decided. progress: called as progress("judging", done,
    None, {"method", "error"}).
    """
    options = problem.options
    numbers = 1 << 20  # of a long or wide problem that methods are judged on
    window = problem.window(numbers)
    window = window if competes(problem) else window.patches(numbers)
    hidden_folds = masking.folds_of(window, options.seed), masking.origins_of(window)
    folds, origins = (
        [Fold(hidden.values, window.without(hidden.lost), window.values) for hidden in parts] for parts in hidden_folds
    )
    if not folds:
        return plan_without_folds(problem, name)._replace(units=problem.units)
    if name != "auto":
        check_suits(BY_NAME[name], window, problem)
    runs = count_units(folds[:1], [kinds(folds[0].problem)])[1]
    splits = len(folds) if name != "auto" or 0 < runs < FEW_UNITS else 1
    searches = try_methods(window, folds, splits, candidates_of(window, name), progress)
    trials = {search.best.candidate.name: search.best for search in searches}
    groups = np.concatenate([GROUPS[kinds(fold.problem)[fold.hidden]] for fold in folds[:splits]])
    chosen = choose_finalists(trials.values(), groups, options.metric) if name == "auto" else {name}
    final = [search for search in searches if search.best.candidate.name in chosen]
    judged = judging.run_concurrently(
        window,
        [search.best.candidate.method for search in final],
        lambda index: judge(final[index], window, known_settings, progress),
    )
    tried = [trial for method, trial in trials.items() if method not in chosen]
    plan = build_plan(folds, origins, (judged, tried), options.metric, name == "auto")
    return plan._replace(notes=notes_of(problem), units=problem.units)


def check_suits(method, window, problem):
    """Raise DataError if a named method does not suit the window of a problem."""
    if not method.suits(window):
        count, columns = problem.values.shape
        raise DataError(
            f"the method {method.name!r} has nothing to say about these data: it needs {method.needs}. They are "
            f"{count:,} vertices of {columns:,} columns, {'in' if problem.ordered else 'without an'} order of time. "
            f"{'Take' if problem.ordered else 'Give times, take'} another method, or 'auto' (--method auto)."
        )


def plan_without_folds(problem, name):
    """Return a Plan if too few values are observed to hide any.

    Interpolation in time, or means without an order, also in place of a method that does not suit. If vertices miss
    everything or nothing, the center of the others.
    """
    usual = "interpolation" if problem.ordered else "two-way-mean"
    if masking.is_whole_only(problem.seen):
        usual = "vertex-median" if problem.options.metric == "absolute" else "vertex-mean"
    name = name if name != "auto" and BY_NAME[name].suits(problem) else usual
    note = (
        f"too few values are observed to hide any and judge methods by, {problem.seen.sum():,}, of "
        f"{problem.seen.any(axis=1).sum():,} of the vertices: {name} fills in, and deviations are those of what is "
        "observed."
    )
    warnings.warn(note, stacklevel=6)
    values = problem.values[problem.seen]
    method, spread = BY_NAME[name], float(values.std() or np.abs(values).mean())  # one value says nothing of its error
    members = [(name, method.settings(problem)[0])]
    return Plan(members, np.ones((KINDS, 1)), zero_bends(), uncertainty.constant(spread), [], [note])


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


def try_methods(problem, folds, splits, methods, progress):
    """Return a Search of each method's settings on the first folds."""
    metric, numbers = problem.options.metric, itertools.count(1)

    def report_best(search):
        if progress:
            error = error_of(np.concatenate(search.best.row["residuals"]), metric)
            progress("judging", next(numbers), None, {"method": search.best.candidate.name, "error": error})

    return judging.run_concurrently(
        problem, methods, lambda index: search_setting(methods[index], folds, splits, metric), report_best
    )


def search_setting(method, folds, splits, metric):
    """Return the Search of a method's settings on the first folds; it keeps the best one."""
    search = judging.start_search(folds, metric)
    for setting in method.settings(folds[0].problem):
        search.run(Candidate(method, setting), splits)
        search.keep_best()
    return search


def choose_finalists(trials, groups, metric):
    """Return the names of the methods to judge on all folds.

    Equal methods, as many are on unobserved vertices, are represented by the first of them, and by those with estimates
    for isolated vertices (unjoined). groups (values,): of the hidden values.
    """
    parts = []
    for trial in trials:
        residuals = np.concatenate(trial.row["residuals"])
        size = ROUNDING * np.abs(residuals).max(initial=0.0)
        is_known = any(np.allclose(residuals, part, rtol=0.0, atol=size) for _, part in parts)
        parts += [] if is_known and not trial.candidate.method.unjoined else [(trial.candidate.name, residuals)]
    names = [name for name, _ in parts]
    chosen = set()
    for group in np.unique(groups):
        errors = [error_of(part[groups == group], metric) for _, part in parts]
        chosen.update(names[index] for index in finalists(errors, NEAR, FINALISTS))
    return chosen


def judge(search, problem, known_settings, progress):
    """Return the Trial of a method on all folds, at its final setting."""
    candidate = search.best.candidate
    method, name = candidate.method, candidate.name
    if method.decide is not None:
        setting = known_settings[name] if name in known_settings else method.decide(problem, progress)
        candidate = Candidate(method, setting)
    return search.run(candidate, len(search.evaluators))
