"""Thresholds of the spectral slices: the first ones, lambda_k^1, and the path lambda^(j+1) = c lambda^j."""

from typing import Literal, get_args

import numpy as np

from gpukit.base import check_choice
from gpukit.imputation.constants import FREQUENCY_FLOOR, PATH_END

Weights = Literal["slice", "common", "frequency"]
WEIGHTS = get_args(Weights)


def first_thresholds(weights, exponent, frequencies, largest):
    """Return lambda^1 (K,) float64.

    frequencies (K,): the Laplacian's eigenvalues, ascending; largest (K,): the largest singular value of each spectral
    slice. weights: 'slice', its own largest (Algorithm 1 of the graph-tensor imputation paper); 'common', the largest
    of all; 'frequency', the least multiple of (0.05 + mu_k / mu_max)^exponent that no singular value exceeds.
    """
    check_choice("weights", weights, WEIGHTS)
    if weights == "slice":
        return largest.astype(np.float64)
    if weights == "common":
        return np.full(len(largest), float(largest.max()))
    weight = frequency_weight(frequencies, max(float(frequencies.max()), 1e-300), exponent)
    return weight * float((largest / weight).max())


def next_momentum(t):
    """Return (t', beta): next t and weight of the last step in y = x + beta (x - x_before); t = 1 at first.

    Source: Beck and Teboulle, "A fast iterative shrinkage-thresholding algorithm" (2009), Eq. (4.2)-(4.3).
    """
    following = (1.0 + (1.0 + 4.0 * t * t) ** 0.5) / 2.0
    return following, (t - 1.0) / following


def frequency_weight(mu, largest, exponent):
    """Return (FREQUENCY_FLOOR + mu / largest)^exponent: relative threshold of a slice of eigenvalue mu."""
    return (FREQUENCY_FLOOR + mu / largest) ** exponent


def usual_decay(iterations):
    """Return the decay of a path that ends at PATH_END.

    PATH_END is relative to its start; the path has `iterations` steps.
    """
    return PATH_END ** (1.0 / iterations)
