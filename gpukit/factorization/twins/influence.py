"""The neighbourhood's terms of Eq. (1); an item's influence is w, then c."""

from gpukit._jit import njit
from gpukit.factorization.model.layout import NO_NEIGHBOR
from gpukit.factorization.solvers.sgd import formulas
from gpukit.factorization.solvers.sgd.formulas import ZERO


@njit
def residuals(code, levels, offset, base, residual):
    """residual[k] = r - b of rated neighbours, else 0; returns (rated, unrated)."""
    rated, unrated = 0, 0
    for k in range(code.size):
        known = code[k] != 0 and code[k] != NO_NEIGHBOR
        residual[k] = levels[code[k]] - offset[k] - base if known else ZERO
        rated += known
        unrated += code[k] == 0
    return rated, unrated


@njit
def terms(code, residual, influence, explicit, implicit):
    """Terms 2 and 3 of Eq. (1) for one rating; explicit, implicit: |R|^-1/2, |N|^-1/2."""
    size = code.size
    told, silent = ZERO, ZERO
    for k in range(size):
        told += residual[k] * influence[k]
        silent += influence[size + k] if code[k] == 0 else ZERO
    return explicit * told + implicit * silent


@njit
def terms_of_item(parameters, row, base, code, levels, residual):
    """`terms` of an item for a user with this baseline bias and these codes of its neighbours."""
    rated, unrated = residuals(code, levels, parameters.offsets[row], base, residual)
    explicit, implicit = formulas.set_scale(rated), formulas.set_scale(unrated)
    return terms(code, residual, parameters.influence[row], explicit, implicit)
