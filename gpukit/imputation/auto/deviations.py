"""How far off a filled value is likely to be: a standard deviation, from what was hidden of its kind."""

from typing import NamedTuple

import numpy as np

from gpukit.imputation.auto.places import KINDS, NEVER

ENOUGH = 50  # residuals of a kind
WIDE = 1.6448536  # deviations on either side of a normal distribution's middle 90 %
HALF = 0.6744898


class Deviations(NamedTuple):
    """by_kind (KINDS,) float64; coverage: {0.5: share, 0.9: share} of hidden values within their intervals."""

    by_kind: np.ndarray
    coverage: dict


def learned(residuals, kinds, whole):
    """Deviations of residuals (values,) of those kinds; whole: the deviation where there are none."""
    by_kind = np.full(KINDS, scale(residuals) if len(residuals) else whole)
    for group in (kinds == NEVER, kinds != NEVER):
        if np.count_nonzero(group) >= ENOUGH:
            by_kind[NEVER if kinds[group][0] == NEVER else slice(NEVER + 1, None)] = scale(residuals[group])
    for kind in range(KINDS):
        if np.count_nonzero(kinds == kind) >= ENOUGH:
            by_kind[kind] = scale(residuals[kinds == kind])
    found = by_kind[kinds]
    return Deviations(by_kind, {share: coverage(residuals, found, z) for share, z in ((0.5, HALF), (0.9, WIDE))})


def scale(residuals):
    """The deviation with which the middle 90 % of a normal distribution has 90 % of the residuals."""
    return float(np.quantile(np.abs(residuals), 0.9)) / WIDE


def coverage(residuals, deviations, z):
    """The share of residuals within z deviations; NaN of none."""
    return float((np.abs(residuals) <= z * deviations).mean()) if len(residuals) else float("nan")
