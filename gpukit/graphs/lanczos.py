"""The smoothest eigenvectors of a large graph, without a dense Laplacian: Lanczos on its shifted inverse, with every
copy of a repeated eigenvalue."""

import numpy as np

from gpukit.device import available_memory
from gpukit.errors import ParameterError
from gpukit.graphs.adjacency import degrees, normalized_laplacian

SAME = 1e-9  # eigenvalues closer than that count as equal
TOLERANCE = 1e-11  # of a residual; the values are then right to its square over the gap
EXTRA = 8  # vectors asked for when looking for missed ones
SHIFT = 1e-3  # added to the Laplacian before it is inverted
FACTOR_BYTES = 16  # of a number of a sparse factor: the number, its row and some room


def smoothest(adjacency, size):
    """Return (values (K,) ascending, vectors (N, K)) of the K = size smallest eigenvalues of the normalized Laplacian.

    The eigenvalue 0 occurs once per connected component, and its vectors are known: sqrt(degree) on a component
    (the largest first), a single vertex where it is isolated. The rest comes from ARPACK, on the space orthogonal to
    them, from a seeded start: of (L + SHIFT I)^-1 where a factor of it fits into memory, else of 2 I - L. Because
    Lanczos may miss copies of a repeated eigenvalue, it is run again on what is orthogonal to all found so far, until
    nothing smoother turns up.
    """
    vectors = constants(adjacency, size)
    values = np.zeros(vectors.shape[1])
    apply, value_of = shifted_inverse(adjacency) or complement(adjacency)
    rng, missing, count = np.random.default_rng(0), size - len(values), adjacency.shape[0]
    while missing:
        more, found = _largest(apply, count, vectors, missing, rng)
        more = value_of(more)
        complete = len(values) >= size and more.min() >= values[size - 1] - SAME
        if complete:
            break
        values, vectors = _merged(values, vectors, more, found)
        missing = min(EXTRA, count - 1 - len(values))
    return np.clip(values[:size], 0.0, 2.0), np.ascontiguousarray(vectors[:, :size])


def shifted_inverse(adjacency):
    """Return (x -> (L + SHIFT I)^-1 x, eigenvalues of that -> eigenvalues of L); None where a factor may not fit.

    A factor in the order of reverse Cuthill-McKee has at most bandwidth numbers a row; the order of minimum degree,
    which is taken, hardly ever has more.
    """
    from scipy import sparse
    from scipy.sparse.linalg import splu

    shifted = normalized_laplacian(adjacency) + SHIFT * sparse.eye_array(adjacency.shape[0])
    if 2 * FACTOR_BYTES * shifted.shape[0] * bandwidth(shifted) > available_memory():
        return None
    factor = splu(shifted.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    return factor.solve, lambda values: 1.0 / values - SHIFT


def bandwidth(matrix):
    """Return the largest distance of an entry from the diagonal in the order of reverse Cuthill-McKee."""
    from scipy import sparse
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    matrix = sparse.csr_matrix(matrix)
    place = np.argsort(reverse_cuthill_mckee(matrix, symmetric_mode=True))
    entries = matrix.tocoo()
    return int(np.abs(place[entries.row] - place[entries.col]).max(initial=0))


def complement(adjacency):
    """Return (x -> (2 I - L) x, eigenvalues of that -> eigenvalues of L)."""
    laplacian = normalized_laplacian(adjacency)
    return lambda x: 2.0 * x - laplacian @ x, lambda values: 2.0 - values


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


def _largest(apply, n, known, count, rng):
    """Return (values, vectors) of the count largest eigenvalues of a positive operator on n numbers, on the space
    orthogonal to known's columns, which are its eigenvectors."""
    from scipy.sparse import linalg

    def step(x):
        x = x - known @ (known.T @ x)
        y = apply(x)
        return y - known @ (known.T @ y)  # known ones go to 0, below all others

    operator = linalg.LinearOperator((n, n), matvec=step, dtype=np.float64)
    try:
        return linalg.eigsh(
            operator,
            k=count,
            which="LA",
            v0=step(rng.standard_normal(n)),
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
