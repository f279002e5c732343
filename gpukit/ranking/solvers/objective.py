"""The objective (1) for one C, in the terms of tron.minimize, on top of a session that answers for the documents."""

import numpy as np

from gpukit.errors import DataError

WIDEST = 1024  # features up to which the preconditioner is a full matrix
ROUNDING = 1e-15  # of a matrix of unit scale, per row


class Preconditioner:
    """M(C) = I + 2 C G for every C, G a weighted covariance inside queries: (n, n), or its diagonal (n,) alone.

    G is the generalized Hessian at w = 0, where every pair is active, but for a part of low rank a query. On judged
    documents it is so close to the Hessian that conjugate gradients need one or two steps in place of twenty; where
    few pairs stay active (orders that a linear model gets right) it brings little. Its diagonal makes conjugate
    gradients independent of the features' units.
    """

    def __init__(self, gram):
        if not np.isfinite(gram).all():
            raise DataError(
                "The features are so large that their products overflow. Give them in other units, or scale them "
                "(--scale minmax, scale='minmax')."
            )
        self.gram = gram

    @property
    def is_diagonal(self):
        """True if M is a diagonal matrix."""
        return self.gram.ndim == 1

    def inverse(self, C):
        """Return the function r -> M(C)^-1 r. Raises DataError if M(C) overflows."""
        with np.errstate(over="ignore"):
            diagonal = 1.0 + 2.0 * C * (self.gram if self.is_diagonal else np.maximum(self.gram.diagonal(), 0.0))
        check_not_too_large(C, diagonal)
        if self.is_diagonal:
            return lambda r: r / diagonal
        root = 1.0 / np.sqrt(diagonal)
        solve = _solver((2.0 * C * self.gram * root) * root[:, None], root * root)
        return lambda r: root * solve(root * r)


def _solver(scaled, ridge):
    """Return the function r -> (scaled + diag(ridge))^-1 r of a positive semidefinite matrix of unit scale.

    The ridge that is added for rounding keeps the factor positive definite where columns depend on each other.
    """
    from scipy.linalg import cho_factor, cho_solve  # numpy's wakes BLAS threads that then wait busily

    added = ROUNDING * len(ridge)
    while True:
        try:
            factor = cho_factor(scaled + np.diag(ridge + added), lower=True, overwrite_a=True)
            return lambda r: cho_solve(factor, r)
        except np.linalg.LinAlgError:
            added *= 100.0


def check_not_too_large(C, numbers):
    """Raise DataError where C made numbers overflow."""
    if not np.isfinite(numbers).all():
        raise DataError(
            f"With C={C:g} the objective is beyond the largest number of float64. Choose a smaller C, or scale the "
            "features (--scale deviation, scale='deviation')."
        )


class Objective:
    """f(w) = w'w / 2 + C sum over pairs of max(0, 1 - w'(x_i - x_j))^2, Eq. (1); tron.py has the three questions."""

    def __init__(self, session, C, preconditioner=None):
        self.session, self.C = session, C
        self.inverse = preconditioner.inverse(C) if preconditioner else None
        self.exact = preconditioner is None or preconditioner.is_diagonal

    def evaluate(self, w):
        """(f, gradient (n,)): Eq. (6), (7)."""
        self.session.move(w)
        row = self.session.walk(w, 1.0)
        with np.errstate(over="ignore", invalid="ignore"):
            f, gradient = 0.5 * float(w @ w) + self.C * float(row[-1]), w + 2.0 * self.C * row[:-1]
        check_not_too_large(self.C, np.append(gradient, f))
        return f, gradient

    def product(self, v):
        """(H v (n,), v'H v): Eq. (8) at the last point evaluated.

        Two or three preconditioned steps bear products in float32; hundreds of plain ones would become more.
        """
        row = self.session.walk(v, 0.0, exact=self.exact)
        return v + 2.0 * self.C * row[:-1], float(v @ v) + 2.0 * self.C * float(row[-1])
