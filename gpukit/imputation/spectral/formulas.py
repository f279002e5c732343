"""Scalar maths of the imputation, for numbers and numpy arrays alike; the thresholding itself is in gpukit.svt."""

FLOOR = 0.05  # of a frequency weight, so that the smoothest slices are thresholded too
LAST = 1e-3  # lambda at the end of a path whose decay is not given, as a share of its start


def next_momentum(t):
    """(t', beta): the sequence and the weight of the last step in y = x + beta (x - x_before); t = 1 at the start.

    Source: Beck and Teboulle, "A fast iterative shrinkage-thresholding algorithm" (2009), Eq. (4.2)-(4.3).
    """
    following = (1.0 + (1.0 + 4.0 * t * t) ** 0.5) / 2.0
    return following, (t - 1.0) / following


def frequency_weight(mu, largest, exponent):
    """(FLOOR + mu / largest)^exponent: how much more a rough slice (eigenvalue mu) is thresholded than a smooth one."""
    return (FLOOR + mu / largest) ** exponent


def usual_decay(iterations):
    """The c with which a path of that many steps ends at LAST of its start."""
    return LAST ** (1.0 / iterations)
