"""The smoothest eigenvectors of a large graph, without a dense Laplacian: Lanczos, with every copy of a repeated
eigenvalue."""

import numpy as np

from gpukit.errors import ParameterError
from gpukit.graphs.adjacency import degrees, normalized_adjacency

SAME = 1e-9  # eigenvalues closer than that count as equal
TOLERANCE = 1e-11  # of a residual; the values are then right to its square over the gap
EXTRA = 8  # vectors asked for when looking for missed ones


def smoothest(adjacency, size):
    """(values (K,) ascending, vectors (N, K)) of the K = size smallest eigenvalues of the normalized Laplacian.

    The eigenvalue 0 occurs once per connected component, and its vectors are known: sqrt(degree) on a component
    (the largest first), a single vertex where it is isolated. The rest comes from ARPACK, on the space orthogonal to
    them, from a seeded start; because Lanczos may miss copies of a repeated eigenvalue, it is run again on what is
    orthogonal to all found so far, until nothing smoother turns up.
    """
    vectors = constants(adjacency, size)
    values = np.zeros(vectors.shape[1])
    smooth, rng, missing = normalized_adjacency(adjacency), np.random.default_rng(0), size - len(values)
    while missing:
        more, found = _largest(smooth, vectors, missing, rng)
        complete = len(values) >= size and 1.0 - more.max() >= values[size - 1] - SAME
        if complete:
            break
        values, vectors = _merged(values, vectors, 1.0 - more, found)
        missing = min(EXTRA, smooth.shape[0] - 1 - len(values))
    return np.clip(values[:size], 0.0, 2.0), np.ascontiguousarray(vectors[:, :size])


def constants(adjacency, most):
    """(N, C) float64: an orthonormal basis of the eigenvalue 0, of the C = min(components, most) largest components."""
    from scipy.sparse.csgraph import connected_components

    count, labels = connected_components(adjacency, directed=False)
    sizes = np.bincount(labels, minlength=count)
    chosen = np.argsort(-sizes, kind="stable")[:most]
    place = np.full(count, -1)
    place[chosen] = np.arange(len(chosen))
    degree, column = degrees(adjacency), place[labels]
    inside = np.flatnonzero(column >= 0)
    vectors = np.zeros((adjacency.shape[0], len(chosen)))
    vectors[inside, column[inside]] = np.sqrt(np.where(degree[inside] > 0, degree[inside], 1.0))
    return vectors / np.sqrt((vectors**2).sum(axis=0))


def _largest(smooth, known, count, rng):
    """(values, vectors) of the count largest eigenvalues of smooth, on the space orthogonal to known's columns."""
    from scipy.sparse import linalg

    def step(x):
        return smooth @ x - 2.0 * (known @ (known.T @ x))  # known ones go from 1 .. -1 to below all others

    n = smooth.shape[0]
    operator = linalg.LinearOperator((n, n), matvec=step, dtype=np.float64)
    start = rng.standard_normal(n)
    try:
        return linalg.eigsh(
            operator,
            k=count,
            which="LA",
            v0=start - known @ (known.T @ start),
            ncv=min(n, max(2 * count + 1, 40)),
            maxiter=100 * n,
            tol=TOLERANCE,
        )
    except linalg.ArpackNoConvergence as error:
        raise ParameterError(
            f"the {count} smoothest eigenvectors did not converge: {error}. Take another number of them (--basis-size)."
        ) from error


def _merged(values, vectors, more, found):
    """Both sets in ascending order; the new vectors are made orthogonal to the old ones to the last bits."""
    found = found - vectors @ (vectors.T @ found)
    found = np.linalg.qr(found)[0]
    values = np.concatenate((values, more))
    order = np.argsort(values, kind="stable")
    return values[order], np.hstack((vectors, found))[:, order]
