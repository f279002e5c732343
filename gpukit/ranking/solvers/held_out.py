"""C and the scale of features where they are left open: chosen on queries held out of the training set.

C = 1 with features as they are is where it begins. Paths of C, with features as they are and brought to deviation 1,
are trained on four fifths of the queries and judged by the pairs of the last fifth, each fifth in turn; the best of all
is taken if it is better by more than a standard error of the difference. It is
done on the CPU, so that the choice is the same everywhere.
"""

import json
from typing import NamedTuple

import numpy as np

from gpukit.base.arrays import Resident
from gpukit.errors import DataError
from gpukit.evaluation.ranking import pair_counts
from gpukit.ranking import run, serve
from gpukit.ranking.inputs import Inputs, Queries, query_weights
from gpukit.ranking.solvers.choose import stored_values
from gpukit.streams import Numpy
from gpukit.timing import work_clock

AUTO, USUAL = "auto", 1.0
OPEN = ("none", "deviation")  # scales that are tried where the scale is left open
FOLDS = 5
FEW = 10  # queries below which documents are held out instead
ENOUGH = 50  # queries that are drawn whole of a large set; of one with fewer documents are
MOST = 1_000_000  # stored features that a choice looks at
CERTAIN = 1.0  # standard errors from which on a gain is taken
STEPS = 16.0 ** np.arange(-1, 7)  # C, in units of 1 / the curvature along the gradient at w = 0
EPS, MOST_STEPS = 1e-3, 50
WIDE = 2  # documents a feature below which eigenvectors cost more than the steps they save


class Chosen(NamedTuple):
    """What was chosen: RankSVM.chosen_ and trials_, and how long it took."""

    facts: dict
    trials: list
    seconds: float


class Sample(NamedTuple):
    """Documents, query by query: X (l, n), y (l,), query (l,) rising, weight (l,) of the query."""

    X: object
    y: np.ndarray
    query: np.ndarray
    weight: np.ndarray

    @property
    def offsets(self):
        """(m + 1,) of its queries."""
        return np.append(np.flatnonzero(np.diff(self.query, prepend=-1)), len(self.query))

    def part(self, rows):
        """Sample of the documents `rows`."""
        return Sample(*(array[rows] for array in self))

    def has_pairs(self):
        """Whether a query has two levels."""
        return bool(((np.diff(self.y) != 0) & (np.diff(self.query) == 0)).any())

    def run(self, settings):
        """run.Run on these documents."""
        offsets = self.offsets
        return run.Run(Inputs(self.X, self.y, Queries(None, offsets, None), None), settings, self.weight[offsets[:-1]])


class Trial(NamedTuple):
    """scale, C; right (k,): the weight of the pairs of each held-out query that are in order, of equal scores half;
    pairs (k,): of all its pairs."""

    scale: str
    C: float
    right: np.ndarray
    pairs: np.ndarray

    @property
    def accuracy(self):
        """Pairwise accuracy on what was held out."""
        return float(self.right.sum() / self.pairs.sum())

    def gain(self, other):
        """(by how much it is more accurate than another Trial, the standard error of that over queries)."""
        more = self.right - other.right
        mean = more.sum() / self.pairs.sum()
        return float(mean), float(np.sqrt(((more - mean * self.pairs) ** 2).sum()) / self.pairs.sum())


def settled(inputs, settings, weights, group, team, choose=True):
    """estimator.Settings with nothing left open: what is "auto" is chosen for inputs.Inputs, what is named stays.

    C is the usual one where choose is False, X stays on a GPU, or nothing can be held out; an open scale is "none"
    then, and where C is named. weights, group, team: as run.Run takes them; all ranks have what rank 0 chooses.
    """
    usual = settings._replace(
        C=USUAL if settings.C == AUTO else settings.C, scale=OPEN[0] if settings.scale == AUTO else settings.scale
    )
    if not choose or settings.C != AUTO or isinstance(inputs.X, Resident):
        return usual
    scales = OPEN if settings.scale == AUTO else (settings.scale,)
    chosen = told(None if team.rank else chosen_of(drawn(inputs, weights, group), usual, scales), team)
    if chosen is None:
        return usual
    return usual._replace(C=chosen.facts["C"], scale=chosen.facts["scale"], chosen=chosen)


def told(chosen, team):
    """What rank 0 chose, on all ranks."""
    if team.size == 1:
        return chosen
    text = bytes(team.broadcast(np.frombuffer(json.dumps(chosen).encode(), np.uint8)))
    found = json.loads(text)
    return found and Chosen(*found)


def chosen_of(sample, settings, scales):
    """Chosen of some scales on a Sample, or None where nothing can be held out of it."""
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
        precondition=settings.precondition and narrow,
    )
    with np.errstate(over="ignore", invalid="ignore"):
        trials = [trial for kind in scales for trial in path(sample, folds, settings._replace(scale=kind))]
    return decided(trials, sample, work_clock() - begun) if trials else None


def drawn(inputs, weights, group):
    """Sample of the queries that have pairs, or None: all, or so many, or so many of their documents, that MOST
    features are stored.
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
    rows = np.flatnonzero(np.isin(query, paired) & (rng.random(len(y)) < share))
    if not len(rows):
        return None
    X = inputs.X[rows if queries.rows is None else queries.rows[rows]]
    return Sample(X, y[rows], query[rows], weights[query[rows]])


def folds_of(sample):
    """[(Sample that trains, Sample that judges)] of those FOLDS parts that have pairs on both sides."""
    rng = np.random.default_rng([1, Numpy.QUERY_JUDGES.start])
    number = np.cumsum(np.diff(sample.query, prepend=-1) != 0) - 1
    by_query = number[-1] + 1 >= FEW
    fold = (rng.permutation(number[-1] + 1) % FOLDS)[number] if by_query else rng.permutation(len(number)) % FOLDS
    pairs = [(sample.part(np.flatnonzero(fold != k)), sample.part(np.flatnonzero(fold == k))) for k in range(FOLDS)]
    return [(train, judge) for train, judge in pairs if train.has_pairs() and judge.has_pairs()]


def path(sample, folds, settings):
    """[Trial] of one scale: the usual C, then the path. None at all where the features are too large for products."""
    try:
        first = curvature(sample.run(settings._replace(precondition=False)).session)
        grid = [USUAL, *(STEPS / first).tolist()] if first else []
        judged = [judge(train.run(settings), held, grid) for train, held in folds]
    except DataError:
        return []
    return [Trial(settings.scale, C, *map(np.concatenate, zip(*rows))) for C, rows in zip(grid, zip(*judged))]


def curvature(session):
    """g'A'A g / g'g of the gradient g at w = 0 in the features; 0 where there is no gradient."""
    session.move(np.zeros(session.n))
    gradient = session.walk(np.zeros(session.n), 1.0)[:-1]
    square = float(gradient @ gradient)
    return float(session.walk(gradient, 0.0)[-1]) / square if square else 0.0


def judge(trained, held, grid):
    """[(right, pairs) of a Trial] for each C of a grid, each training from the last one's w."""
    offsets, found, w = held.offsets, [], None
    X, weight = trained.scaling.apply(held.X, offsets), held.weight[offsets[:-1]]
    for C in grid:
        w = trained.train(C, w).w
        pairs, right, tied = pair_counts(held.y, serve.finite(serve.product(X, w)), offsets).T
        found.append((weight * (right + 0.5 * tied), weight * pairs))
    return found


def decided(trials, sample, seconds):
    """Chosen: the most accurate of the trials, or the first where it is not better by more than chance."""
    best = max(trials, key=lambda trial: trial.accuracy)
    gain, error = best.gain(trials[0])
    if gain <= CERTAIN * error:
        best = trials[0]
    queries = len(sample.offsets) - 1
    facts = {
        "C": best.C,
        "scale": best.scale,
        "pa": best.accuracy,
        "usual_pa": trials[0].accuracy,
        "gain": gain,
        "error": error,
        "queries": queries,
        "held_out": "queries" if queries >= FEW else "documents",
    }
    return Chosen(facts, [{"scale": t.scale, "C": t.C, "pa": t.accuracy} for t in trials], seconds)
