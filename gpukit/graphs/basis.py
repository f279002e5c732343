"""Graph Fourier basis: eigenvectors of the normalized Laplacian, cached on disk.

The basis is not unique: eigenvectors of a repeated eigenvalue may be rotated among themselves, and imputed values
depend on the rotation. It is therefore stored by the content of the graph, and generator, CPU and GPU share one basis.
Eigenvectors of different components are never rotated among themselves: each eigenvector is 0 outside one component.

The smoothest eigenvectors of a large graph are found by Lanczos' algorithm, without a dense Laplacian, with all copies
of a repeated eigenvalue.
"""

import contextlib
import hashlib
from typing import NamedTuple

import numpy as np

from gpukit import arrayfile
from gpukit.base import check_integer
from gpukit.device import available_memory, free_memory, translate_memory_errors
from gpukit.errors import DataError, ParameterError
from gpukit.graphs.adjacency import ROUNDING, degrees, normalized_laplacian
from gpukit.io import sources
from gpukit.model_selection.splits import hash_floats, hash_groups, hash_numbers
from gpukit.runtime import private
from gpukit.timing import work_clock

CUT, SMALL = 4, 1_000  # a basis of more than N / CUT vectors, or of SMALL vertices, is a slice of the full one; chosen
BAND = 0.1  # fraction of the vertices: above this bandwidth the factor is not sparse; chosen
VERSION = 3  # of stored bases: increase it if the computation changes the basis of a graph
KIND = sources.FORMATS["basis"]
LARGEST_DENSE = 32_000  # vertices; LAPACK's workspace of 2 N^2 numbers has a 32-bit size
ON_GPU = "basis vectors"  # key in a run's Workspace


class Basis(NamedTuple):
    """Graph Fourier basis.

    values (K,) float64, 0 to 2, ascending; vectors (N, K) float64, C order. The first of the largest entries of each
    vector is positive. exact: all N eigenvectors are there (K = N). seconds: time to compute or load. source: "cache",
    or the device that computed it ("cpu", "cuda:0").
    """

    values: np.ndarray
    vectors: np.ndarray
    exact: bool
    seconds: float = 0.0
    source: str = "cpu"


class GraphBasis:
    """Fourier basis of a graph, computed on first access.

    Parameters
    ----------
    adjacency : csr (N, N), validated, or None if `made` is given and the graph is not needed otherwise
    size : int or None
        Number of the smoothest eigenvectors; None for all.
    device : gpukit.device.Device or None
        See `fourier_basis`.
    made : Basis or None
        A basis that is known already.
    """

    def __init__(self, adjacency, size=None, device=None, made=None):
        self.adjacency, self.device, self._made = adjacency, device, made
        self.count = adjacency.shape[0] if made is None else len(made.vectors)
        if made is not None:
            size = len(made.values)
        self.size = self.count if size is None else check_integer("basis_size", size, 1, self.count)

    @property
    def is_made(self):
        """True after the basis is computed or loaded."""
        return self._made is not None

    @property
    def exact(self):
        """True for the full basis."""
        return self.size == self.count

    def get(self, workspace=None):
        """Return the Basis, computed or loaded once; workspace: see fourier_basis.

        Raises as fourier_basis, and DeviceMemoryError.
        """
        if self._made is None:
            with translate_memory_errors(self.device, f"The Fourier basis of {self.count:,} vertices"):
                self._made = fourier_basis(self.adjacency, self.size, self.device, workspace=workspace)
        return self._made

    @property
    def values(self):
        """Eigenvalues (K,) float64; see Basis."""
        return self.get().values

    @property
    def vectors(self):
        """Eigenvectors (N, K) float64; see Basis."""
        return self.get().vectors

    @property
    def laplacian(self):
        """Normalized Laplacian of the graph, csr (N, N) float64."""
        return normalized_laplacian(self.adjacency)


def fourier_basis(adjacency, size=None, device=None, cache=True, workspace=None):
    """Return the Basis of a validated adjacency (csr (N, N), see as_adjacency).

    Parameters
    ----------
    size : int or None
        Number of the smoothest eigenvectors (1 to N); None for all.
    device : gpukit.device.Device or None
        On a GPU the full basis is computed there if cupy is installed and memory suffices, else on the CPU; see
        Basis.source.
    cache : bool
        Load the basis of this graph from disk ($GPUKIT_CACHE/bases, or gpukit/bases in the user's cache folder), or
        store it there.
    workspace : device.workspace.Workspace or None
        Workspace of the run that uses the basis: vectors computed on the GPU stay there too.

    Raises ParameterError for another size and for a graph too large for a dense basis.
    """
    start = work_clock()
    count = adjacency.shape[0]
    size = count if size is None else check_integer("basis_size", size, 1, count)
    file = _file(adjacency, size) if cache else None
    result = _load(file, (count, size))
    source = "cache"
    if result is None:
        *result, source = _compute(adjacency, size, device, workspace)
        _keep(file, *result)
    return Basis(*result, size == count, work_clock() - start, source)


def _compute(adjacency, size, device, workspace):
    """Compute a basis that is not on disk: (values, vectors, source)."""
    count = adjacency.shape[0]
    if size < count and count > SMALL and size * CUT < count:
        return _partial(adjacency, size, device)
    _require_room(count)
    values, vectors, source = _by_component(adjacency, device, workspace)
    if size < count:
        values, vectors = values[:size].copy(), np.ascontiguousarray(vectors[:, :size])
    return values, vectors, source


def _partial(adjacency, size, device):
    """Compute the smoothest eigenvectors of a large graph: (values, vectors, source)."""
    arrays = 4  # (N, K) each, for the Lanczos vectors and the eigenvectors
    cupy = _cupy(device, 8 * arrays * adjacency.shape[0] * size)
    if cupy is not None:
        with cupy.cuda.Device(device.index), contextlib.suppress(np.linalg.LinAlgError):
            values, vectors = smoothest_eigenpairs(adjacency, size, cupy)
            if are_eigenvectors(adjacency, values, vectors):
                return values, _fix_signs(np, vectors), f"cuda:{device.index}"
    values, vectors = smoothest_eigenpairs(adjacency, size)  # also if cupy's iteration fails, as for a star
    return values, _fix_signs(np, vectors), "cpu"


def _dense_bytes(count):
    """Return the bytes of a dense matrix, which its eigenvectors overwrite, and of LAPACK's workspace of twice that."""
    return 3 * 8 * count**2


def _require_room(count):
    """Raise ParameterError if a dense basis of `count` vertices does not fit."""
    needed, free = _dense_bytes(count), available_memory()
    if count <= LARGEST_DENSE and needed <= free:
        return
    raise ParameterError(
        f"a whole Fourier basis of {count:,} vertices needs {needed / 2**30:.1f} GiB, where {free / 2**30:.1f} GiB are "
        f"free, and goes up to {LARGEST_DENSE:,} vertices. Take a partial basis, an approximation: --basis-size K "
        "(basis_size=K), the K smoothest eigenvectors, such as 500; or a method other than spectral, which needs none."
    )


def _by_component(adjacency, device, workspace):
    """Compute all eigenvectors of each connected component: (values, vectors, source).

    Components share the eigenvalue 0, and equal ones all eigenvalues. LAPACK's eigenvectors of a whole Laplacian mix
    them, in a way that depends on the order of the vertices. Of equal eigenvalues the largest component comes first.
    """
    from scipy.sparse.csgraph import connected_components

    order = order_by_edges(adjacency)
    ordered = adjacency[order][:, order]
    ordered.sort_indices()
    laplacian, position = normalized_laplacian(ordered), np.argsort(order)
    components, labels = connected_components(adjacency, directed=False)
    if components == 1:
        return _dense(laplacian, position, device, workspace)
    sizes = np.bincount(labels)
    members = np.split(np.argsort(labels[order], kind="stable"), np.cumsum(sizes)[:-1])
    values, vectors, source, last = np.zeros(len(order)), np.zeros(laplacian.shape), "cpu", 0
    for component in np.argsort(-sizes, kind="stable"):
        rows, columns = members[component], slice(last, last := last + sizes[component])
        if len(rows) == 1:
            vectors[rows, columns] = 1.0
            continue
        on = device if len(rows) > SMALL else None  # smaller ones cost a GPU more than the CPU
        part = _dense(laplacian[rows][:, rows], np.arange(len(rows)), on, None)
        values[columns], vectors[rows, columns], source = part[0], part[1], max(source, part[2])
        values[columns.start] = 0.0  # that of a constant, without rounding
    ascending = np.argsort(values, kind="stable")
    return values[ascending], _fix_signs(np, vectors[np.ix_(position, ascending)]), source


def order_by_edges(adjacency):
    """Return an order of the vertices that does not depend on their numbers.

    Vertices are sorted by hashes of the weights and the hashes of their neighbours (colour refinement, Weisfeiler and
    Leman 1968). Vertices that it does not tell apart, as on a ring, keep their order.
    """
    weights, keys, colours = hash_floats(adjacency.data), np.zeros(adjacency.shape[0], np.uint64), 0
    while (count := len(np.unique(keys))) > colours:
        edges = hash_numbers(hash_numbers(keys)[adjacency.indices] ^ weights)
        keys, colours = hash_numbers(keys ^ hash_groups(edges, adjacency.indptr)), count
    return np.argsort(keys, kind="stable")


def _dense(laplacian, position, device, workspace):
    """Compute all eigenvectors of a sparse symmetric matrix: (values, vectors, source).

    position (N,): row of the matrix of each row of the vectors.
    """
    cupy = _cupy(device, _dense_bytes(laplacian.shape[0]))
    if cupy is None:
        from scipy.linalg import eigh

        values, vectors = eigh(laplacian.toarray(), driver="evd", overwrite_a=True, check_finite=False)
        return np.clip(values, 0.0, 2.0), _fix_signs(np, vectors[position]), "cpu"
    with cupy.cuda.Device(device.index):
        entries, matrix = laplacian.tocoo(), cupy.zeros(laplacian.shape)
        matrix[cupy.asarray(entries.row), cupy.asarray(entries.col)] = cupy.asarray(entries.data)
        values, vectors = cupy.linalg.eigh(matrix)
        del matrix
        device_vectors = _fix_signs(cupy, vectors[cupy.asarray(position)])
        vectors = cupy.asnumpy(device_vectors)
        if workspace is not None:
            keep_vectors(vectors, device_vectors, workspace)
        return np.clip(cupy.asnumpy(values), 0.0, 2.0), vectors, f"cuda:{device.index}"


def _cupy(device, needed):
    """Return cupy if device is a GPU with enough free memory.

    Also None if cupy is not installed.
    """
    if device is None or not device.is_cuda:
        return None

    try:
        import cupy
    except ImportError:
        return None
    return cupy if needed < free_memory(device) else None


def _fix_signs(xp, vectors):
    """Return vectors in C order with fixed signs.

    The largest entry of each (the first within ROUNDING of it) is positive.
    """
    sizes = xp.abs(vectors)
    first = xp.argmax(sizes >= (1.0 - ROUNDING) * sizes.max(axis=0), axis=0)
    signs = xp.where(vectors[first, xp.arange(vectors.shape[1])] < 0, -1.0, 1.0)
    return xp.ascontiguousarray(vectors * signs)


def cache_folder():
    """Return the folder of bases, which are kept when gpukit's sources change."""
    return private.base_folder() / "bases"


def _file(adjacency, size):
    digest = hashlib.sha256(f"{VERSION} {size} {adjacency.shape}".encode())
    digest.update(np.ascontiguousarray(adjacency.indptr, dtype=np.int64))
    digest.update(np.ascontiguousarray(adjacency.indices, dtype=np.int64))
    digest.update(np.ascontiguousarray(adjacency.data, dtype=np.float64))
    return cache_folder() / f"{digest.hexdigest()[:40]}.gkb"


def _load(file, shape):
    """Return (values, vectors) of a stored basis, or None.

    None if it is missing, damaged or not private.
    """
    if file is None:
        return None
    try:
        with private.open_private_file(file) as stream:
            facts, arrays = arrayfile.read_open(stream, file.name, KIND)
        if facts.get("name") != file.name:
            return None
        values, vectors = arrays["values"], arrays["vectors"]
    except (OSError, KeyError, ValueError, TypeError):  # DataError is a ValueError
        return None
    right = vectors.shape == shape and values.shape == shape[1:] and vectors.dtype == values.dtype == np.float64
    return (values, vectors) if right else None


def _keep(file, values, vectors):
    """Store a basis; ignore a folder that is not writable."""
    if file is None:
        return
    try:
        with private.replace_private_file(file) as place, open(place, "wb") as stream:
            arrayfile.write(stream, KIND.magic, {"name": file.name}, {"values": values, "vectors": vectors})
    except (OSError, DataError):
        return


def keep_vectors(vectors, device_vectors, workspace):
    """Register `device_vectors`, a cupy copy of vectors (N, K), in the workspace.

    vectors were computed on the current GPU.
    """
    workspace.keep(ON_GPU, lambda copy: copy[0] is vectors, lambda: [vectors, device_vectors])


def vectors_on_gpu(vectors, dtype, bring, workspace):
    """Return a basis's vectors (N, K) float64 as a cupy array of dtype.

    bring(vectors, dtype) creates one on the current GPU. The workspace keeps the last copy; vectors are compared by
    identity, not by value.
    """
    copy = workspace.keep(ON_GPU, lambda copy: copy[0] is vectors, lambda: [vectors, bring(vectors, np.dtype(dtype))])
    if copy[1].dtype != dtype:
        copy[1] = copy[1].astype(dtype)
    return copy[1]


def smoothest_eigenpairs(adjacency, size, cupy=None):
    """Return (values (K,) ascending, vectors (N, K)) of the K = size smoothest.

    They are of the smallest eigenvalues of the normalized Laplacian. The eigenvalue 0 occurs once per connected
    component, with known vectors: sqrt(degree) on a component (the largest first), a single vertex if it is isolated.
    The others come from Lanczos' algorithm on the space orthogonal to them, from a seeded start: cupy's, of 2 I - L, on
    the current GPU if the module is given; else ARPACK, of a shifted inverse if a sparse factor of it fits into memory,
    or of 2 I - L. Because Lanczos may miss copies of a repeated eigenvalue, it is run again on the space orthogonal to
    all vectors found, until it finds nothing smoother.
    """
    vectors = constants(adjacency, size)
    values = np.zeros(vectors.shape[1])
    inverse = shifted_inverse(adjacency) if cupy is None else None
    apply, value_of = inverse or complement(adjacency, cupy)
    rng, missing, count = np.random.default_rng(0), size - len(values), adjacency.shape[0]
    while missing:
        more, result = _largest_eigenpairs(apply, vectors, missing, rng, cupy)
        more = value_of(more)
        complete = len(values) >= size and more.min() >= values[size - 1] - 1e-9  # rounding
        if complete:
            break
        values, vectors = _merge(values, vectors, more, result)
        missing = min(8, count - 1 - len(values))
    return np.clip(values[:size], 0.0, 2.0), np.ascontiguousarray(vectors[:, :size])


def are_eigenvectors(adjacency, values, vectors):
    """Return True if vectors (N, K) are orthonormal eigenvectors, up to rounding.

    They are of the normalized Laplacian.
    """
    most = 1e-8  # cupy does not report missing convergence
    residual = normalized_laplacian(adjacency) @ vectors - vectors * values
    overlap = vectors.T @ vectors - np.eye(len(values))
    return bool(np.abs(residual).max(initial=0.0) <= most and np.abs(overlap).max(initial=0.0) <= most)


def shifted_inverse(adjacency):
    """Return (x -> (L + shift I)^-1 x, its eigenvalues -> eigenvalues of L).

    None if no sparse factor can be expected. A factor in reverse Cuthill-McKee order has at most bandwidth numbers per
    row. The minimum degree order, which is used, has a tenth of that on grids and on neighbour graphs in the plane.
    """
    from scipy import sparse
    from scipy.sparse.linalg import splu

    shift = 1e-3  # makes the Laplacian invertible; chosen
    shifted = normalized_laplacian(adjacency) + shift * sparse.eye_array(adjacency.shape[0])
    count, width = shifted.shape[0], bandwidth(shifted)
    if width > max(BAND * count, 1) or 8 * count * width > available_memory():
        return None
    factor = splu(shifted.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    return factor.solve, lambda values: 1.0 / values - shift


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


def _largest_eigenpairs(apply, known, count, rng, cupy=None):
    """Return (values, vectors) of the `count` largest eigenvalues of an operator.

    The operator is positive, on N numbers; the search is orthogonal to its known eigenvectors, the columns of known (N,
    C).
    """
    from scipy.sparse.linalg import ArpackNoConvergence

    if cupy is None:
        from scipy.sparse import linalg
    else:
        from cupyx.scipy.sparse import linalg
    xp = np if cupy is None else cupy
    n, known = len(known), xp.asarray(known)

    def step(x):
        x = x - known @ (known.T @ x)
        y = apply(x)
        return y - known @ (known.T @ y)  # known ones map to 0, below all others

    try:
        values, vectors = linalg.eigsh(
            linalg.LinearOperator((n, n), matvec=step, dtype=np.float64),
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


def _merge(values, vectors, more, result):
    """Merge both sets in ascending order.

    The new vectors are made orthogonal to the old ones again.
    """
    result = result - vectors @ (vectors.T @ result)
    result = np.linalg.qr(result)[0]
    values = np.concatenate((values, more))
    order = np.argsort(values, kind="stable")
    return values[order], np.hstack((vectors, result))[:, order]
