"""Choice of C and of the scale 'auto' on queries held out of the training set.

The candidates are paths of C, with unchanged features and with features of deviation 1. The simplest is C = 1 with
unchanged features. They are trained on four fifths of the queries and evaluated by the pairs (or another metric) of the
last fifth. Each fifth is held out once. As soon as a Budget is spent, only the simplest and the best candidate are
evaluated on the others, so that choosing costs less than ten trainings on a large set. The best is chosen if it is
better by more than one standard error. All is computed on the CPU, so that the choice is the same on every device.

With a validation set the paths are trained on the whole training set, and the best there is chosen.
"""

import contextlib
import json
import warnings
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from gpukit.base.arrays import Resident
from gpukit.errors import DataError
from gpukit.model_selection.budget import Budget
from gpukit.model_selection.trial import Trial, best_of, has_passed_best, list_finalists, simplest_of
from gpukit.ranking import run
from gpukit.ranking.hold_out import draw_sample, split_folds
from gpukit.ranking.path import RankingMetric, ValidationSet, read_set
from gpukit.ranking.solvers.choose import stored_values
from gpukit.timing import work_clock

PAIRS = RankingMetric("pa")
SCALES = ("none", "deviation")  # candidates for the scale "auto"
STEPS = 16.0 ** np.arange(-1, 7)  # C, in units of 1 / the curvature along the gradient at w = 0
WORK = 2e7  # Budget for the evaluation of all candidates: stored features times passes over them
TRIAL = {"eps": 1e-2, "max_iter": 50, "loose": True}  # settings of all trainings


class Choice(NamedTuple):
    """The choice: RankSVM.chosen_ and trials_, and its seconds."""

    facts: dict
    trials: list
    seconds: float


class Candidate(NamedTuple):
    """A scale of the features, and C."""

    scale: str
    C: float


def choose_settings(inputs, settings, weights, group, team, choose=True, validation=None, metric=PAIRS):
    """Return estimator.Settings with "auto" replaced by choices for inputs.Inputs.

    C is 1 if choose is False, X stays on a GPU, or nothing can be held out; the scale "auto" is then "none", as for an
    explicit C. weights, group, team: as in run.Run; all ranks get the choice of rank 0. validation: path.ValidationSet
    or None; metric: path.RankingMetric.
    """
    scales = list_scales(settings)
    simplest = settings._replace(C=1.0 if settings.C == "auto" else settings.C, scale=scales[0])
    if not choose or settings.C != "auto" or isinstance(inputs.X, Resident):
        return simplest
    choice, begun = None, work_clock()
    if not team.rank:
        search = simplest._replace(**TRIAL)
        if validation is not None:
            choice = choose_on_validation(inputs, search, scales, weights, group, validation)
        else:
            choice = choose_on_folds(inputs, search, scales, weights, group, metric)
    choice = broadcast_choice(choice and choice._replace(seconds=work_clock() - begun), team)
    if choice is None:
        return simplest
    return simplest._replace(C=choice.facts["C"], scale=choice.facts["scale"], chosen=choice)


def list_scales(settings):
    """Return the candidates for the scale, the simplest first."""
    if settings.scale != "auto":
        return (settings.scale,)
    return SCALES if settings.features == "linear" else ("deviation",)


def choose_validation(validation, eval_sets, metric):
    """Return the path.ValidationSet on which C is chosen: of Documents or (X, y, qid), else of the last inputs.Inputs.

    None if there is none, or, with a warning, if the labels of the last do not define the metric.
    """
    if validation is not None:
        return ValidationSet(read_set(validation), metric).check_defined()
    if not eval_sets:
        return None
    try:
        return ValidationSet(eval_sets[-1], metric).check_defined()
    except DataError as error:
        warnings.warn(f"C is chosen on parts of the training set, not on the last eval set. {error}", stacklevel=4)


def broadcast_choice(choice, team):
    """Return the Choice of rank 0, or None, on all ranks."""
    text = team.broadcast(np.frombuffer(json.dumps(choice).encode(), np.uint8))
    fields = json.loads(bytes(text))
    return fields and Choice(*fields)


def choose_on_validation(inputs, settings, scales, weights, group, validation):
    """Return the Choice of candidates trained on all of inputs.Inputs; None if there are none."""
    trials = try_paths(inputs, weights, group, settings, dict.fromkeys(scales), validation, Budget(WORK))
    queries = len(validation.offsets) - 1
    return make_choice(trials, trials, validation.metric, queries, "validation") if trials else None


def choose_on_folds(inputs, settings, scales, weights, group, metric):
    """Return the Choice of candidates trained on folds of a sample; None if there are none or nothing is held out."""
    check_metric(inputs, metric)
    sample = draw_sample(inputs, weights, group)
    if sample is None:
        return None
    is_narrow = (
        sample.X.shape[1] <= len(sample.y) or settings.features != "linear"
    )  # else eigenvectors cost more than the steps they save
    settings = settings._replace(solver="auto", device="cpu", precondition=settings.precondition and is_narrow)
    trials, finalists, paths, budget = {}, [], dict.fromkeys(scales), Budget(WORK)
    for train, held_out in split_folds(sample):
        validation = ValidationSet(held_out.inputs, metric, held_out.weights)
        results = try_paths(train.inputs, train.weights, None, settings, paths, validation, budget)
        if not results:
            return None
        finalists = [trials[trial.candidate].extend(trial) if trials else trial for trial in results]
        trials |= {trial.candidate: trial for trial in finalists}
        if budget.is_spent:
            finalists = list_finalists(finalists)
        by_scale = groupby((trial.candidate for trial in finalists), attrgetter("scale"))
        paths = {scale: [candidate.C for candidate in candidates] for scale, candidates in by_scale}
    return make_choice(finalists, trials.values(), metric, len(sample.starts), sample.unit) if finalists else None


def check_metric(inputs, metric):
    """Raise DataError if the labels do not define the metric for choosing C; pairs are checked later."""
    reason = metric.explain_undefined(inputs.queries.ordered(inputs.y), inputs.queries.offsets)
    if reason and not metric.name.startswith("pa"):
        raise DataError(f"C cannot be chosen by {metric.name}: {reason}. Choose another metric.")


def try_paths(inputs, weights, group, settings, paths, validation, budget):
    """Return [Trial] of candidates trained on inputs.Inputs, without scales whose products overflow.

    paths: {scale: values of C, or None for a path from the data}; validation: path.ValidationSet; budget: the
    Budget that trainings spend.
    """
    trials = []
    for scale, values in paths.items():
        with contextlib.suppress(DataError), np.errstate(over="ignore", invalid="ignore"):
            trained = run.Run(inputs, settings._replace(scale=scale), weights, group)
            validation.scale_like(trained)
            trials += try_path(trained, values, validation, budget)
    return trials


def try_path(trained, values, validation, budget):
    """Return [Trial] of values of C on a run.Run, each trained from the weights of the previous one.

    None: 1 and a path, which ends after the best value.
    """
    trials, w = [], None
    for C in make_path(trained.session) if values is None else values:
        if values is None and has_passed_best(trials[1:]):
            break
        result = trained.train(C, w)
        w = result.w
        budget.spend(sum(trained.steps(result).values()) * stored_values(trained.problem.X))
        scores, weights = validation.evaluate_queries(w)
        candidate = Candidate(trained.settings.scale, C)
        trials.append(Trial(candidate, scores, candidate._asdict(), weights))
    return trials


def make_path(session):
    """Return values of C to try, 1 and then STEPS / the curvature; none if the features have no gradient.

    The curvature is g'A'A g / g'g along the gradient g at w = 0 in the features.
    """
    session.move(np.zeros(session.n))
    gradient = session.walk(np.zeros(session.n), 1.0)[:-1]
    square = float(gradient @ gradient)
    curvature = float(session.walk(gradient, 0.0)[-1]) / square if square else 0.0
    return [1.0, *(STEPS / curvature).tolist()] if curvature else []


def make_choice(finalists, trials, metric, n_queries, held_out):
    """Return the Choice between the simplest and the best of finalists; trials: all that are reported.

    On a validation set the best is chosen.
    """
    best = best_of(finalists)
    chosen = best if held_out == "validation" else simplest_of(list_finalists(finalists))
    gain, error = best.gain(finalists[0])
    facts = {
        "C": chosen.candidate.C,
        "scale": chosen.candidate.scale,
        "metric": metric.name,
        metric.name: chosen.mean,
        f"usual_{metric.name}": finalists[0].mean,
        "gain": gain,
        "error": error,
        "queries": n_queries,
        "held_out": held_out,
    }
    return Choice(facts, [{**trial.row, metric.name: trial.mean} for trial in trials], 0.0)
