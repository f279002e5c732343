"""Smoothest eigenvectors of a large graph by Lanczos, without a dense Laplacian.

All copies of a repeated eigenvalue are found.
"""

import numpy as np

from gpukit.device import available_memory
from gpukit.errors import ParameterError
from gpukit.graphs.adjacency import degrees, normalized_laplacian
from gpukit.graphs.constants import BAND, SHIFT

RESIDUAL = 1e-8  # of a unit eigenvector: cupy does not report missing convergence
ARRAYS = 4  # (N, K) each, for the Lanczos vectors and the eigenvectors


def smoothest(adjacency, size, cupy=None):
    """Return (values (K,) ascending, vectors (N, K)) of the K = size smoothest.

    They are of the smallest eigenvalues of the normalized Laplacian. The eigenvalue 0 occurs once per connected
    component, with known vectors: sqrt(degree) on a component (the largest first), a single vertex if it is isolated.
    The others come from Lanczos' algorithm on the space orthogonal to them, from a seeded start: cupy's, of 2 I - L, on
    the current GPU if the module is given; else ARPACK, of (L + SHIFT I)^-1 if a sparse factor of it fits into memory,
    or of 2 I - L. Because Lanczos may miss copies of a repeated eigenvalue, it is run again on the space orthogonal to
    all vectors found, until it finds nothing smoother.
    """
    vectors = constants(adjacency, size)
    values = np.zeros(vectors.shape[1])
    inverse = shifted_inverse(adjacency) if cupy is None else None
    apply, value_of = inverse or complement(adjacency, cupy)
    rng, missing, count = np.random.default_rng(0), size - len(values), adjacency.shape[0]
    while missing:
        more, found = _largest(apply, vectors, missing, rng, cupy)
        more = value_of(more)
        complete = len(values) >= size and more.min() >= values[size - 1] - 1e-9  # rounding
        if complete:
            break
        values, vectors = _merged(values, vectors, more, found)
        missing = min(8, count - 1 - len(values))
    return np.clip(values[:size], 0.0, 2.0), np.ascontiguousarray(vectors[:, :size])


def are_eigenvectors(adjacency, values, vectors):
    """Return True if vectors (N, K) are orthonormal eigenvectors, up to RESIDUAL.

    They are of the normalized Laplacian.
    """
    residual = normalized_laplacian(adjacency) @ vectors - vectors * values
    overlap = vectors.T @ vectors - np.eye(len(values))
    return bool(np.abs(residual).max(initial=0.0) <= RESIDUAL and np.abs(overlap).max(initial=0.0) <= RESIDUAL)


def shifted_inverse(adjacency):
    """Return (x -> (L + SHIFT I)^-1 x, its eigenvalues -> eigenvalues of L).

    None if no sparse factor can be expected. A factor in reverse Cuthill-McKee order has at most bandwidth numbers per
    row. The minimum degree order, which is used, has a tenth of that on grids and on neighbour graphs in the plane.
    """
    from scipy import sparse
    from scipy.sparse.linalg import splu

    shifted = normalized_laplacian(adjacency) + SHIFT * sparse.eye_array(adjacency.shape[0])
    count, width = shifted.shape[0], bandwidth(shifted)
    if width > max(BAND * count, 1) or 8 * count * width > available_memory():
        return None
    factor = splu(shifted.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    return factor.solve, lambda values: 1.0 / values - SHIFT


def bandwidth(matrix):
    """Return the bandwidth of a matrix in reverse Cuthill-McKee order."""
    from scipy import sparse
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    matrix = sparse.csr_matrix(matrix)
    place = np.argsort(reverse_cuthill_mckee(matrix, symmetric_mode=True))
    entries = matrix.tocoo()
    return int(np.abs(place[entries.row] - place[entries.col]).max(initial=0))


def complement(adjacency, cupy=None):
    """Return (x -> (2 I - L) x, its eigenvalues -> eigenvalues of L).

    x are cupy's arrays if the module is given.
    """
    laplacian = normalized_laplacian(adjacency)
    if cupy is not None:
        from cupyx.scipy import sparse

        laplacian = sparse.csr_matrix(laplacian)
    return lambda x: 2.0 * x - laplacian @ x, lambda values: 2.0 - values


def constants(adjacency, most):
    """Return an orthonormal basis (N, C) float64 of the eigenvalue 0.

    It covers the C = min(components, most) largest components.
    """
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


def _largest(apply, known, count, rng, cupy=None):
    """Return (values, vectors) of the `count` largest eigenvalues of an operator.

    The operator is positive, on N numbers; the search is orthogonal to its known eigenvectors, the columns of known (N,
    C).
    """
    from scipy.sparse.linalg import ArpackNoConvergence

    xp = np if cupy is None else cupy
    n, known, eigsh, operator = len(known), xp.asarray(known), *_solver(cupy)

    def step(x):
        x = x - known @ (known.T @ x)
        y = apply(x)
        return y - known @ (known.T @ y)  # known ones map to 0, below all others

    try:
        values, vectors = eigsh(
            operator((n, n), matvec=step, dtype=np.float64),
            k=count,
            which="LA",
            v0=step(xp.asarray(rng.standard_normal(n))),
            ncv=min(n, max(2 * count + 1, 40)),
            maxiter=100 * n,
            tol=1e-11,  # of a residual; the error of a value is its square over the gap
        )
    except ArpackNoConvergence as error:
        raise ParameterError(
            f"the {count} smoothest eigenvectors did not converge: {error}. Take another number of them (--basis-size)."
        ) from error
    return (values, vectors) if cupy is None else (cupy.asnumpy(values), cupy.asnumpy(vectors))


def _solver(cupy):
    """Return (eigsh, LinearOperator) of scipy, or of cupy's sparse package."""
    if cupy is None:
        from scipy.sparse import linalg
    else:
        from cupyx.scipy.sparse import linalg
    return linalg.eigsh, linalg.LinearOperator


def _merged(values, vectors, more, found):
    """Merge both sets in ascending order.

    The new vectors are made orthogonal to the old ones again.
    """
    found = found - vectors @ (vectors.T @ found)
    found = np.linalg.qr(found)[0]
    values = np.concatenate((values, more))
    order = np.argsort(values, kind="stable")
    return values[order], np.hstack((vectors, found))[:, order]
