"""The method 'smoothness': its graph, conjugate gradients for given weights, and a search for the weights."""

from typing import NamedTuple

import numpy as np

from gpukit._pool import map_row_blocks, parallel_map
from gpukit.device.engine import engine
from gpukit.graphs.adjacency import normalized_laplacian
from gpukit.imputation import constants, scans
from gpukit.imputation.auto import masking as hiding
from gpukit.imputation.constants import BLOCK_NUMBERS, PRIOR_CHANGES, THREADS
from gpukit.imputation.periods import lags_of, row_means
from gpukit.imputation.problem import FEWEST_WINDOW, SEVERAL_IN_ORDER, Method, several_in_order
from gpukit.model_selection.search import Search
from gpukit.model_selection.trial import Budget, Trial

PACKAGE, BLOCKS = "gpukit.imputation.smoothness", 2 * constants.BLOCKS
FACTORS = (4.0, 2.0)  # of the weights, for each round of the search; ablated
MOST_TRIALS = 40  # of the weights; chosen
STARTS = (0.001, 0.03, 0.2), (0.1, 0.003, 0.1)  # (a, b, c) of the search, for gaps and for unobserved vertices


class Weights(NamedTuple):
    """Weights of the objective.

    near (a): on the graph; steady (b): from column to column; together (c): of changes; repeats: s of each further lag,
    (lags,).
    """

    near: float
    steady: float
    together: float
    repeats: tuple


class Observed(NamedTuple):
    """Observed values of a table and its graph.

    values (N, T) float32, 0 where missing; seen (N, T) bool; gaps (T,) float32, lags (K,) int32 (kernels.differ);
    edges: first (N + 1,) int32, neighbors (E,) int32, weights (E,) float32, the rows of the graph's Laplacian; own (N,)
    float32: its diagonal.
    """

    values: np.ndarray
    seen: np.ndarray
    gaps: np.ndarray
    lags: np.ndarray
    edges: tuple
    own: np.ndarray


def observed_of(problem, rest):
    """Return the Observed of a problem; rest (N, T) float32: its values, 0 where missing."""
    L, gaps = laplacian_of(problem.adjacency, rest, problem.seen), np.diff(problem.at)
    near = np.append(np.median(gaps) / gaps if len(gaps) else gaps, 0.0).astype(np.float32)
    lags = np.array([1, *lags_of(problem)], np.int32)
    edges = L.indptr.astype(np.int32), L.indices.astype(np.int32), L.data.astype(np.float32)
    return Observed(rest, problem.seen, near, lags, edges, L.diagonal().astype(np.float32))


class ConjugateGradients:
    """Conjugate gradients on a device (device.Device): an Observed, and a solution x, start (N, T) at first.

    The products `own` and `image` and the scaled residual have one array: each is used up when the next one is written.
    """

    def __init__(self, device, observed, start):
        self.observed, self.steps, self.run = observed, engine(device, PACKAGE), runner_of(device)
        shape, copied = observed.values.shape, (observed.gaps, observed.lags, *observed.edges)
        self.gaps, self.lags, *self.edges = (self.steps.resident(part, part.dtype) for part in copied)
        self.seen = self.steps.resident(observed.seen, np.bool_)
        self.values = self.steps.resident(observed.values, np.float32)
        self.x = self.steps.owned(self.steps.resident(start, np.float32))
        self.direction, self.shared, self.own, self.residual = (self.steps.empty(shape, np.float32) for _ in range(4))
        self.sums = self.steps.empty(BLOCKS if device.is_cuda else min(BLOCKS, len(start)), np.float64)

    def set_weights(self, weights):
        """Set Weights. Return the square of the length of the scaled values.

        The direction becomes the solution and the residual the values.
        """
        self.weights = laws(weights)
        inverse = diagonal(self.observed, *self.weights)
        np.divide(np.float32(1.0), inverse, out=inverse)
        size = float(np.vdot(self.observed.values * inverse, self.observed.values).real)
        self.inverse = self.steps.resident(inverse, np.float32)
        self.steps.copy(self.direction, self.x)
        if self.residual is not self.values:
            self.steps.copy(self.residual, self.values)
        self.law = self.weights[0], *(self.steps.resident(part, np.float32) for part in self.weights[1:])
        parts = self.direction, self.own, self.inverse, self.x, self.residual, self.own
        self.flat = [part.ravel() for part in parts]
        return size

    def begin(self):
        """Compute the residual of the solution, by a step of length 1 that changes another array than x.

        Return residual . scaled residual.
        """
        self.start_product()
        self.start_step(1.0, self.shared.ravel())
        return self.sum()

    def start_product(self):
        """Compute the direction's product, and the parts of direction . product."""
        self.run("differ", self.direction, self.seen, self.gaps, self.lags, *self.law, self.shared, self.own)
        self.run("spread", self.shared, self.own, *self.edges, self.direction, self.own, self.sums)

    def start_step(self, length, x=None):
        """Run a step of a length of x, by default the solution; compute the parts of residual . scaled residual."""
        direction, image, inverse, solution, *rest = self.flat
        x = solution if x is None else x
        self.run("advance", np.float32(length), direction, image, inverse, x, *rest, self.sums)

    def sum(self):
        """Return the sum of the parts."""
        return float(self.steps.fetch(self.sums).sum())

    def redirect(self, share):
        """Compute the next direction: the scaled residual plus a share of the last one."""
        self.run("redirect", np.float32(share), self.flat[-1], self.flat[0])

    def solution(self):
        """Return (N, T) float32 on the host, which the next step may change."""
        return self.steps.fetch(self.x)


def runner_of(device):
    """Return run(name, *arguments) of a kernel in a grid of BLOCKS, on which its sums depend, or of its twin."""
    if not device.is_cuda:
        return engine(device, PACKAGE).run
    from gpukit._driver import launch
    from gpukit.imputation.smoothness import kernels

    return lambda name, *arguments: launch(getattr(kernels, name), BLOCKS, THREADS, *arguments)


def solve(solver, weights, tolerance, steps=None):
    """Solve from the solver's last solution for weights (Weights); return the number of steps, at most `steps` or 200.

    tolerance: of the length of the scaled residual, relative to its start.
    """
    steps = steps or 200
    goal = tolerance**2 * solver.set_weights(weights)
    size = solver.begin()
    solver.redirect(0.0)
    for step in range(steps):
        if size <= goal:
            return step
        solver.start_product()
        last, curve = size, solver.sum()
        if curve <= 0.0:
            return step
        solver.start_step(last / curve)
        size = solver.sum()
        solver.redirect(size / last)
    return steps


def laws(weights):
    """Return (a, b_k, c_k) in the form of kernels.differ."""
    scale = np.array([1.0, *weights.repeats])
    return (
        np.float32(weights.near),
        (weights.steady * scale).astype(np.float32),
        (weights.together * scale).astype(np.float32),
    )


def diagonal(observed, near, steady, together):
    """Return (N, T) float32: the diagonal of the product, above 0."""
    count = observed.values.shape[1]
    degree = np.zeros((len(observed.lags), count), np.float32)
    degree[0] = observed.gaps
    degree[0, 1:] += observed.gaps[:-1]
    for number, lag in enumerate(observed.lags[1:], 1):
        degree[number, lag:] += 1.0
        degree[number, :-lag] += 1.0
    own, shared, out = steady @ degree, near + together @ degree, np.empty(observed.values.shape, np.float32)

    def fill_rows(rows):
        out[rows] = np.maximum(observed.seen[rows] + observed.own[rows, None] * shared + own, 1e-20)

    map_row_blocks(fill_rows, out.shape)
    return out


def laplacian_of(adjacency, values, seen):
    """Return csr (N, N) float64: the normalized Laplacian of a graph with weights times the similarity of their ends.

    values (N, T), seen (N, T) bool.
    """
    from scipy import sparse

    edges = sparse.coo_array(adjacency)
    half = edges.row < edges.col
    row, column = edges.row[half], edges.col[half]
    changes = 1 << 24  # of all edges, for the similarity
    block = slice(0, max(FEWEST_WINDOW, changes // max(1, len(row))))
    weights = edges.data[half] * likeness(values[:, block], seen[:, block], row, column)
    both = np.r_[weights, weights], (np.r_[row, column], np.r_[column, row])
    return normalized_laplacian(sparse.csr_array(both, shape=edges.shape))


def likeness(values, seen, row, column):
    """Return (E,) above 0: the squared positive correlation of column-to-column changes of vertex pairs.

    Pairs with few common changes are shrunk to the mean of all pairs.
    """
    count, product = np.zeros(len(row)), np.zeros((3, len(row)))
    each = max(1, BLOCK_NUMBERS // max(1, values.shape[1] - 1))

    def correlate_changes(first):
        block = slice(first, first + each)
        is_known = seen[row[block]] & seen[column[block]]
        both = (is_known[:, 1:] & is_known[:, :-1]).astype(np.float32)
        one, other = (np.diff(values[ends[block]], axis=1).astype(np.float32) for ends in (row, column))
        count[block] = both.sum(axis=1)
        for number, pair in enumerate(((one, other), (one, one), (other, other))):
            product[number, block] = np.einsum("ij,ij,ij->i", *pair, both)

    parallel_map(correlate_changes, range(0, len(row), each))
    size = product[1] * product[2]
    squares = np.where(size > 0.0, np.maximum(product[0], 0.0) ** 2 / np.where(size > 0.0, size, 1.0), 0.0)
    usual = float(count @ squares / count.sum()) if count.any() else 1.0
    return (count * squares + PRIOR_CHANGES * max(usual, 1e-3)) / (count + PRIOR_CHANGES)


class Work(NamedTuple):
    """A problem on a device: solver, in units; level (1, T) and unit (N, 1) of its values."""

    solver: ConjugateGradients
    level: np.ndarray
    unit: np.ndarray

    def at(self, vertex, column):
        """Return (values,) float64: the solution at some places in the problem's units."""
        return self.level[0, column] + self.unit[vertex, 0] * self.solver.solution()[vertex, column].astype(np.float64)


def start_work(problem):
    """Return the Work of a problem, starting from interpolation."""
    level, shape = level_of(problem), problem.values.shape
    rest = np.empty(shape, np.float32)

    def centre(rows):
        return np.where(problem.seen[rows], problem.values[rows] - level, 0.0)

    size = max(map_row_blocks(lambda rows: float(np.abs(centre(rows)).max()), shape)) or 1.0
    map_row_blocks(lambda rows: np.divide(centre(rows), size, out=rest[rows], casting="same_kind"), shape)
    unit = units(rest, problem.seen)
    rest /= unit
    unit, observed = size * unit.astype(np.float64), observed_of(problem, rest)
    start = interpolation_in_units(problem, level, unit)
    return Work(ConjugateGradients(problem.place.device, observed, start), level, unit)


def interpolation_in_units(problem, level, unit):
    """Return (N, T) float32: the values interpolated in time, in units; 0 for rows without values."""
    start = np.empty(problem.values.shape, np.float32)

    def fill_rows(rows):
        line = scans.line(problem.at, problem.values[rows], problem.seen[rows])
        start[rows] = np.nan_to_num(((line - level) / unit[rows]).astype(np.float32))

    map_row_blocks(fill_rows, start.shape)
    return start


def level_of(problem):
    """Return (1, T): the overall mean plus each column's mean deviation from the vertices' means.

    Columns without observations are interpolated.
    """
    values, seen = problem.values, problem.seen
    count = seen.sum(axis=0)
    means = row_means(values, seen)[:, 0]
    sums = sum(map_row_blocks(lambda rows: means[rows] @ seen[rows].astype(np.float64), seen.shape))
    centre = (values.sum(axis=0) - sums) / np.maximum(count, 1)
    has_values = count > 0
    centre = np.interp(problem.at, problem.at[has_values], centre[has_values])
    return (values.sum() / max(1, seen.sum()) + centre)[None]


def units(rest, seen):
    """Return (N, 1) float32 above 0: each vertex's usual change between columns, shrunk to that of all.

    rest (N, T) float32, seen (N, T).
    """

    def count_changes(rows):
        is_present = seen[rows, 1:] & seen[rows, :-1]
        change = np.diff(rest[rows], axis=1)
        change *= is_present
        return np.einsum("ij,ij->i", change, change).astype(np.float64), is_present.sum(axis=1)

    squares, count = (np.concatenate(part) for part in zip(*map_row_blocks(count_changes, rest.shape)))
    usual = squares.sum() / max(1, count.sum()) or 1.0
    return np.sqrt((squares + PRIOR_CHANGES * usual) / (count + PRIOR_CHANGES))[:, None].astype(np.float32)


def search_weights(problem):
    """Return the Weights with the least error on hidden values of a problem."""
    numbers = 1 << 17  # of a fold
    whole = problem.window(numbers).patches(numbers)
    folds = hiding.folds_of(whole, problem.options.seed + 1)[: max(1, 2 * numbers // whole.values.size)]
    lags = len(lags_of(problem))
    starts = [Weights(*start, (0.0,) * lags) for start in STARTS]
    if not folds:
        return starts[0]
    search = start_search(whole, folds)
    search.run_all(starts)
    for index in range(len(lags_of(whole))):
        best = search.best.candidate
        search.run_all([best._replace(repeats=replace_at(best.repeats, index, s)) for s in (0.1, 0.01)])
    best = search.best
    for factor in FACTORS:
        best = descend(search, best, ("near", "steady", "together", *range(lags)), factor)
    return best.candidate


def descend(search, best, fields, factor):
    """Return the best Trial of steps along each axis, repeated as long as one is better."""
    gain, start = 0.999, None  # relative error that a step must reach: smaller gains take long
    while best is not start and not search.budget.is_spent:
        start = best
        for field in fields:
            for step in (factor, 1.0 / factor):
                trial = search.run(scale_weight(field, best.candidate, step))
                if trial.mean > gain * best.mean:
                    best = trial
                    break
    return best


def start_search(problem, folds):
    """Return a Search of Weights on masking.Hidden folds; the solver of a fold starts from its last solution."""
    parts = [
        (np.nonzero(hidden.values), problem.values[hidden.values], start_work(problem.without(hidden.lost)))
        for hidden in folds
    ]
    budget = Budget(MOST_TRIALS)

    def evaluate(weights):
        budget.spend(1)
        sizes = []
        for places, truth, work in parts:
            lags = len(work.solver.observed.lags) - 1  # of the window
            solve(work.solver, weights._replace(repeats=weights.repeats[:lags]), tolerance=7e-4)
            sizes.append(np.abs(work.at(*places) - truth))
        sizes = np.concatenate(sizes)
        return Trial(weights, -(sizes if problem.options.metric == "absolute" else np.square(sizes)), {})

    return Search([evaluate], budget=budget)


def replace_at(values, times, value):
    """Return a tuple with another value at a position."""
    return (*values[:times], value, *values[times + 1 :])


def scale_weight(field, weights, factor):
    """Return Weights with one weight, a name or the number of a lag, multiplied by a factor."""
    if isinstance(field, str):
        return weights._replace(**{field: factor * getattr(weights, field)})
    return weights._replace(repeats=replace_at(weights.repeats, field, factor * weights.repeats[field]))


def settings(problem):
    """Return the weights with the least error on hidden values."""
    result = search_weights(problem)._asdict()
    return [result | {"repeats": list(result["repeats"])}]


def fill(problem, setting):
    """Return (N, T): the minimum for the setting's weights."""
    work = start_work(problem)
    lags = len(lags_of(problem))  # longer series may have more lags than the fitted ones
    repeats = (*setting["repeats"], *[0.0] * lags)[:lags]
    work.solver.residual = work.solver.values  # this is its only solution
    solve(work.solver, Weights(**{**setting, "repeats": repeats}), tolerance=2e-4)
    solution, level, unit, out = work.solver.solution(), work.level, work.unit, np.empty(problem.values.shape)
    del work  # the solver's arrays

    def fill_rows(rows):
        out[rows] = level + unit[rows] * solution[rows].astype(np.float64)

    map_row_blocks(fill_rows, out.shape)
    return out


METHOD = Method("smoothness", several_in_order, settings, fill, ordered=True, needs=SEVERAL_IN_ORDER)
