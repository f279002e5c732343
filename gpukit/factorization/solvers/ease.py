"""EASE: weights between items by least squares, from the clicks alone; there are no factors and no epochs.

    B = I - P diag(1 / diag P),    P = (X'X + lambda I)^-1,    X (M, N): 1 for a click

B minimizes |X - X B|^2 + lambda |B|^2 with a diagonal of 0. The scores of a user are the sum of B's rows of the items
that the user has clicked, so a new user needs no training. With C = (X X' + lambda I)^-1 and Z = C X, the same weights
follow from a matrix of M x M numbers: for i != j

    B_ij = (X'Z)_ij / (1 - t_j),    t_j = sum over the users u of j of Z_uj

because P = (I - X'C X) / lambda. So the inverse is of the smaller side. For an item j without a click of user u the
score is -(X P)_uj / P_jj, which is -lambda Z_uj / (1 - t_j). X is a scipy.sparse.csr_array of ones (M, N). On a GPU
cuBLAS and cuSOLVER solve for B. Where B does not fit, items are regressed on their neighbours (ease_kernels.py).

Paper: Steck, "Embarrassingly Shallow Autoencoders for Sparse Data", WWW 2019 (arXiv:1905.03375).
Cost, n = min(M, N): the sums of squares of the clicks per row (of the larger side), n^3 for the inverse, and with fewer
users than items nnz N for the product with X. Memory: three matrices of N x N numbers. With K neighbours of an item:
the clicks of them, the users whom two of them share, and K^3 / 6. Memory: 8 N K bytes. Deterministic: yes.
"""

import numpy as np

from gpukit._pool import single_threaded_blas
from gpukit.device import available_memory, free_memory
from gpukit.device.engine import engine
from gpukit.errors import ParameterError
from gpukit.evaluation.lists import Clicks, Popularity
from gpukit.factorization.arrays import NUMBERS
from gpukit.factorization.constants import RULES
from gpukit.factorization.solvers import solver_defaults
from gpukit.neighbors.item_knn import click_neighbors
from gpukit.ratings.orders.order import order_ratings
from gpukit.selection.twins import scores as scores_of_keys

BITS = 32  # slots of a word of a mask: see kernels.py
ZERO = np.uint32(0x7FFFFFFF)  # key of the score 0


def arrange(task):
    """Return None: nothing is prepared for epochs."""


def begin(session, task, arranged):
    """Return None: there are no epochs."""


def work_of(shape, n_clicks):
    """Return the work of solve_weights, in multiplications of training; shape: (M, N)."""
    return min(work_by_users(shape, n_clicks), shape[1] ** 3 / RULES.inverse_rate)


def work_by_users(shape, n_clicks):
    """Return the work of solve_weights by the inverse of M x M numbers."""
    return shape[0] ** 3 / RULES.inverse_rate + n_clicks * sum(shape) / RULES.product_rate


def work_of_scores(shape, n_clicks):
    """Return the work of solve_scores."""
    return min(shape) ** 3 / RULES.inverse_rate + n_clicks * min(shape) / RULES.product_rate


def uses_users(shape, n_clicks):
    """Return True if the inverse of M x M numbers is the cheaper one."""
    return work_by_users(shape, n_clicks) < shape[1] ** 3 / RULES.inverse_rate


def memory_of(n_items):
    """Return the bytes of main memory that a solution needs."""
    copies = 3  # matrices of N x N float32 numbers that the solution needs
    return 4 * copies * n_items**2


def matrix_of(indptr, items, n_items):
    """Return clicks as a scipy.sparse.csr_array of ones (M, N); user i clicked items[indptr[i]:indptr[i + 1]]."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(items), np.float32), items, indptr), (len(indptr) - 1, n_items))


def best_columns(scores, n):
    """Return (columns (b, n), their scores (b, n)): the n highest of each row of scores (b, N), best first."""
    best = np.argpartition(-scores, n - 1, axis=1)[:, :n]
    values = np.take_along_axis(scores, best, 1)
    order = np.argsort(-values, axis=1, kind="stable")
    return np.take_along_axis(best, order, 1), np.take_along_axis(values, order, 1)


def solve_weights(X, ridge):
    """Return B (N, N) float32 with a diagonal of 0; ridge: lambda."""
    if uses_users(X.shape, X.nnz):
        Z, rest = project_clicks(X, ridge)
        weights = np.ascontiguousarray(X.T @ Z)
        weights /= rest
        np.fill_diagonal(weights, 0.0)
        return weights
    return weights_of(inverse_of(X.T.tocsr(), ridge))


def weights_of(inverse):
    """Return B from P (N, N) float32, which is overwritten."""
    inverse /= -inverse.diagonal()
    np.fill_diagonal(inverse, 0.0)
    return inverse


def solve_scores(X, users, ridge):
    """Return scores (b, N) float32 of users (b,) for the items that they have not clicked; others have no meaning."""
    if X.shape[0] <= X.shape[1]:
        Z, rest = project_clicks(X, ridge)
        return Z[users] * np.float32(-ridge) / rest
    inverse = inverse_of(X.T.tocsr(), ridge)
    return (X[users] @ inverse) / -inverse.diagonal()


def correct_inverse(inverse, before, after, ridge):
    """Return P after the rows `before` (b, n) of X have become `after` (a, N), by Woodbury's formula (1950).

        (A + V'SV)^-1 = P - P V' (S + V P V')^-1 V P,    P = A^-1,  V = (after, before),  S = diag(1, -1)

    inverse (n, n): P of the first n items, is not changed; new items had no clicks.
    """
    from scipy.sparse import vstack

    known, n_items = len(inverse), after.shape[1]
    out = np.zeros((n_items, n_items), np.float32)
    out[:known, :known] = inverse
    out.ravel()[known * (n_items + 1) :: n_items + 1] = 1.0 / ridge
    before.resize(before.shape[0], n_items)
    V = vstack((after, before), format="csr")
    image = V @ out
    core = (V @ image.T).astype(np.float64)
    core.flat[:: len(core) + 1] += np.repeat((1.0, -1.0), (after.shape[0], before.shape[0]))
    solved, step = np.linalg.solve(core, image).astype(np.float32), max(1, NUMBERS // n_items)
    for first in range(0, n_items, step):
        out[first : first + step] -= image[:, first : first + step].T @ solved
    return out


def work_of_correction(n_rows, n_items):
    """Return the work of correct_inverse for n_rows of V."""
    return n_rows * (n_items**2 + n_rows * n_items + n_rows**2) / RULES.inverse_rate


def project_clicks(X, ridge):
    """Return (Z (M, N), 1 - t (N,)), float32."""
    inverse = inverse_of(X, ridge)
    Z = np.ascontiguousarray((X.T @ inverse).T)
    users = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    sums = np.bincount(X.indices, Z[users, X.indices].astype(np.float64), X.shape[1])
    return Z, (1.0 - sums).astype(np.float32)


def inverse_of(rows, ridge):
    """Return (rows rows' + ridge I)^-1, (n, n) float32, of sparse rows (n, any).

    In double precision if single precision is not accurate.
    """
    inverse = invert_gram(gram_of(rows, np.float32), ridge)
    if inverse is None or inverse_error(rows, inverse, ridge) > RULES.inverse_error:
        inverse = invert_gram(gram_of(rows, np.float64), ridge)
    if inverse is None:
        raise ParameterError(
            f"regularization={ridge:g} is too small to invert a matrix of {rows.shape[0]:,} rows. Use a larger value."
        )
    return inverse.astype(np.float32, copy=False)


def gram_of(rows, dtype):
    """Return rows rows' (n, n), block by block, as sparse products need several times the memory."""
    count = rows.shape[0]
    gram, columns, step = np.empty((count, count), dtype), rows.T.tocsr(), max(1, NUMBERS // max(1, count))
    for first in range(0, count, step):
        gram[first : first + step] = (rows[first : first + step] @ columns).toarray()
    return gram


def invert_gram(gram, ridge):
    """Return (gram + ridge I)^-1 in the memory of gram (n, n); None if rounding makes it impossible.

    By one thread: LAPACK's inverse is slower with several.
    """
    from scipy.linalg import get_lapack_funcs

    factor, invert = get_lapack_funcs(("potrf", "potri"), (gram,))
    gram.flat[:: len(gram) + 1] += ridge
    with single_threaded_blas():
        lower, failed = factor(gram.T, lower=True, clean=False, overwrite_a=True)
        if failed:
            return None
        lower, failed = invert(lower, lower=True, overwrite_c=True)
    if failed:
        return None
    mirror(lower)
    return lower.T


def mirror(lower):
    """Copy the lower triangle of a square matrix to the upper one, by blocks that fit a cache."""
    step = 256
    for first in range(0, len(lower), step):
        rows = slice(first, first + step)
        diagonal_block = np.tril(lower[rows, rows])
        lower[rows, rows] = diagonal_block + np.tril(diagonal_block, -1).T
        lower[rows, first + step :] = lower[first + step :, rows].T


def inverse_error(rows, inverse, ridge):
    """Return the relative error of (rows rows' + ridge I) inverse on a vector of ones."""
    ones = np.ones(len(inverse))
    image = inverse @ ones.astype(inverse.dtype)
    product = rows @ (rows.T @ image.astype(np.float64)) + ridge * image
    return float(np.linalg.norm(product - ones) / np.linalg.norm(ones))


def pair_sums(session, users, items):
    """Return the sums of weights (n,) float32 of pairs of rows; 0 for unknown users and items.

    session: DeviceModel whose `weighted` adds the sums to keys (b, N) on the host. Each user's row is computed once.
    """
    out, n_items = np.zeros(len(users), np.float32), session.item_rows
    known = np.flatnonzero(items < n_items)
    rows, places = np.unique(users[known], return_inverse=True)
    order = np.argsort(places, kind="stable")
    step = session.tile_users()
    for first in range(0, len(rows), step):
        tile = rows[first : first + step]
        sums = scores_of_keys(session.weighted(tile, np.full((len(tile), n_items), ZERO, np.uint32)))
        pairs = order[slice(*np.searchsorted(places, (first, first + len(tile)), sorter=order))]
        out[known[pairs]] = sums[places[pairs] - first, items[known[pairs]]]
    return out


def solve_lists(clicks, ridge, n_neighbors, device):
    """Return B (N, N) as a scipy.sparse.csr_array of Ratings: at most n_neighbors weights in a column."""
    from scipy.sparse import csr_array

    n_items, orders = clicks.shape[1], order_ratings(clicks, device)
    neighbors, _ = click_neighbors(orders, max(1, min(n_neighbors, n_items - 1)), device)
    decay = np.float32(ridge * (neighbors.shape[1] / max(1, n_items - 1)) ** (1 / 3))
    steps = engine(device, "gpukit.factorization.solvers")
    weights = steps.regress_on_neighbors(neighbors, orders.by_item, len(orders.by_user.indptr), decay)
    columns, is_used = np.arange(n_items, dtype=np.int32), neighbors >= 0
    columns = np.repeat(columns, is_used.sum(axis=1))
    return csr_array((weights[is_used], (neighbors[is_used], columns)), (n_items, n_items))


def memory_of_lists(n_items, n_neighbors):
    """Return the bytes of main memory of neighbours, cosines and weights, and of their copies by row."""
    return 28 * n_items * n_neighbors


BLOCK = 1 << 28  # numbers of a dense block of users, in half precision


def solve_on_gpu(X, ridge, device):
    """Return B (N, N) float32 on the host with a diagonal of 0; arguments as weights.solve_weights.

    None without cupy or the memory for it, and if single precision is not accurate.
    """
    copies = 4  # matrices of N x N float32 numbers that the solution needs at once
    n_items = X.shape[1]
    if 4 * copies * n_items**2 + 2 * BLOCK > free_memory(device):
        return None
    try:
        import cupy
        from cupyx import lapack
    except ImportError:
        return None
    with cupy.cuda.Device(device.index):
        gram = cublas_gram(X, cupy)
        gram.ravel()[:: n_items + 1] += np.float32(ridge)
        try:
            inverse = lapack.posv(gram, cupy.eye(n_items, dtype=np.float32))
        except np.linalg.LinAlgError:
            return None
        ones = cupy.ones(n_items, np.float32)
        error = float(cupy.linalg.norm(gram @ (inverse @ ones) - ones)) / n_items**0.5
        inverse /= -cupy.diag(inverse)
        cupy.fill_diagonal(inverse, 0)
        return cupy.ascontiguousarray(inverse).get() if error <= RULES.inverse_error else None


def cublas_gram(X, cupy):
    """Return X'X (N, N) float32 on the GPU.

    Blocks of rows are dense in half precision, and products are added in single precision: all numbers are exact up to
    2**24 users.
    """
    from cupy.cuda import cublas, device, runtime

    n_users, n_items = X.shape
    step, value = max(1, min(n_users, BLOCK // n_items)), np.ones(1, np.float32)
    gram, dense = cupy.zeros((n_items, n_items), np.float32), cupy.empty((step, n_items), np.float16)
    items = cupy.asarray(X.indices)
    half, single = (dense.data.ptr, runtime.CUDA_R_16F, n_items), (gram.data.ptr, runtime.CUDA_R_32F, n_items)
    transposed, rule = (cublas.CUBLAS_OP_N, cublas.CUBLAS_OP_T), (cublas.CUBLAS_COMPUTE_32F, cublas.CUBLAS_GEMM_DEFAULT)
    shape, scale = (n_items, n_items, step), value.ctypes.data
    for first in range(0, n_users, step):
        starts = X.indptr[first : first + step + 1]
        lines = cupy.asarray(np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts)))
        dense.fill(0)
        dense[lines, items[starts[0] : starts[-1]]] = 1
        handle = device.get_cublas_handle()
        cublas.gemmEx(handle, *transposed, *shape, scale, *half, *half, scale, *single, *rule)
    return gram


class Ease(Popularity):
    """Recommend the items with the highest positive scores of EASE; others by popularity."""

    name = "EASE"

    def __init__(self, learned, n_items, known=None):
        """Arguments as Popularity."""
        super().__init__(learned, n_items, known)
        decay = solver_defaults("ease", "adaptive", len(learned.items))["regularization"]
        self.weights = solve_weights(matrix_of(*learned, n_items), decay)
        self.clicked = matrix_of(*self.known, n_items)

    @staticmethod
    def is_affordable(learned: Clicks, n_items):
        """Return True if the solution takes a few seconds and half of the main memory at most."""
        most_work = 4e9  # in multiplications of training: about 8,000 items
        work = work_of((len(learned.indptr) - 1, n_items), len(learned.items))
        return work <= most_work and 2 * memory_of(n_items) <= available_memory()

    def best(self, rows, n):
        """Return the items (b, n) int32 with the best positive scores, -1 after the last."""
        lists, step = np.empty((len(rows), n), np.int32), max(1, NUMBERS // self.n_items)
        for first in range(0, len(rows), step):
            tile = slice(first, first + step)
            clicked = self.clicked[rows[tile]]
            scores = clicked @ self.weights
            scores[np.repeat(np.arange(len(scores)), np.diff(clicked.indptr)), clicked.indices] = -np.inf
            best, values = best_columns(scores, n)
            lists[tile] = np.where(values > 0, best, -1)
        return lists
