"""Choice of C, and of the scale and features 'auto', on queries held out of the training set.

The candidates are paths of C, with unchanged features and with features of deviation 1. The simplest is C = 1 with
unchanged features. They are trained on four fifths of the queries and evaluated by the pairs (or another metric) of the
last fifth. Each fifth is held out once. As soon as a Budget is spent, only the simplest and the best candidate are
evaluated on the others, so that choosing costs less than ten trainings on a large set. The best is chosen if it is
better by more than one standard error. All is computed on the CPU, so that the choice is the same on every device.

With a validation set the paths are trained on the whole training set, and the best there is chosen.

Without one, features 'auto' are linear, unless the best candidate with a feature map is better than the linear choice
by more than one standard error.
"""

import contextlib
import warnings
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError
from gpukit.model_selection.splits import choose_users, hash_floats, hash_groups, hash_rows, renumber
from gpukit.model_selection.trial import Budget, Trial, best_of, has_passed_best, list_finalists, simplest_of
from gpukit.ranking import run
from gpukit.ranking.inputs import Inputs, Queries
from gpukit.ranking.path import RankingMetric, ValidationSet
from gpukit.ranking.solvers import choose
from gpukit.ranking.solvers.choose import stored_values
from gpukit.timing import work_clock

FOLDS = 5
MOST = 1_000_000  # stored features of a sample
PAIRS = RankingMetric("pa")
SCALES = ("none", "deviation")  # candidates for the scale "auto"
FEATURES = ("linear", "thresholds", "fourier")  # candidates for the features "auto"
STEPS = 16.0 ** np.arange(-1, 7)  # C, in units of 1 / the curvature along the gradient at w = 0
WORK = 2e7  # Budget for the evaluation of all candidates: stored features times passes over them
TRIAL = {"eps": 1e-2, "max_iter": 50, "loose": True}  # settings of all trainings


class Sample(NamedTuple):
    """Documents in the order of queries: X (l, n), y (l,), query (l,) ascending, weight (l,) of the query.

    own (l,): weights of the documents, or None.
    """

    X: object
    y: np.ndarray
    query: np.ndarray
    weight: np.ndarray
    own: np.ndarray | None = None

    @property
    def starts(self):
        """The first document of each query, (m,)."""
        return np.flatnonzero(np.diff(self.query, prepend=-1))

    @property
    def inputs(self):
        """These documents as inputs.Inputs."""
        starts = self.starts
        queries = Queries(None, np.append(starts, len(self.y)), None)
        return Inputs(self.X, self.y, queries, None, self.own, self.weight[starts])

    @property
    def unit(self):
        """The parts that are held out: "queries" or, if these are few, "documents"."""
        few = 10  # queries below which documents are held out instead
        return "queries" if len(self.starts) >= few else "documents"

    def part(self, rows):
        """Return the Sample of the documents `rows`."""
        return Sample(*(None if array is None else array[rows] for array in self))

    def has_pairs(self):
        """Return True if a query with a weight has two levels."""
        weights = self.weight if self.own is None else np.bincount(self.query, self.own)[self.query]
        return bool(((np.diff(self.y) != 0) & (np.diff(self.query) == 0) & (weights[1:] > 0)).any())


def draw_sample(inputs):
    """Return the Sample of the queries of inputs.Inputs that have pairs, or None.

    It has at most MOST stored features: some of the queries or, if these are too few, some documents of all.
    Queries and their documents are in the order of their keys.
    """
    enough = 50  # queries of a sample of whole queries; for fewer, documents are sampled
    X, y, own, offsets = inputs.X, inputs.y, inputs.weights, inputs.queries.offsets
    # by levels, because other labels in the same order are the same problem
    lengths, keys = np.diff(offsets), hash_rows(X) ^ hash_floats(np.searchsorted(np.unique(y), y))
    keys = keys if own is None or (own == 1).all() else keys ^ hash_floats(own)  # weights of 1 are none
    weights = np.ones(len(lengths)) if inputs.query_weights is None else inputs.query_weights
    query, query_keys = np.repeat(np.arange(len(lengths)), lengths), hash_groups(keys, offsets)
    query_keys ^= hash_floats(weights)
    paired = np.unique(query[1:][(np.diff(y) != 0) & (np.diff(query) == 0)])
    paired = paired[weights[paired] > 0]
    rows = np.flatnonzero(np.isin(query, paired))
    limit = MOST * len(y) // max(stored_values(X), 1)
    whole = choose_users(query[rows], query_keys, limit, least=0)
    if np.count_nonzero(whole) >= min(enough, len(paired)):
        rows = rows[whole[query[rows]]]
    else:
        rows = rows[keys[rows] < np.partition(keys[rows], limit)[limit]]  # equal documents together
    if not len(rows):
        return None
    numbers, _ = renumber(query[rows], query_keys)
    order = np.lexsort((keys[rows], numbers))
    rows = rows[order]
    return Sample(X[rows], y[rows], numbers[order], weights[query[rows]], None if own is None else own[rows])


def split_folds(sample):
    """Return [(Sample for training, Sample for evaluation)] of those FOLDS folds with pairs on both sides."""
    fold = (sample.query if sample.unit == "queries" else np.arange(len(sample.y))) % FOLDS
    folds = [(sample.part(np.flatnonzero(fold != k)), sample.part(np.flatnonzero(fold == k))) for k in range(FOLDS)]
    return [(train, held_out) for train, held_out in folds if train.has_pairs() and held_out.has_pairs()]


class Choice(NamedTuple):
    """The choice: RankSVM.chosen_ and trials_, and its seconds."""

    facts: dict
    trials: list
    seconds: float


class Candidate(NamedTuple):
    """Features, their scale, and C."""

    features: str
    scale: str
    C: float


class Search(NamedTuple):
    """Trials of one kind of features: the finalists, which have all held-out units, and all of them."""

    finalists: list
    trials: list


def choose_settings(inputs, settings, team, is_open=True, validation=None, metric=PAIRS):
    """Return estimator.Settings with "auto" replaced by choices for inputs.Inputs.

    C is 1 if is_open is False or nothing can be held out; the scale "auto" is then "none", as for an
    explicit C. All ranks of the team get the choice of rank 0. validation: path.ValidationSet
    or None; metric: path.RankingMetric.
    """
    first = settings._replace(features=list_features(settings)[0])
    simplest = first._replace(C=1.0 if settings.C == "auto" else settings.C, scale=list_scales(first)[0])
    if not is_open or settings.C != "auto":
        return simplest
    choice, start = None, work_clock()
    if not team.rank:
        search = settings._replace(C=1.0, **TRIAL)
        if validation is not None:
            choice = choose_on_validation(inputs, search, validation)
        else:
            choice = choose_on_folds(inputs, search, metric)
    fields = team.broadcast_json(choice and choice._replace(seconds=work_clock() - start))
    if fields is None:
        return simplest
    choice = Choice(*fields)
    return simplest._replace(**{name: choice.facts[name] for name in Candidate._fields}, chosen=choice)


def list_features(settings):
    """Return the candidates for the features, the simplest first."""
    if settings.features != "auto":
        return (settings.features,)
    return ("linear",) if choose.is_cuda(settings.device) and not choose.has_cupy() else FEATURES


def list_scales(settings):
    """Return the candidates for the scale, the simplest first."""
    if settings.scale != "auto":
        return (settings.scale,)
    return SCALES if settings.features == "linear" else ("deviation",)


def choose_validation(eval_sets, metric):
    """Return the path.ValidationSet on which C is chosen: of the last inputs.Inputs.

    None if there is none, or, with a warning, if its labels do not define the metric.
    """
    if not eval_sets:
        return None
    try:
        return ValidationSet(eval_sets[-1], metric).check_defined()
    except DataError as error:
        warnings.warn(f"C is chosen on parts of the training set, not on the last eval set. {error}", stacklevel=4)


def choose_on_validation(inputs, settings, validation):
    """Return the Choice of candidates trained on all of inputs.Inputs; None if there are none."""
    searches = [
        search_folds([(inputs, validation)], settings._replace(features=kind)) for kind in list_features(settings)
    ]
    queries = len(validation.offsets) - 1
    return make_choice(searches, validation.metric, queries, "validation") if searches[0].finalists else None


def choose_on_folds(inputs, settings, metric):
    """Return the Choice of candidates trained on folds of a sample; None if there are none or nothing is held out."""
    check_metric(metric, [(inputs.y, inputs.queries.offsets)])
    sample = draw_sample(inputs)
    if sample is None:
        return None
    settings, searches = settings._replace(solver="auto", device="cpu"), []
    folds = [(train.inputs, ValidationSet(held_out.inputs, metric)) for train, held_out in split_folds(sample)]
    check_metric(metric, [(held_out.y, held_out.offsets) for _, held_out in folds], f" on held-out {sample.unit}")
    for kind in list_features(settings):
        # with more features than documents, eigenvectors cost more than the steps they save
        full = settings.precondition and (kind != "linear" or sample.X.shape[1] <= len(sample.y))
        rival = choose_trial(searches, "folds") if searches else None
        searches.append(search_folds(folds, settings._replace(features=kind, precondition=full), rival))
        if not searches[0].finalists:
            return None
    return make_choice(searches, metric, len(sample.starts), sample.unit)


def search_folds(folds, settings, rival=None):
    """Return the Search of one kind of features on folds [(Inputs, path.ValidationSet)].

    It ends without finalists as soon as the best is not better than the Trial `rival` on the folds so far.
    """
    map_work = 2e8  # WORK for the candidates of a feature map, in expanded features
    trials, finalists, paths = {}, [], dict.fromkeys(list_scales(settings))
    budget = Budget(WORK if settings.features == "linear" else map_work)
    for inputs, validation in folds:
        results = try_paths(inputs, settings, paths, validation, budget)
        if not results:
            return Search([], list(trials.values()))
        finalists = [trials[trial.candidate].extend(trial) if trials else trial for trial in results]
        trials |= {trial.candidate: trial for trial in finalists}
        if rival is not None and is_behind(best_of(finalists), rival):
            return Search([], list(trials.values()))
        if budget.is_spent:
            finalists = list_finalists(finalists)
        by_scale = groupby((trial.candidate for trial in finalists), attrgetter("scale"))
        paths = {scale: [candidate.C for candidate in candidates] for scale, candidates in by_scale}
    return Search(finalists, list(trials.values()))


def is_behind(trial, rival):
    """Return True if a Trial is not better than the first units of another one."""
    units = len(trial.scores)
    return trial.mean <= rival._replace(scores=rival.scores[:units], weights=rival.weights[:units]).mean


def check_metric(metric, sets, where=""):
    """Raise DataError if no set of (labels, offsets) defines the metric for choosing C; pairs are checked later."""
    reasons = [metric.explain_undefined(y, offsets) for y, offsets in sets]
    if reasons and all(reasons) and not metric.name.startswith("pa"):
        other = "another metric" + (", or give a validation set" if where else "")
        raise DataError(f"C cannot be chosen by {metric.name}{where}: {reasons[0]}. Choose {other}.")


def try_paths(inputs, settings, paths, validation, budget):
    """Return [Trial] of candidates trained on inputs.Inputs, without scales whose products overflow.

    paths: {scale: values of C, or None for a path from the data}; validation: path.ValidationSet; budget: the
    Budget that trainings spend.
    """
    trials = []
    for scale, values in paths.items():
        with contextlib.suppress(DataError), np.errstate(over="ignore", invalid="ignore"):
            trained = run.Run(inputs, settings._replace(scale=scale))
            validation.scale_like(trained)
            trials += try_path(trained, values, validation, budget)
    return trials


def try_path(trained, values, validation, budget):
    """Return [Trial] of values of C on a run.Run, each trained from the weights of the previous one.

    None: a path, which ends after the best value. Without a map, 1 comes first. With one, large C take many steps: the
    path also ends after a value of many steps, or if the budget is spent and a value is not better for certain.
    """
    most = 100  # Newton and CG steps of a value of C with a feature map, after which no larger one is tried
    trials, w, steps, first = [], None, 0, 0 if trained.map else 1
    for C in make_path(trained.session)[1 - first :] if values is None else values:
        is_flat = trained.map and len(trials) > 1 and not trials[-1].is_better(best_of(trials[:-1]))
        is_costly = trained.map and steps > most or is_flat and budget.is_spent
        if values is None and (has_passed_best(trials[first:]) or is_costly):
            break
        result = trained.train(C, w)
        w = result.w
        steps = sum(trained.steps(result).values())
        budget.spend(steps * stored_values(trained.problem.X))
        scores, weights = validation.evaluate_queries(w)
        candidate = Candidate(trained.settings.features, trained.settings.scale, C)
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


def choose_trial(searches, held_out):
    """Return the Trial that is chosen of [Search], the simplest features first.

    On a validation set it is the best. Else it is the simplest one of the first Search that is not worse, or the best
    of the others if it is better by more than one standard error.
    """
    rivals = [best_of(search.finalists) for search in searches if search.finalists]
    if held_out == "validation":
        return best_of(rivals)
    chosen = simplest_of(list_finalists(searches[0].finalists))
    return best_of([chosen, *(trial for trial in rivals[1:] if trial.is_better(chosen))])


def make_choice(winner, metric, n_queries, held_out):
    """Return the Choice of [Search], the simplest features first; gain and error are those over the first candidate.

    One held-out unit has no standard error: None.
    """
    usual, chosen = winner[0].finalists[0], choose_trial(winner, held_out)
    best = max((best_of(search.finalists) for search in winner if search.finalists), key=lambda trial: trial.mean)
    gain, error = best.gain(usual)
    facts = {
        **chosen.candidate._asdict(),
        "metric": metric.name,
        metric.name: chosen.mean,
        f"usual_{metric.name}": usual.mean,
        "gain": gain,
        "error": error if np.count_nonzero(usual.shares) > 1 else None,
        "queries": n_queries,
        "held_out": held_out,
    }
    trials = [trial for search in winner for trial in search.trials]
    return Choice(facts, [{**trial.row, metric.name: trial.mean} for trial in trials], 0.0)
