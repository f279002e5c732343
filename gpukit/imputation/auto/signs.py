"""Signs of error: what a filled value's error grows with, told from the filled table, the graph and the mask."""

import numpy as np

from gpukit.imputation.baselines.nearest import heaviest
from gpukit.imputation.kriging import covariance as cov
from gpukit.imputation.problem import lonely

SIGNS = 7
NEAR = 10  # neighbours on the graph
LEAST = 0.02  # of the usual size of a sign: smaller ones count as that
USUAL = (3.0, 2.0, 0.03)  # rho, nu, tau of the variance that a vertex's place on the graph gives it
MOST = 3000  # vertices of which that is computed


def signs_of(problem, field, estimates, where):
    """(values, SIGNS) float64 of the entries where a mask (N, T) is True.

    field (N, T): the values and, where something is missing, what is filled in. estimates: [(N, T)] of the methods that
    are mixed. Logarithms of: how the neighbours differ in the column; how the estimates differ; how far the value is
    from the column's mean; how the series moves there; how rough the vertex is, or, where nothing of it is observed,
    its neighbours; kriging's variance of the vertex; and the value's rank among all, from -1 to 1.
    """
    vertex, column = np.nonzero(where)
    W = stochastic(problem.adjacency)
    mean = field.mean(axis=0)
    near = W @ field
    apart = np.sqrt(np.maximum(W @ np.square(field - mean) - np.square(near - mean), 0.0))
    spread = np.std(estimates, axis=0) if len(estimates) > 1 else np.abs(field - near)
    moves = np.abs(np.gradient(field, axis=1)) if field.shape[1] > 1 else np.zeros(field.shape)
    sizes = [part[vertex, column] for part in (apart, spread, np.abs(field - mean), smoothed(moves))]
    sizes += [roughness(problem, moves, W)[vertex], place_variance(problem)[vertex]]
    return np.column_stack([*map(logarithm, sizes), ranks(field[vertex, column])])


def logarithm(sizes):
    """log sizes, the smallest of them raised."""
    usual = float(np.mean(sizes)) if len(sizes) else 0.0
    return np.log(sizes + LEAST * usual) if usual > 0 else np.zeros(len(sizes))


def ranks(values):
    """Ranks of values, from -1 to 1."""
    order = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    return 2.0 * (order + 0.5) / max(1, len(values)) - 1.0


def stochastic(adjacency):
    """csr (N, N): the weights of a vertex's nearest neighbours, adding up to 1."""
    from scipy import sparse

    W = heaviest(adjacency, NEAR)
    total = np.asarray(W.sum(axis=1)).ravel()
    return sparse.diags(1.0 / np.where(total > 0, total, 1.0)) @ W


def smoothed(moves):
    """The mean of five columns."""
    padded = np.pad(moves, ((0, 0), (2, 2)), mode="edge")
    return sum(padded[:, at : at + moves.shape[1]] for at in range(5)) / 5.0


def roughness(problem, moves, W):
    """(N,): how much a vertex's series moves where it is observed; its neighbours' mean where nothing of it is."""
    count = problem.seen.sum(axis=1)
    own = np.where(problem.seen, moves, 0.0).sum(axis=1) / np.maximum(count, 1)
    alive = (count > 0).astype(np.float64)
    weight = W @ alive
    near = np.where(weight > 0, (W @ (own * alive)) / np.where(weight > 0, weight, 1.0), own[count > 0].mean())
    return np.where(count > 0, own, near)


def place_variance(problem):
    """(N,): kriging's variance of vertices of which nothing is observed, from the graph alone; 1 elsewhere, and of
    vertices that are joined to none."""
    alive, out = problem.seen.any(axis=1), np.ones(len(problem.seen))
    basis = problem.place.basis
    if alive.all() or len(alive) > MOST or len(basis.values) < len(alive):
        return out
    rho, nu, tau = USUAL
    K, seen = cov.covariance(basis, rho, nu), np.flatnonzero(alive)
    told = ~alive & ~lonely(problem)
    out[told] = cov.variance(K, cov.solved(K, seen, tau), seen, tau)[told]
    return out
