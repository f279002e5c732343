"""Signs of error: what a filled value's error grows with, told from the filled table, the graph and the mask."""

import numpy as np

from gpukit._pool import by_rows, shared_out
from gpukit.imputation import scans
from gpukit.imputation.baselines.nearest import heaviest
from gpukit.imputation.kriging import covariance as cov
from gpukit.imputation.problem import lonely

SIGNS = 9
NEAR = 10  # neighbours on the graph
LEAST = 0.02  # of the usual size of a sign: smaller ones count as that
PRIOR = 0.15  # columns of a usual departure, that each mean of departures counts too
USUAL = (3.0, 2.0, 0.03)  # rho, nu, tau of the variance that a vertex's place on the graph gives it
MOST = 3000  # vertices of which that is computed


def signs_of(problem, field, estimates, where):
    """(values, SIGNS) float64 of the entries where a mask (N, T) is True.

    field (N, T): the values and, where something is missing, what is filled in. estimates: [(N, T)] of the methods that
    are mixed. Logarithms of: how the neighbours differ in the column; how the estimates differ; how far the value is
    from the column's mean; how the series moves there; how rough the vertex is, or, where nothing of it is observed,
    its neighbours; kriging's variance of the vertex; how far the neighbours' values thereabouts are from the line
    between those beside them, and from what their own neighbours tell; and the value's rank among all, from -1 to 1.
    """
    W, mean, squares = stochastic(problem.adjacency), field.mean(axis=0), np.empty(field.shape)
    by_rows(lambda rows: np.square(field[rows] - mean, out=squares[rows]), field.shape)
    departed = departures(problem, field, W, float(np.sqrt(squares.max(initial=0.0))) or 1.0)
    counts = np.count_nonzero(where, axis=1)
    ends = np.r_[0, np.cumsum(counts)]
    sizes, moved = np.empty((SIGNS - 2, ends[-1])), np.empty(len(where))

    def told(rows):
        """Sizes of the entries of some rows, and their values; how much the rows move where something is observed."""
        some, here = where[rows], field[rows]
        near = W[rows] @ field
        apart = np.sqrt(np.maximum(W[rows] @ squares - np.square(near - mean), 0.0))
        spread = np.std([one[rows] for one in estimates], axis=0) if len(estimates) > 1 else np.abs(here - near)
        moves = np.abs(np.gradient(here, axis=1)) if here.shape[1] > 1 else np.zeros(here.shape)
        moved[rows] = np.where(problem.seen[rows], moves, 0.0).sum(axis=1)
        means = [around(W[rows], *pair) for pair in departed]
        parts = apart, spread, np.abs(here - mean), smoothed(moves), *means, here
        for place, part in zip(sizes, parts):
            place[ends[rows.start] : ends[rows.stop]] = part[some]

    by_rows(told, field.shape)
    of_vertices = [np.repeat(one, counts) for one in (roughness(problem, moved, W), place_variance(problem))]
    return logarithms([*sizes[:-1], *of_vertices], sizes[-1])


def departures(problem, field, W, size):
    """(2, 2, N, T) float32, [(sums, counts)], smoothed over columns that have an order, of what is observed: how
    far it is from the line between the columns beside it, and from what its neighbours tell, the usual difference taken
    off; in units of the mean of them. size: of the field, about."""
    thereabouts = smoothed if problem.ordered else np.asarray
    found = np.empty((2, 2, *field.shape), np.float32)

    def told(rows):
        here, seen = field[rows] / size, problem.seen[rows]
        line, odd = np.zeros(here.shape), here - W[rows] @ field / size
        line[:, 1:-1] = here[:, 1:-1] - 0.5 * (here[:, :-2] + here[:, 2:])
        between = np.zeros(seen.shape, bool)
        between[:, 1:-1] = seen[:, 1:-1] & seen[:, :-2] & seen[:, 2:]
        usual = np.where(seen, odd, 0.0).sum(axis=1, keepdims=True) / np.maximum(seen.sum(axis=1, keepdims=True), 1)
        parts = (np.where(between, np.abs(line), 0.0), between), (np.where(seen, np.abs(odd - usual), 0.0), seen)
        for place, part in zip(found.reshape(4, *field.shape), (part for pair in parts for part in pair)):
            place[rows] = thereabouts(part.astype(np.float32))

    by_rows(told, field.shape)
    for sums, counts in found:
        sums /= sums.sum(dtype=np.float64) / max(1.0, counts.sum(dtype=np.float64)) or 1.0
    return found


def around(W, sums, counts):
    """(n, T): the neighbours' mean departure, by rows W (n, N) of weights."""
    out = np.empty((W.shape[0], sums.shape[1]))
    scans.ratios(W.indptr, W.indices, W.data, sums, counts, PRIOR, out)
    return out


def logarithms(sizes, values):
    """(values, SIGNS) of columns: sizes' logarithms, and values' ranks; a thread each."""
    out = np.empty((len(values), SIGNS))

    def told(number):
        out[:, number] = ranks(values) if number == len(sizes) else logarithm(sizes[number])

    shared_out(told, reversed(range(SIGNS)))  # ranks take the longest
    return out


def logarithm(sizes):
    """log sizes, the smallest of them raised."""
    usual = float(np.mean(sizes)) if len(sizes) else 0.0
    return np.log(sizes + LEAST * usual) if usual > 0 else np.zeros(len(sizes))


def ranks(values):
    """Ranks of values, from -1 to 1."""
    order = np.empty(len(values), np.int64)
    order[np.argsort(values, kind="stable")] = np.arange(len(values))
    return 2.0 * (order + 0.5) / max(1, len(values)) - 1.0


def stochastic(adjacency):
    """csr (N, N): the weights of a vertex's nearest neighbours, adding up to 1."""
    from scipy import sparse

    W = heaviest(adjacency, NEAR)
    total = np.asarray(W.sum(axis=1)).ravel()
    return sparse.diags(1.0 / np.where(total > 0, total, 1.0)) @ W


def smoothed(moves):
    """The mean of five columns."""
    out = np.empty_like(moves)
    scans.smoothed(moves, out)
    return out


def roughness(problem, moved, W):
    """(N,): how much a vertex's series moves where it is observed, of moved (N,), the sums; its neighbours' mean where
    nothing of it is."""
    count = problem.seen.sum(axis=1)
    own = moved / np.maximum(count, 1)
    alive = (count > 0).astype(np.float64)
    weight = W @ alive
    near = np.where(weight > 0, (W @ (own * alive)) / np.where(weight > 0, weight, 1.0), own[count > 0].mean())
    return np.where(count > 0, own, near)


def place_variance(problem):
    """(N,): kriging's variance of vertices of which nothing is observed, from the graph alone; 1 elsewhere, and of
    vertices that are joined to none."""
    alive, out = problem.seen.any(axis=1), np.ones(len(problem.seen))
    if alive.all() or len(alive) > MOST:
        return out
    rho, nu, tau = USUAL
    K, seen = cov.covariance(problem.place.basis.laplacian, rho, nu), np.flatnonzero(alive)
    told = ~alive & ~lonely(problem)
    out[told] = cov.variance(K, cov.solved(K, seen, tau), seen, tau)[told]
    return out
