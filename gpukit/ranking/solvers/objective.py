"""The objective (1) for one C, in the terms of tron.minimize, on top of a session that answers for the documents."""

import numpy as np

from gpukit.errors import DataError

WIDEST = 1024  # features up to which the preconditioner's eigenvectors are computed


class Preconditioner:
    """M(C) = I + 2 C G for every C from one eigendecomposition of G (n, n), a covariance inside queries.

    G is the generalized Hessian at w = 0, where every pair is active, but for a part of low rank a query. On judged
    documents it stays so near to the Hessian that conjugate gradients need one or two steps in place of twenty; where
    few pairs stay active (orders that a linear model gets right) it brings little.
    """

    def __init__(self, gram):
        from scipy.linalg import eigh  # numpy's wakes BLAS threads that then wait busily, on cores that training wants

        if not np.isfinite(gram).all():
            raise DataError(
                "The features are so large that their products overflow. Give them in other units, or scale them "
                "(--scale minmax, scale='minmax')."
            )
        values, self.vectors = eigh(gram)
        self.values = np.maximum(values, 0.0)

    def inverse(self, C):
        """The function r -> M(C)^-1 r."""
        scale = 1.0 / (1.0 + 2.0 * C * self.values)
        return lambda r: self.vectors @ (scale * (self.vectors.T @ r))


class Objective:
    """f(w) = w'w / 2 + C sum over pairs of max(0, 1 - w'(x_i - x_j))^2, Eq. (1); tron.py has the three questions."""

    def __init__(self, session, C, preconditioner=None):
        self.session, self.C = session, C
        self.inverse = preconditioner.inverse(C) if preconditioner else None

    def evaluate(self, w):
        """(f, gradient (n,)): Eq. (6), (7)."""
        self.session.move(w)
        row = self.session.walk(w, 1.0)
        return 0.5 * float(w @ w) + self.C * float(row[-1]), w + 2.0 * self.C * row[:-1]

    def product(self, v):
        """(H v (n,), v'H v): Eq. (8) at the last point evaluated.

        Two or three preconditioned steps bear products in float32; hundreds of plain ones would become more.
        """
        row = self.session.walk(v, 0.0, exact=self.inverse is None)
        return v + 2.0 * self.C * row[:-1], float(v @ v) + 2.0 * self.C * float(row[-1])
