"""A row's step for a rating; twin of kernels/team.py."""

from gpukit._jit import njit
from gpukit.factorization.model.layout import BIAS, SQUARES
from gpukit.factorization.solvers.sgd import formulas
from gpukit.factorization.solvers.sgd.formulas import ZERO


@njit
def _add_factors(change, p, q, n, error, rate, decay):
    """change += Eq. (5) for the factors of one rating."""
    for f in range(n):
        change[f] += formulas.factor_change(p[f], q[f], error, rate, decay)


@njit
def add(row, change):
    """row += change; change = 0."""
    for f in range(change.size):
        row[f] += change[f]
        change[f] = ZERO


@njit(inline="always")
def learn(change, p, q, n, error, rates):
    """change += Eq. (5) for the factors, the bias and the sum of squared errors of one rating of the row p."""
    squares = p[n + SQUARES]
    rate = formulas.row_rate(rates.factor, rates.factor_gain, squares)
    _add_factors(change, p, q, n, error, rate, rates.factor_decay)
    rate = formulas.row_rate(rates.bias, rates.bias_gain, squares)
    change[n + BIAS] += formulas.bias_change(p[n + BIAS], error, rate, rates.bias_decay)
    change[n + SQUARES] += error * error
