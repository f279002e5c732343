"""The inverse of the matrix shared by all rows, the preconditioner of conjugate gradients, without host transfers."""

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.factorization.solvers.ials.formulas import PANEL
from gpukit.factorization.solvers.squares.formulas import invert_pivot

U32, F32, F64 = np.uint32, np.float32, np.float64
THREADS = 256
SIDE = PANEL + 1  # pitch of a square in shared memory; its columns begin in different banks
ROOM = PANEL * SIDE
OWN = PANEL * PANEL // THREADS  # numbers of a square per thread


@device
def _number(shared, decay, source, first, row, column):
    """Return a number of the matrix before a step: of S + decay I if first, else of `source`; of I outside."""
    if row >= U32(shared.shape[0]) or column >= U32(shared.shape[0]):
        return F64(1.0) if row == column else F64(0.0)
    if not first:
        return source[row, column]
    return F64(shared[row, column]) + (decay if row == column else F64(0.0))


@device
def _take(matrix, first, rows, columns, square):
    """square = PANEL x PANEL numbers of the matrix from (rows, columns) on."""
    shared, decay, source = matrix
    for index in range(U32(cuda.threadIdx.x), U32(PANEL * PANEL), U32(THREADS)):
        a, b = U32(U32(index) // U32(PANEL)), U32(U32(index) % U32(PANEL))
        number = _number(shared, decay, source, first, U32(rows + a), U32(columns + b))
        square[U32(U32(a * U32(SIDE)) + b)] = number


@device
def _invert(shared, decay, begin, part, square):
    """Invert a square in place, with 0 for unknowns whose pivot is rounding; part: OWN numbers in registers."""
    for c in range(U32(PANEL)):
        c = U32(c)
        whole = F64(1.0)
        if U32(begin + c) < U32(shared.shape[0]):
            whole = F64(shared[U32(begin + c), U32(begin + c)]) + decay
        over = invert_pivot(square[U32(c * U32(SIDE + 1))], whole)
        for e in range(OWN):
            position = U32(U32(cuda.threadIdx.x) + U32(e * THREADS))
            a, b = U32(position // U32(PANEL)), U32(position % U32(PANEL))
            left, above = square[U32(U32(a * U32(SIDE)) + c)], square[U32(U32(c * U32(SIDE)) + b)]
            entry = F64(0.0) if b == c else square[U32(U32(a * U32(SIDE)) + b)]
            turned = over if b == c else F64(over * above)
            part[e] = turned if a == c else F64(entry - left * turned)
        cuda.syncthreads()
        for e in range(OWN):
            position = U32(U32(cuda.threadIdx.x) + U32(e * THREADS))
            square[U32(U32(U32(position // U32(PANEL)) * U32(SIDE)) + U32(position % U32(PANEL)))] = part[e]
        cuda.syncthreads()


@device
def _product(left, right, a, b):
    """Return number (a, b) of the product of two squares."""
    total = F64(0.0)
    for c in range(U32(PANEL)):
        total += left[U32(U32(a * U32(SIDE)) + U32(c))] * right[U32(U32(U32(c) * U32(SIDE)) + b)]
    return total


@kernel
def invert_panel(shared, decay, step, source, out, inverse):
    """Make a step of Gauss-Jordan elimination in place; after all steps the result is the inverse M of S + decay I.

    With k the PANEL unknowns of the step and A the matrix before it:
    A_kk = inv(A_kk), A_kj = A_kk A_kj, A_ij = A_ij - A_ik A_kj, A_ik = -A_ik A_kk. A positive definite matrix needs no
    pivots; unknowns whose pivot is rounding have rows and columns of zeros.

    shared (n, n) float32: S; decay float64; step int64: from 0 on; source (n, n) float64: A, output of the previous
    step (not read in the first one); out (n, n) float64 and inverse (n, n) float32, overwritten: A after the step.

    Launch: a grid of ceil(n / PANEL) squared, blocks of THREADS.
    Deterministic: yes; budget.
    Source: Golub and Van Loan, Matrix Computations, 4th ed., 3.2 and 4.2 (by blocks; no pivots).
    """
    pivot = cuda.shared.array(ROOM, F64)
    left = cuda.shared.array(ROOM, F64)
    right = cuda.shared.array(ROOM, F64)
    part = cuda.local.array(OWN, F64)
    i, j, k = U32(cuda.blockIdx.y), U32(cuda.blockIdx.x), U32(step)
    rows, columns, begin = U32(i * U32(PANEL)), U32(j * U32(PANEL)), U32(k * U32(PANEL))
    matrix = shared, decay, source
    first = k == U32(0)
    _take(matrix, first, begin, begin, pivot)
    _take(matrix, first, rows, begin, left)
    _take(matrix, first, begin, columns, right)
    cuda.syncthreads()
    _invert(shared, decay, begin, part, pivot)
    for e in range(OWN):
        position = U32(U32(cuda.threadIdx.x) + U32(e * THREADS))
        a, b = U32(position // U32(PANEL)), U32(position % U32(PANEL))
        place = U32(U32(a * U32(SIDE)) + b)
        part[e] = pivot[place] if i == k else -_product(left, pivot, a, b)
    cuda.syncthreads()
    for e in range(OWN):
        position = U32(U32(cuda.threadIdx.x) + U32(e * THREADS))
        left[U32(U32(U32(position // U32(PANEL)) * U32(SIDE)) + U32(position % U32(PANEL)))] = part[e]
    cuda.syncthreads()
    for e in range(OWN):
        position = U32(U32(cuda.threadIdx.x) + U32(e * THREADS))
        a, b = U32(position // U32(PANEL)), U32(position % U32(PANEL))
        row, column = U32(rows + a), U32(columns + b)
        value = left[U32(U32(a * U32(SIDE)) + b)]
        if j != k:
            before = F64(0.0) if i == k else _number(shared, decay, source, first, row, column)
            value = F64(before + _product(left, right, a, b))
        if row < U32(shared.shape[0]) and column < U32(shared.shape[0]):
            out[row, column] = value
            inverse[row, column] = F32(value)
