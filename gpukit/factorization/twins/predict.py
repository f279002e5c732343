"""Eq. (1) for pairs of rows."""

import numpy as np

from gpukit.factorization.model.layout import BASE, BIAS, EXTRA
from gpukit.factorization.twins.influence import terms_of_item
from gpukit.factorization.twins.rows import dot
from gpukit.scheduler import by_block


@by_block(lambda pairs: pairs.major.size)
def predict_pairs(start, stop, pairs, parameters, predicted):
    """Twin of kernels.predict.predict_pairs."""
    n, size = parameters.Q.shape[1] - EXTRA, pairs.codes.shape[1]
    scratch = np.empty((3, size), np.float32)
    for t in range(start, stop):
        row = pairs.major[t]
        p, q = parameters.P[row], parameters.Q[pairs.minor[t]]
        value = dot(p, q, n) + p[n + BIAS] + q[n + BIAS]
        if size:
            value += terms_of_item(parameters, row, q[n + BASE], pairs.codes[t], pairs.levels, scratch)
        predicted[t] = value
