"""Oracle of the thresholding: LAPACK's singular values in float64, slice after slice."""

import numpy as np


def threshold(X, lam):
    """[(U (S - lam)+ V', S)] of every slice."""
    results = []
    for matrix, bound in zip(np.asarray(X, np.float64), np.broadcast_to(np.asarray(lam, np.float64), len(X))):
        U, S, V = np.linalg.svd(matrix, full_matrices=False)
        results.append(((U * np.maximum(S - bound, 0)) @ V, S))
    return results
