"""The neighbourhood's terms of Eq. (1); an item's influence is w, then c.

What the codes say is turned into numbers first (0 or 1: rated, unrated), by which all that follows is multiplied: codes
are too random for branches to be predicted, and loops without branches become vector instructions.

What calls further functions is inlined, because a call counts the arrays that it is given as references.
"""

import numpy as np

from gpukit._jit import njit
from gpukit.factorization.model.layout import NO_NEIGHBOR
from gpukit.factorization.solvers.sgd import formulas
from gpukit.factorization.solvers.sgd.formulas import ONE, ZERO
from gpukit.factorization.twins.rows import dot, total

U8 = np.uint8


@njit
def _look_up(code, levels, residual):
    """residual[k] = the level of a code; apart, because it is the one step that cannot be done by vectors."""
    for k in range(code.size):
        residual[k] = levels[code[k]]


@njit
def _mark(code, offset, base, residual, rated, unrated):
    """residual[k] = r - b for the level that stands there, rated[k] = 1 for rated neighbours, else both 0; unrated[k]
    = 1 for unrated ones, else 0."""
    for k in range(code.size):
        known, value = U8(code[k] - U8(1)) < U8(NO_NEIGHBOR - 1), residual[k] - offset[k] - base
        residual[k] = value if known else ZERO
        rated[k] = ONE if known else ZERO
        unrated[k] = ONE if code[k] == 0 else ZERO


@njit(inline="always")
def residuals(code, levels, offset, base, residual, rated, unrated):
    """r - b of the neighbours and which are rated, as _mark has it; returns (|R|^-1/2, |N|^-1/2) of Eq. (1)."""
    _look_up(code, levels, residual)
    _mark(code, offset, base, residual, rated, unrated)
    return formulas.set_scale(total(rated)), formulas.set_scale(total(unrated))


@njit(inline="always")
def terms(residual, unrated, w, c, explicit, implicit):
    """Terms 2 and 3 of Eq. (1) for one rating; explicit, implicit: |R|^-1/2, |N|^-1/2."""
    return explicit * dot(residual, w, w.size) + implicit * dot(unrated, c, c.size)


@njit
def terms_of_item(parameters, row, base, code, levels, scratch):
    """`terms` of an item for a user with this baseline bias and these codes of its neighbours; scratch (3, K)."""
    size, influence = code.size, parameters.influence[row]
    residual, rated, unrated = scratch[0], scratch[1], scratch[2]
    explicit, implicit = residuals(code, levels, parameters.offsets[row], base, residual, rated, unrated)
    return terms(residual, unrated, influence[:size], influence[size:], explicit, implicit)
