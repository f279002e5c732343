"""CPU twins of kernels/matrix.py: the same names, the same arguments in the same order."""

import numpy as np

from gpukit._jit import njit, prange


@njit
def row_dot(row, v):
    """Sum of row * v in float64 over v's length (a row may be padded)."""
    total = 0.0
    for f in range(v.size):
        total += row[f] * v[f]
    return total


@njit(parallel=True)
def document_scores(X, w, scores):
    """Twin of kernels.matrix.document_scores."""
    for i in prange(scores.size):
        scores[i] = row_dot(X[i], w)


@njit(parallel=True)
def transposed_product(X, z, partial):
    """Twin of kernels.matrix.transposed_product: a thread for every row of partial."""
    n, share = partial.shape[1], (z.size + partial.shape[0] - 1) // partial.shape[0]
    for block in prange(partial.shape[0]):
        total = np.zeros(n)
        for i in range(block * share, min(block * share + share, z.size)):
            row, factor = X[i], z[i]
            if factor != 0.0:
                for f in range(n):
                    total[f] += factor * row[f]
        partial[block] = total


@njit(parallel=True)
def csr_product(A, v, out):
    """Twin of kernels.matrix.csr_product."""
    for row in prange(out.size):
        total = 0.0
        for t in range(A.indptr[row], A.indptr[row + 1]):
            total += A.values[t] * v[A.indices[t]]
        out[row] = total


@njit(parallel=True)
def by_rank(scores, place, keys):
    """Twin of kernels.matrix.by_rank."""
    for i in prange(scores.size):
        keys[place[i]] = scores[i]


@njit(parallel=True)
def first_faults(X, faults):
    """Twin of kernels.matrix.first_faults: a thread for every place of faults."""
    share = (X.shape[0] + faults.size - 1) // faults.size
    for run in prange(faults.size):
        for row in range(run * share, min(run * share + share, X.shape[0])):
            total = 0.0
            for f in range(X.shape[1]):
                total += X[row, f] * 0.0
            if not total == 0.0:
                faults[run] = min(faults[run], row)


@njit(parallel=True)
def pad_rows(X, out):
    """Twin of kernels.matrix.pad_rows."""
    n = X.shape[1]
    for row in prange(X.shape[0]):
        out[row, :n] = X[row]
        out[row, n:] = 0


@njit(parallel=True)
def add_rows(partial, total):
    """Twin of kernels.matrix.add_rows."""
    for column in prange(total.size):
        running = 0.0
        for row in range(partial.shape[0]):
            running += partial[row, column]
        total[column] = running
