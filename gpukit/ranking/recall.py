"""Scores of linear combinations of recent vectors, without a pass over the documents.

A Newton step is a combination of the directions whose products with the Hessian conjugate gradients have computed, and
each of these products needed the scores of its direction.
"""

import numpy as np

MOST = 8  # vectors; each has its scores, 8 bytes per document
ROUNDING = 16 * float(np.finfo(np.float64).eps)  # of a feature's weight, relative to its summands


class Recall:
    """Vectors (n,) with their scores (l,), which stay on their device.

    No vector is itself a combination, so rounding errors do not accumulate.
    """

    def __init__(self):
        self.vectors, self.scores = [], []

    def add(self, v, scores):
        """Keep v, not 0, and a copy of its scores; without the earlier ones if there are MOST."""
        if len(self.vectors) == MOST:
            self.vectors, self.scores = [], []
        self.vectors.append(v.copy())
        self.scores.append(scores.copy())

    def combine(self, w, out):
        """Set out (l,) to the scores of w; return False if w is not a combination to within rounding."""
        factors = self.factors(w)
        if factors is None:
            return False
        out[:] = 0.0
        for factor, scores in zip(factors.tolist(), self.scores, strict=True):
            out += factor * scores
        return True

    def factors(self, w):
        """Return the factor of each vector in w, or None."""
        if not w.any():
            return np.zeros(len(self.vectors))
        if not self.vectors or not np.isfinite([*self.vectors, w]).all():
            return None
        from scipy.linalg import lstsq

        cancellation = 64  # largest summand, relative to the combination
        norms = np.linalg.norm(self.vectors, axis=1)
        columns = np.transpose(self.vectors) / norms
        sizes = np.abs(columns).sum(axis=1)  # so that all features count alike, in any units
        if w[sizes == 0.0].any():
            return None
        columns, w = columns[sizes > 0.0] / sizes[sizes > 0.0, None], w[sizes > 0.0] / sizes[sizes > 0.0]
        factors = lstsq(columns, w)[0]
        factors += lstsq(columns, w - columns @ factors)[0]
        largest = np.abs(factors).max()
        is_close = np.abs(w - columns @ factors).max() <= ROUNDING * largest
        return factors / norms if is_close and largest <= cancellation * np.abs(w).max() else None
