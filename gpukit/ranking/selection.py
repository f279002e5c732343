"""Choice of C and of the scale 'auto' on queries held out of the training set.

The baseline is C = 1 with unchanged features. Paths of C, with unchanged features and with features of deviation 1, are
trained on four fifths of the queries and evaluated by the pairs (or another metric) of the last fifth. Each fifth is
held out once; with more than SMALL documents only C = 1 and the best of the first fifth are evaluated on the others, so
that choosing costs less than ten trainings. The best is chosen if it is better by more than one standard error of the
difference. All is computed on the CPU, so that the choice is the same on every device.

With a validation set the paths are trained on the whole training set, and the best there is chosen.
"""

import contextlib
import json
import warnings
from typing import NamedTuple

import numpy as np

from gpukit.base.arrays import Resident
from gpukit.errors import DataError
from gpukit.evaluation.ranking import evaluate, values_by_query
from gpukit.ranking import run, serve
from gpukit.ranking.inputs import Inputs, Queries, query_weights
from gpukit.ranking.path import Question, Validation, read_set
from gpukit.ranking.solvers.choose import stored_values
from gpukit.streams import Numpy
from gpukit.timing import work_clock

AUTO, USUAL = "auto", 1.0
OPEN = ("none", "deviation")  # scales to try for the scale "auto"
FOLDS = 5
FEW = 10  # queries below which documents are held out instead
ENOUGH = 50  # queries of a sample of whole queries; for fewer, documents are sampled
MOST = 1_000_000  # stored features for a choice
LONG = 10_000  # documents sampled from fewer queries than ENOUGH, which have millions of pairs
SMALL = 2_000  # documents up to which all trials are evaluated on all folds
CERTAIN = 1.0  # standard errors above which a gain is accepted
STEPS = 16.0 ** np.arange(-1, 7)  # C, in units of 1 / the curvature along the gradient at w = 0
EPS, MOST_STEPS = 1e-2, 50
WIDE = 2  # documents per feature below which eigenvectors cost more than the steps they save


class Chosen(NamedTuple):
    """The choice: RankSVM.chosen_ and trials_, and its seconds."""

    facts: dict
    trials: list
    seconds: float


class Sample(NamedTuple):
    """Documents in the order of queries: X (l, n), y (l,), query (l,) ascending, weight (l,) of the query."""

    X: object
    y: np.ndarray
    query: np.ndarray
    weight: np.ndarray

    @property
    def offsets(self):
        """Offsets (m + 1,) of its queries."""
        return np.append(np.flatnonzero(np.diff(self.query, prepend=-1)), len(self.query))

    def part(self, rows):
        """Return the Sample of the documents `rows`."""
        return Sample(*(array[rows] for array in self))

    def has_pairs(self):
        """Return True if a query has two levels."""
        return bool(((np.diff(self.y) != 0) & (np.diff(self.query) == 0)).any())

    def run(self, settings):
        """Return the run.Run on these documents."""
        offsets = self.offsets
        return run.Run(Inputs(self.X, self.y, Queries(None, offsets, None), None), settings, self.weight[offsets[:-1]])


class Trial(NamedTuple):
    """Result of one scale and C.

    right (k,): the weight of the correctly ordered pairs of each held-out query, equal scores half; pairs (k,): of all
    its pairs. For a metric that is a mean over queries: the weighted value, the weight.
    """

    scale: str
    C: float
    right: np.ndarray
    pairs: np.ndarray

    @property
    def accuracy(self):
        """The metric (pairwise accuracy) on the held-out data."""
        return float(self.right.sum() / self.pairs.sum())

    def and_on(self, rows):
        """Return the Trial with further folds: rows of (right, pairs)."""
        return Trial(self.scale, self.C, *map(np.concatenate, zip((self.right, self.pairs), *rows)))

    def gain(self, other):
        """Return (the gain in accuracy over another Trial, its standard error over queries)."""
        more = self.right - other.right
        mean = more.sum() / self.pairs.sum()
        return float(mean), float(np.sqrt(((more - mean * self.pairs) ** 2).sum()) / self.pairs.sum())


def settled(inputs, settings, weights, group, team, choose=True, validation=None, question=None):
    """Return estimator.Settings with "auto" replaced by choices for inputs.Inputs.

    C is the usual one if choose is False, X stays on a GPU, or nothing can be held out; the scale "auto" is then
    "none", as for an explicit C. weights, group, team: as in run.Run; all ranks get the choice of rank 0. validation:
    path.Validation or None; question: path.Question with the metric.
    """
    question = question or Question("pa")
    usual = settings._replace(
        C=USUAL if settings.C == AUTO else settings.C, scale=OPEN[0] if settings.scale == AUTO else settings.scale
    )
    if not choose or settings.C != AUTO or isinstance(inputs.X, Resident):
        return usual
    scales = OPEN if settings.scale == AUTO else (settings.scale,)
    chosen = None
    if not team.rank and validation is not None:
        chosen = chosen_on(validation, inputs, usual, scales, weights, group)
    elif not team.rank:
        check_defined(inputs, question)
        chosen = chosen_of(drawn(inputs, weights, group), usual, scales, question)
    chosen = told(chosen, team)
    if chosen is None:
        return usual
    return usual._replace(C=chosen.facts["C"], scale=chosen.facts["scale"], chosen=chosen)


def check_defined(inputs, question):
    """Raise DataError if the labels do not define the metric for choosing C; pairs are checked later."""
    y = inputs.queries.ordered(inputs.y)
    reasons = evaluate(
        y, np.zeros(len(y)), inputs.queries.offsets, ndcg=question.ndcg, relevant=question.relevant
    ).reasons
    if not question.metric.startswith("pa") and question.metric in reasons:
        raise DataError(f"C cannot be chosen by {question.metric}: {reasons[question.metric]}. Choose another metric.")


def judge_of(validation, eval_sets, question):
    """Return the path.Validation on which C is chosen: of Documents or (X, y, qid), else of the last inputs.Inputs.

    None if there is none, or, with a warning, if the labels of the last do not define the metric.
    """
    if validation is not None:
        return Validation(read_set(validation), question).check_defined()
    if not eval_sets:
        return None
    try:
        return Validation(eval_sets[-1], question).check_defined()
    except DataError as error:
        warnings.warn(f"C is chosen on parts of the training set, not on the last eval set. {error}", stacklevel=4)


def told(chosen, team):
    """Return the choice of rank 0, on all ranks."""
    if team.size == 1:
        return chosen
    text = bytes(team.broadcast(np.frombuffer(json.dumps(chosen).encode(), np.uint8)))
    found = json.loads(text)
    return found and Chosen(*found)


def chosen_on(validation, inputs, settings, scales, weights, group):
    """Return Chosen of several scales, trained on all of inputs.Inputs and evaluated on a path.Validation.

    None if the features are too large for products with every scale.
    """
    begun, trials = work_clock(), []
    for scale in scales:
        with contextlib.suppress(DataError), np.errstate(over="ignore", invalid="ignore"):
            trained = run.Run(
                inputs, settings._replace(scale=scale, eps=EPS, max_iter=MOST_STEPS, loose=True), weights, group
            )
            trials += trials_on(validation, trained, scale)
    if not trials:
        return None
    finalists, queries = [trials[0], best_of(trials)], len(validation.offsets) - 1
    seconds = work_clock() - begun
    return decided(finalists, trials, queries, "validation", validation.question.metric, seconds)


def trials_on(validation, trained, scale):
    """Return [Trial] of one scale on a path.Validation, of a run.Run."""
    validation.stand_by(trained)
    trials, w = [], None
    for C in grid_of(curvature(trained.session)):
        w = trained.train(C, w).w
        values, counts = judged(validation.question, validation.y, validation.scores(w), validation.offsets)
        trials.append(Trial(scale, C, values * counts, counts))
    return trials


def grid_of(curvature):
    """Return the values of C to try, the usual one first."""
    return [USUAL, *(STEPS / curvature).tolist()] if curvature else [USUAL]


def chosen_of(sample, settings, scales, question=None):
    """Return Chosen of several scales on a Sample, or None if nothing can be held out."""
    question = question or Question("pa")
    begun = work_clock()
    folds = [] if sample is None else folds_of(sample)
    if not folds:
        return None
    narrow = WIDE * sample.X.shape[1] <= len(sample.y)
    settings = settings._replace(
        C=USUAL,
        solver="auto",
        device="cpu",
        eps=EPS,
        max_iter=MOST_STEPS,
        loose=True,
        precondition=settings.precondition and narrow,
    )
    with np.errstate(over="ignore", invalid="ignore"):
        first = folds if len(sample.y) <= SMALL else folds[:1]
        trials = [t for kind in scales for t in path(sample, first, settings._replace(scale=kind), question)]
        finalists = trials[:1] + [trial for trial in (best_of(trials),) if trial is not trials[0]] if trials else []
        if len(first) < len(folds):
            finalists = [further(trial, folds[1:], settings, question) for trial in finalists]
    if not trials:
        return None
    queries = len(sample.offsets) - 1
    part = "queries" if queries >= FEW else "documents"
    return decided(finalists, trials, queries, part, question.metric, work_clock() - begun)


def best_of(trials):
    """Return the first of the most accurate Trials, or None for an empty list."""
    return max(trials, key=lambda trial: trial.accuracy, default=None)


def further(trial, folds, settings, question):
    """Return a Trial evaluated on further folds."""
    settings = settings._replace(scale=trial.scale)
    return trial.and_on([judge(train.run(settings), held, [trial.C], question)[0] for train, held in folds])


def drawn(inputs, weights, group):
    """Return the Sample of the queries that have pairs, or None.

    It has all of them, or a random part of the queries or of their documents with MOST stored features.
    """
    queries, y = inputs.queries, inputs.queries.ordered(inputs.y)
    lengths = np.diff(queries.offsets)
    weights = query_weights(weights, queries, group)
    weights = np.ones(len(lengths)) if weights is None else weights
    query, rng = np.repeat(np.arange(len(lengths)), lengths), np.random.default_rng([0, Numpy.QUERY_JUDGES.start])
    paired = np.unique(query[1:][(np.diff(y) != 0) & (np.diff(query) == 0)])
    paired, share = paired[weights[paired] > 0], MOST / max(stored_values(inputs.X), 1)
    if share < 1 and share * len(paired) >= ENOUGH:
        paired, share = rng.permutation(paired)[: int(share * len(paired))], 1.0
    elif len(paired) < ENOUGH:
        share = min(share, LONG / max(lengths[paired].sum(), 1))
    rows = np.flatnonzero(np.isin(query, paired) & (rng.random(len(y)) < share))
    if not len(rows):
        return None
    X = inputs.X[rows if queries.rows is None else queries.rows[rows]]
    return Sample(X, y[rows], query[rows], weights[query[rows]])


def folds_of(sample):
    """Return [(Sample for training, Sample for evaluation)] of those FOLDS folds with pairs on both sides."""
    rng = np.random.default_rng([1, Numpy.QUERY_JUDGES.start])
    number = np.cumsum(np.diff(sample.query, prepend=-1) != 0) - 1
    by_query = number[-1] + 1 >= FEW
    fold = (rng.permutation(number[-1] + 1) % FOLDS)[number] if by_query else rng.permutation(len(number)) % FOLDS
    pairs = [(sample.part(np.flatnonzero(fold != k)), sample.part(np.flatnonzero(fold == k))) for k in range(FOLDS)]
    return [(train, judge) for train, judge in pairs if train.has_pairs() and judge.has_pairs()]


def path(sample, folds, settings, question):
    """Return [Trial] of one scale: the usual C, then the path; [] if the features are too large for products."""
    try:
        first = curvature(sample.run(settings._replace(precondition=False)).session)
        grid = grid_of(first) if first else []
        judged = [judge(train.run(settings), held, grid, question) for train, held in folds]
    except DataError:
        return []
    return [Trial(settings.scale, C, *map(np.concatenate, zip(*rows))) for C, rows in zip(grid, zip(*judged))]


def curvature(session):
    """Return g'A'A g / g'g of the gradient g at w = 0 in the features; 0 if the gradient is 0."""
    session.move(np.zeros(session.n))
    gradient = session.walk(np.zeros(session.n), 1.0)[:-1]
    square = float(gradient @ gradient)
    return float(session.walk(gradient, 0.0)[-1]) / square if square else 0.0


def judge(trained, held, grid, question):
    """Return [(right, pairs) of a Trial] for each C of a grid, each training from the previous w."""
    offsets, found, w = held.offsets, [], None
    X, weight = trained.scaling.apply(held.X, offsets), held.weight[offsets[:-1]]
    for C in grid:
        w = trained.train(C, w).w
        values, counts = judged(question, held.y, serve.finite(serve.product(X, w)), offsets)
        found.append((weight * counts * values, weight * counts))
    return found


def judged(question, y, scores, offsets):
    """Return `values_by_query` of a path.Question."""
    return values_by_query(question.metric, y, scores, offsets, question.ndcg, question.relevant)


def decided(finalists, trials, queries, part, metric, seconds):
    """Return Chosen of the most accurate finalist.

    Without a validation set, it is the first finalist unless another is significantly better.
    """
    best = best_of(finalists)
    gain, error = best.gain(finalists[0])
    if part != "validation" and gain <= CERTAIN * error:
        best = finalists[0]
    facts = {
        "C": best.C,
        "scale": best.scale,
        "metric": metric,
        metric: best.accuracy,
        f"usual_{metric}": finalists[0].accuracy,
        "gain": gain,
        "error": error,
        "queries": queries,
        "held_out": part,
    }
    return Chosen(facts, [{"scale": t.scale, "C": t.C, metric: t.accuracy} for t in trials], seconds)
