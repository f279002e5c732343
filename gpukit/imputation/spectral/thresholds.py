"""Start of each spectral slice's threshold, lambda_k^1; the path is lambda^(j+1) = c lambda^j."""

from typing import Literal, get_args

import numpy as np

from gpukit.base import check_choice
from gpukit.imputation.spectral.formulas import frequency_weight

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
