"""Scalar formulas of the imputation, for numbers and numpy arrays; gpukit.svt has the thresholding."""

FLOOR = 0.05  # of a frequency weight, so that the smoothest slices are thresholded too
LAST = 1e-3  # lambda at the end of a path with the default decay, relative to its start


def next_momentum(t):
    """Return (t', beta): next t and weight of the last step in y = x + beta (x - x_before); t = 1 at first.

    Source: Beck and Teboulle, "A fast iterative shrinkage-thresholding algorithm" (2009), Eq. (4.2)-(4.3).
    """
    following = (1.0 + (1.0 + 4.0 * t * t) ** 0.5) / 2.0
    return following, (t - 1.0) / following


def frequency_weight(mu, largest, exponent):
    """Return (FLOOR + mu / largest)^exponent: relative threshold of a slice of eigenvalue mu."""
    return (FLOOR + mu / largest) ** exponent


def usual_decay(iterations):
    """Return the decay of a path that ends at LAST.

    LAST is relative to its start; the path has `iterations` steps.
    """
    return LAST ** (1.0 / iterations)
