"""Features that predict the size of an error, from the filled table, the graph and the mask.

Beyond an end no later value bounds the error: it grows with the distance, like the change of a random walk with the
changes of the series.
"""

import numpy as np

from gpukit._pool import map_row_blocks, parallel_map
from gpukit.imputation import kriging as cov
from gpukit.imputation import scans
from gpukit.imputation.constants import KRIGING_VERTICES
from gpukit.imputation.problem import lonely
from gpukit.imputation.simple import heaviest

FEATURES = 9


def compute_features(problem, field, estimates, where):
    """Return (values, FEATURES) float64 of the entries where a mask (N, T) is True.

    field (N, T): observed values, and estimates of the others. estimates: [(N, T)] of the methods in the mean. The
    features are logarithms, except the last one:

    - disagreement of the neighbours in the column;
    - disagreement of the estimates;
    - distance from the mean of the column;
    - change of the series at the entry;
    - residual of the neighbours' values against linear interpolation near the gap;
    - residual of the neighbours' values against their own neighbours;
    - roughness of the vertex, or of its neighbours if it is not observed;
    - kriging variance of the vertex;
    - rank of the value among all, from -1 to 1.
    """
    W, mean, squared = neighbour_weights(problem.adjacency), field.mean(axis=0), np.empty(field.shape)
    map_row_blocks(lambda rows: np.square(field[rows] - mean, out=squared[rows]), field.shape)
    departure_pairs = departures(problem, field, W, float(np.sqrt(squared.max(initial=0.0))) or 1.0)
    narrow = W.astype(np.float32)  # products in float64 would copy whole tables for each block
    counts, prior = np.count_nonzero(where, axis=1), np.float32(0.15)  # columns of average departure in each mean
    ends = np.r_[0, np.cumsum(counts)]
    sizes, movement = np.empty((FEATURES - 2, ends[-1])), np.empty(len(where))

    def fill_rows(rows):
        """Compute features of the entries of a block of rows, and the movement of the rows."""
        mask, block = where[rows], field[rows]
        neighbours = W[rows] @ field
        disagreement = np.sqrt(np.maximum(W[rows] @ squared - np.square(neighbours - mean), 0.0))
        spread = (
            np.std([value[rows] for value in estimates], axis=0) if len(estimates) > 1 else np.abs(block - neighbours)
        )
        moves = np.abs(np.gradient(block, axis=1)) if block.shape[1] > 1 else np.zeros(block.shape)
        movement[rows] = np.where(problem.seen[rows], moves, 0.0).sum(axis=1)
        means = [np.divide(*(narrow[rows] @ value + prior for value in pair)) for pair in departure_pairs]
        parts = disagreement, spread, np.abs(block - mean), smooth(moves), *means, block
        for target, part in zip(sizes, parts):
            target[ends[rows.start] : ends[rows.stop]] = part[mask]

    map_row_blocks(fill_rows, field.shape)
    vertex_features = [
        np.repeat(feature, counts) for feature in (roughness(problem, movement, W), kriging_variance(problem))
    ]
    return logarithms([*sizes[:-1], *vertex_features], sizes[-1])


def departures(problem, field, W, size):
    """Return (2, 2, N, T) float32: [(sums, counts)] of departures of observed values.

    The first pair departs from linear interpolation between the adjacent columns. The second departs from the
    neighbours' mean, less the mean difference of the vertex. Both are in units of their mean and smoothed over
    ordered columns. size: scale of the field.
    """
    average = smooth if problem.ordered else np.asarray
    result = np.empty((2, 2, *field.shape), np.float32)

    def fill_rows(rows):
        block, seen = field[rows] / size, problem.seen[rows]
        curvature, difference = np.zeros(block.shape), block - W[rows] @ field / size
        curvature[:, 1:-1] = block[:, 1:-1] - 0.5 * (block[:, :-2] + block[:, 2:])
        is_inner = np.zeros(seen.shape, bool)
        is_inner[:, 1:-1] = seen[:, 1:-1] & seen[:, :-2] & seen[:, 2:]
        usual = np.where(seen, difference, 0.0).sum(axis=1, keepdims=True) / np.maximum(
            seen.sum(axis=1, keepdims=True), 1
        )
        parts = (
            (np.where(is_inner, np.abs(curvature), 0.0), is_inner),
            (np.where(seen, np.abs(difference - usual), 0.0), seen),
        )
        for target, part in zip(result.reshape(4, *field.shape), (part for pair in parts for part in pair)):
            target[rows] = average(part.astype(np.float32))

    map_row_blocks(fill_rows, field.shape)
    for sums, counts in result:
        sums /= sums.sum(dtype=np.float64) / max(1.0, counts.sum(dtype=np.float64)) or 1.0
    return result


def logarithms(sizes, values):
    """Return (values, FEATURES): logarithms of the sizes, then ranks of the values."""
    out = np.empty((len(values), FEATURES))

    def fill_column(number):
        out[:, number] = ranks(values) if number == len(sizes) else logarithm(sizes[number])

    parallel_map(fill_column, reversed(range(FEATURES)))  # ranks take the longest
    return out


def logarithm(sizes):
    """Return log sizes with a floor."""
    usual = float(np.mean(sizes)) if len(sizes) else 0.0
    return np.log(sizes + 0.02 * usual) if usual > 0 else np.zeros(len(sizes))


def ranks(values):
    """Return ranks of values, from -1 to 1."""
    order = np.empty(len(values), np.int64)
    order[np.argsort(values, kind="stable")] = np.arange(len(values))
    return 2.0 * (order + 0.5) / max(1, len(values)) - 1.0


def neighbour_weights(adjacency):
    """Return csr (N, N): weights of a vertex's ten nearest neighbours, normalized to 1."""
    from scipy import sparse

    W = heaviest(adjacency, 10)
    total = np.asarray(W.sum(axis=1)).ravel()
    return sparse.diags(1.0 / np.where(total > 0, total, 1.0)) @ W


def smooth(moves):
    """Return the moving mean of five columns; the end values repeat beyond the ends."""
    padded, count = np.pad(moves, ((0, 0), (2, 2)), mode="edge"), moves.shape[1]
    return sum(padded[:, first : first + count] for first in range(5)) / moves.dtype.type(5)


def roughness(problem, movement, W):
    """Return (N,): mean movement of a vertex where it is observed, else its neighbours' mean.

    movement (N,): sums over the observed columns.
    """
    count = problem.seen.sum(axis=1)
    mean_movement = movement / np.maximum(count, 1)
    is_observed = (count > 0).astype(np.float64)
    weight = W @ is_observed
    neighbours = np.where(
        weight > 0,
        (W @ (mean_movement * is_observed)) / np.where(weight > 0, weight, 1.0),
        mean_movement[count > 0].mean(),
    )
    return np.where(count > 0, mean_movement, neighbours)


def kriging_variance(problem):
    """Return (N,): kriging variance of unobserved vertices; 1 for observed or isolated ones."""
    is_observed, out = problem.seen.any(axis=1), np.ones(len(problem.seen))
    if is_observed.all() or len(is_observed) > KRIGING_VERTICES:
        return out
    rho, nu, tau = 3.0, 2.0, 0.03  # usual ones; chosen
    K, seen = cov.covariance(problem.place.basis.laplacian, rho, nu), np.flatnonzero(is_observed)
    predicted = ~is_observed & ~lonely(problem)
    out[predicted] = cov.variance(K, cov.solve_system(K, seen, tau), seen, tau)[predicted]
    return out


def changes_beyond(problem, where):
    """Return the usual change of the entries of a mask (N, T), as (values,).

    0 for entries that are not beyond an end.
    """
    beyond = where & scans.beyond_ends(problem.seen) if problem.ordered else np.zeros(where.shape, bool)
    change, rows = np.zeros(where.shape), np.flatnonzero(beyond.any(axis=1))
    if len(rows):
        change[rows] = np.where(beyond[rows], usual_change(problem.values[rows], problem.seen[rows]), 0.0)
    return change[where]


def usual_change(values, seen):
    """Return (N, T): the mean |change| of each row between columns, times the root of the distance to an observation.

    A row without changes has the median of the others.
    """
    both = seen[:, 1:] & seen[:, :-1]
    total = np.where(both, np.abs(np.diff(values, axis=1)), 0.0).sum(axis=1)
    changes = total / np.maximum(np.count_nonzero(both, axis=1), 1)
    usual = float(np.median(changes[changes > 0])) if changes.any() else 1.0
    return np.where(changes > 0, changes, usual)[:, None] * np.sqrt(np.maximum(scans.distances(seen), 1))
