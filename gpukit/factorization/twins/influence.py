"""Parameter rows and neighbourhood terms of Eq. (1); an item's influence is w, then c.

Codes are first converted to numbers (0 or 1: rated, unrated), which are factors of all that follows. Codes are too
random for branch prediction, and loops without branches become vector instructions.

Functions that call others are inlined, because a call counts references of its array arguments.
"""

import numpy as np

from gpukit._jit import njit
from gpukit.factorization.model.layout import NO_NEIGHBOR
from gpukit.factorization.solvers.sgd import formulas
from gpukit.factorization.solvers.sgd.formulas import ONE, ZERO

U8 = np.uint8


@njit
def dot(p, q, n):
    """Return the dot product of the first n numbers of two rows."""
    product = ZERO
    for f in range(n):
        product += p[f] * q[f]
    return product


@njit(nogil=True)
def row_products(rows, vector):
    """Return the dot products (n,) of rows (n, F) with a vector (F,), in the vector's dtype.

    For answers to one user: BLAS's threads would wait for each other when several threads ask.
    """
    out = np.empty(len(rows), vector.dtype)
    for i in range(len(rows)):
        out[i] = dot(rows[i], vector, vector.size)
    return out


@njit
def total(row):
    """Return the sum of a row."""
    found = ZERO
    for f in range(row.size):
        found += row[f]
    return found


@njit
def _look_up(code, levels, residual):
    """Set residual[k] to the level of a code.

    It is a separate loop, since only this step cannot be vectorized.
    """
    for k in range(code.size):
        residual[k] = levels[code[k]]


@njit
def _mark(code, offset, base, residual, rated, unrated):
    """Set residual[k] and rated[k] of rated neighbours, unrated[k] of others.

    residual has the levels before, then r - b of rated neighbours, else 0. rated and unrated are 0 or 1; both are 0 for
    an empty slot.
    """
    for k in range(code.size):
        known, value = U8(code[k] - U8(1)) < U8(NO_NEIGHBOR - 1), residual[k] - offset[k] - base
        residual[k] = value if known else ZERO
        rated[k] = ONE if known else ZERO
        unrated[k] = ONE if code[k] == 0 else ZERO


@njit(inline="always")
def residuals(code, levels, offset, base, residual, rated, unrated):
    """Set the residuals and marks of the neighbours, see _mark.

    Returns (|R|^-1/2, |N|^-1/2) of Eq. (1).
    """
    _look_up(code, levels, residual)
    _mark(code, offset, base, residual, rated, unrated)
    return formulas.set_scale(total(rated)), formulas.set_scale(total(unrated))


@njit(inline="always")
def terms(residual, unrated, w, c, explicit, implicit):
    """Return terms 2 and 3 of Eq. (1) for one rating.

    explicit, implicit: |R|^-1/2, |N|^-1/2.
    """
    return explicit * dot(residual, w, w.size) + implicit * dot(unrated, c, c.size)


@njit
def terms_of_item(parameters, row, base, code, levels, scratch):
    """Return `terms` of an item for a user.

    base: the user's baseline bias; code: codes of the neighbours; scratch (3, K).
    """
    size, influence = code.size, parameters.influence[row]
    residual, rated, unrated = scratch[0], scratch[1], scratch[2]
    explicit, implicit = residuals(code, levels, parameters.offsets[row], base, residual, rated, unrated)
    return terms(residual, unrated, influence[:size], influence[size:], explicit, implicit)
