"""The smoothest eigenvectors of a large graph, without a dense Laplacian: Lanczos, with every copy of a repeated
eigenvalue."""

import numpy as np

from gpukit.device import available_memory
from gpukit.errors import ParameterError
from gpukit.graphs.adjacency import degrees, normalized_laplacian

SAME = 1e-9  # eigenvalues closer than that count as equal
TOLERANCE = 1e-11  # of a residual; the values are then right to its square over the gap
RESIDUAL = 1e-8  # of an eigenvector of length 1: cupy's iteration ends without a word where it does not converge
EXTRA = 8  # vectors asked for when looking for missed ones
SHIFT = 1e-3  # added to the Laplacian before it is inverted
BAND = 0.1  # times the vertices: a graph of a larger bandwidth has no sparse factor to speak of
ARRAYS = 4  # (N, K) each, of the Lanczos vectors and the eigenvectors


def smoothest(adjacency, size, cupy=None):
    """Return (values (K,) ascending, vectors (N, K)) of the K = size smallest eigenvalues of the normalized Laplacian.

    The eigenvalue 0 occurs once per connected component, and its vectors are known: sqrt(degree) on a component
    (the largest first), a single vertex where it is isolated. The rest comes from Lanczos' algorithm on the space
    orthogonal to them, from a seeded start: cupy's, of 2 I - L, on the current GPU where the module is given; else
    ARPACK, of (L + SHIFT I)^-1 where a sparse factor of it fits into memory, or of 2 I - L. Because Lanczos may miss
    copies of a repeated eigenvalue, it is run again on what is orthogonal to all found so far, until nothing smoother
    turns up.
    """
    vectors = constants(adjacency, size)
    values = np.zeros(vectors.shape[1])
    inverse = shifted_inverse(adjacency) if cupy is None else None
    apply, value_of = inverse or complement(adjacency, cupy)
    rng, missing, count = np.random.default_rng(0), size - len(values), adjacency.shape[0]
    while missing:
        more, found = _largest(apply, vectors, missing, rng, cupy)
        more = value_of(more)
        complete = len(values) >= size and more.min() >= values[size - 1] - SAME
        if complete:
            break
        values, vectors = _merged(values, vectors, more, found)
        missing = min(EXTRA, count - 1 - len(values))
    return np.clip(values[:size], 0.0, 2.0), np.ascontiguousarray(vectors[:, :size])


def are_eigenvectors(adjacency, values, vectors):
    """Return whether vectors (N, K) are orthonormal eigenvectors of the normalized Laplacian, up to RESIDUAL."""
    residual = normalized_laplacian(adjacency) @ vectors - vectors * values
    overlap = vectors.T @ vectors - np.eye(len(values))
    return bool(np.abs(residual).max(initial=0.0) <= RESIDUAL and np.abs(overlap).max(initial=0.0) <= RESIDUAL)


def shifted_inverse(adjacency):
    """Return (x -> (L + SHIFT I)^-1 x, eigenvalues of that -> eigenvalues of L); None where no sparse factor is to be
    expected.

    A factor in the order of reverse Cuthill-McKee has at most bandwidth numbers a row. The order of minimum degree,
    which is taken, has a tenth of that on grids and graphs of neighbours in the plane.
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
    """Return the largest distance of an entry from the diagonal in the order of reverse Cuthill-McKee."""
    from scipy import sparse
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    matrix = sparse.csr_matrix(matrix)
    place = np.argsort(reverse_cuthill_mckee(matrix, symmetric_mode=True))
    entries = matrix.tocoo()
    return int(np.abs(place[entries.row] - place[entries.col]).max(initial=0))


def complement(adjacency, cupy=None):
    """Return (x -> (2 I - L) x, eigenvalues of that -> eigenvalues of L), of cupy's arrays if the module is given."""
    laplacian = normalized_laplacian(adjacency)
    if cupy is not None:
        from cupyx.scipy import sparse

        laplacian = sparse.csr_matrix(laplacian)
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


def _largest(apply, known, count, rng, cupy=None):
    """Return (values, vectors) of the count largest eigenvalues of a positive operator on N numbers, on the space
    orthogonal to the columns of known (N, C), which are its eigenvectors."""
    from scipy.sparse.linalg import ArpackNoConvergence

    xp = np if cupy is None else cupy
    n, known, eigsh, operator = len(known), xp.asarray(known), *_solver(cupy)

    def step(x):
        x = x - known @ (known.T @ x)
        y = apply(x)
        return y - known @ (known.T @ y)  # known ones go to 0, below all others

    try:
        values, vectors = eigsh(
            operator((n, n), matvec=step, dtype=np.float64),
            k=count,
            which="LA",
            v0=step(xp.asarray(rng.standard_normal(n))),
            ncv=min(n, max(2 * count + 1, 40)),
            maxiter=100 * n,
            tol=TOLERANCE,
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
    """Both sets in ascending order; the new vectors are made orthogonal to the old ones to the last bits."""
    found = found - vectors @ (vectors.T @ found)
    found = np.linalg.qr(found)[0]
    values = np.concatenate((values, more))
    order = np.argsort(values, kind="stable")
    return values[order], np.hstack((vectors, found))[:, order]
