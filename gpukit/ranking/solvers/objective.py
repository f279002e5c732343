"""The objective (1) for one C, with the methods of tron.minimize, computed by a session of the documents."""

from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError

EPSILON = float(np.finfo(np.float64).eps) / 2  # the unit roundoff of float64


class Preconditioner:
    """M(C) = I + 2 C G for every C, G a weighted covariance within queries: (n, n), or its diagonal (n,) alone.

    G is the generalized Hessian at w = 0, where every pair is active, except for a part of low rank per query. On
    judged documents it is so close to the Hessian that conjugate gradients need one or two steps instead of twenty; if
    few pairs stay active (orders that a linear model represents), it has little effect. Its diagonal makes conjugate
    gradients independent of the features' units.
    """

    def __init__(self, gram):
        if not np.isfinite(gram).all():
            raise DataError(
                "The features are so large that their products overflow. Give them, or the weights, in other units, or "
                "scale them (--scale minmax, scale='minmax')."
            )
        self.gram = gram

    @property
    def is_diagonal(self):
        """True if M is a diagonal matrix."""
        return self.gram.ndim == 1

    @property
    def variances(self):
        """The diagonal of G, (n,)."""
        return self.gram if self.is_diagonal else np.maximum(self.gram.diagonal(), 0.0)

    def inverse(self, C):
        """Return the function r -> M(C)^-1 r. Raises DataError if M(C) overflows."""
        with np.errstate(over="ignore"):
            diagonal = 1.0 + 2.0 * C * self.variances
        check_not_too_large(C, diagonal)
        if self.is_diagonal:
            return lambda r: r / diagonal
        root = 1.0 / np.sqrt(diagonal)
        solve = _solver((2.0 * C * self.gram * root) * root[:, None], root * root)
        return lambda r: root * solve(root * r)


def _solver(scaled, ridge):
    """Return the function r -> (scaled + diag(ridge))^-1 r of a positive semidefinite matrix of unit scale.

    A ridge added for rounding keeps the factor positive definite if columns are linearly dependent.
    """
    rounding = 1e-15  # of a matrix of unit scale, per row
    from scipy.linalg import cho_factor, cho_solve  # numpy's version wakes BLAS threads, which then wait busily

    added = rounding * len(ridge)
    while True:
        try:
            factor = cho_factor(scaled + np.diag(ridge + added), lower=True, overwrite_a=True)
            return lambda r: cho_solve(factor, r)
        except np.linalg.LinAlgError:
            added *= 100.0


def check_not_too_large(C, numbers):
    """Raise DataError if numbers overflowed because of C."""
    if not np.isfinite(numbers).all():
        raise DataError(
            f"With C={C:g} the objective is beyond the largest number of float64. Choose a smaller C or smaller "
            "weights, or scale the features (--scale deviation, scale='deviation')."
        )


class Objective:
    """f(w) = w'w / 2 + C sum over pairs of max(0, 1 - w'(x_i - x_j))^2, Eq. (1); see tron.py for the methods.

    size: the Size of the documents.
    """

    def __init__(self, session, C, preconditioner=None, size=None):
        self.session, self.C, self.n, self.size = session, C, session.n, size or Size.unknown(session.n)
        self.preconditioner = preconditioner
        self.inverse = preconditioner.inverse(C) if preconditioner else None
        self.exact = preconditioner is None or preconditioner.is_diagonal

    def evaluate(self, w):
        """Return (f, gradient (n,)): Eq. (6), (7)."""
        self.session.move(w)
        row = self._walk(w, 1.0)
        with np.errstate(over="ignore", invalid="ignore"):
            f, gradient = 0.5 * float(w @ w) + self.C * max(float(row[-1]), 0.0), w + 2.0 * self.C * row[:-1]
            check_not_too_large(self.C, [f, gradient @ gradient])
        return f, gradient

    def product(self, v):
        """Return (H v (n,), v'H v): Eq. (8) at the last evaluated point.

        Two or three preconditioned steps tolerate products in float32; hundreds of plain ones would become more.
        """
        row = self._walk(v, 0.0, self.exact)
        with np.errstate(over="ignore", invalid="ignore"):
            image, curvature = v + 2.0 * self.C * row[:-1], float(v @ v) + 2.0 * self.C * float(row[-1])
        return image, curvature

    def target(self):
        """Return 2 C X'A'e (n,) at the last evaluated point: H times the Newton point."""
        return -2.0 * self.C * self._walk(np.zeros(self.n), 1.0)[:-1]

    def _walk(self, v, margin, exact=True):
        row = self.session.walk(v, margin, exact=exact)
        row[self.size.constant] = 0.0  # rounding errors of a feature that is in no pair's difference
        return row

    def floor(self, w, f, gradient, C=None):
        """Return a lower bound of min f, for a C (None: its own) that is not smaller than its own.

        The loss of each pair at w, times 2 C, is a point of the dual problem, and so is t times that for any t > 0.
        With the loss L, u = w - gradient and the sum S of the multipliers, min f >= t S - t^2 (u'u / 2 + L).
        """
        u, loss, share = w - gradient, f - 0.5 * float(w @ w), 1.0 if C is None else self.C / C
        total, below = float(w @ u) + 2.0 * loss, float(u @ u) + 2.0 * loss * share
        if not (total > 0.0 and below > 0.0):
            return 0.0
        t, noise = total / below, self.noise(w, f)
        cross = 2.0 * EPSILON * self.C * float(np.sqrt(self.size.squares(w)) * np.sqrt(self.size.squares(u)))
        return max(0.5 * t * total - 2.0 * t * noise - t * t * (cross + 2.0 * share * noise), 0.0)

    def score_noise(self, w):
        """Return a bound of the rounding error of scores, relative to a margin of 1."""
        return EPSILON * self.size.score(w)

    def noise(self, w, f):
        """Return a bound of the rounding error of f(w): of scores, and of sums over pairs that cancel."""
        loss, pairs, score = max(f - 0.5 * float(w @ w), 0.0), self.C * self.size.pairs, self.size.score(w)
        sums = self.C * self.size.squares(w)
        return EPSILON * (f + sums + self.score_error(pairs, loss, score))

    def score_error(self, pairs, loss, score):
        """Return the effect of rounding of scores on the loss, over EPSILON."""
        return 4.0 * score * float(np.sqrt(pairs) * np.sqrt(loss)) + 4.0 * EPSILON * pairs * score * score

    def sharp(self, w):
        """Return (f(w), a bound of its error), with f added pair by pair; None if this is not possible."""
        self.session.move(w)
        loss = self.session.pair_loss()
        if loss is None:
            return None
        loss, pairs, score = self.C * loss, self.C * self.size.pairs, self.size.score(w)
        f = 0.5 * float(w @ w) + loss
        return f, EPSILON * (2.0 * f + self.score_error(pairs, loss, score))

    def softest(self):
        """Return the C at which no feature's loss curves f more than w'w / 2."""
        return 1.0 / max(2.0 * float(self.preconditioner.variances.max()), 1e-300)

    def at(self, C):
        """Return the Objective of the same documents at another C, without a preconditioner."""
        return Objective(self.session, C, None, self.size)


class Size(NamedTuple):
    """Bounds of the documents.

    pairs: the sum of the weights of all pairs; largest (n,): the largest magnitude of each feature; spread (n,): the
    root of its squares, added over both documents of all pairs; constant (k,): the columns that are in no pair's
    difference.
    """

    pairs: float
    largest: np.ndarray
    spread: np.ndarray
    constant: np.ndarray

    @staticmethod
    def unknown(n):
        """Return the Size of documents without known bounds."""
        return Size(0.0, np.zeros(n), np.zeros(n), np.zeros(0, np.int64))

    def score(self, w):
        """Return a bound of a score at w, 1 at least."""
        return 1.0 + float(self.largest @ np.abs(w))

    def squares(self, w):
        """Return a bound of the squares that sums over pairs add up and subtract at w."""
        root = float(np.sqrt(self.pairs)) + float(self.spread @ np.abs(w))
        return root * root
