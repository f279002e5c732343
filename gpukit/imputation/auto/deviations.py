"""How far off a filled value is likely to be: a standard deviation, learned from what was hidden.

    deviation = scale of the kind * exp(beta' (f - mean of f) / spread of f)

f: logarithms of what errors grow with (signs.py), beta by least squares of log |error|, one for vertices that are
hidden whole and one for all other values. The scale of a kind is such that the middle 90 % of a normal distribution
has 90 % of its errors.
"""

from typing import NamedTuple

import numpy as np

from gpukit.imputation.auto.places import KINDS, NEVER
from gpukit.imputation.auto.signs import SIGNS

ENOUGH = 50  # errors of a kind
MANY = 400  # errors of a group, to learn beta from
RIDGE = 0.02  # of the errors' number
LEAST = 0.1  # of the mean |error|: smaller ones count as that
OPTIMISM = 2.0  # over the number of vertices: how much too small deviations are on the vertices they were fitted to
WIDEST = 2.0  # of the exponent
WIDE, HALF = 1.6448536, 0.6744898  # deviations on either side of a normal distribution's middle 90 % and 50 %


class Deviations(NamedTuple):
    """by_kind (KINDS,) float64; law (2, 3, SIGNS) float64: mean and spread of f, and beta, of vertices that are hidden
    whole and of other values; coverage {0.5: share, 0.9: share} of hidden values within their intervals."""

    by_kind: np.ndarray
    law: np.ndarray
    coverage: dict

    def at(self, kinds, signs):
        """Deviations of values of those kinds (values,) with signs (values, SIGNS)."""
        return self.by_kind[kinds] * np.exp(exponents(self.law, kinds, signs))


class Errors(NamedTuple):
    """Of hidden values: residuals (values,), kinds (values,), signs (values, SIGNS)."""

    residuals: np.ndarray
    kinds: np.ndarray
    signs: np.ndarray


def constant(deviation):
    """Deviations that are one number everywhere."""
    return Deviations(np.full(KINDS, deviation), flat(), {})


def flat():
    """A law that says nothing."""
    law = np.zeros((2, 3, SIGNS))
    law[:, 1] = 1.0
    return law


def learned(errors, vertices=0):
    """Deviations of Errors; vertices: how many were hidden whole, whose errors are those that the law was fitted to."""
    residuals, kinds, signs = errors
    law = flat()
    for group in (0, 1):
        some = (kinds == NEVER) == (group == 0)
        if np.count_nonzero(some) >= MANY:
            law[group] = law_of(np.abs(residuals[some]), signs[some])
    shrunk = np.exp(-exponents(law, kinds, signs)) * residuals
    by_kind = scales(shrunk, kinds)
    by_kind[NEVER] *= 1.0 + OPTIMISM / max(vertices, 4) if vertices else 1.0
    found = Deviations(by_kind, law, {})
    sizes = found.at(kinds, signs)
    return found._replace(coverage={share: coverage(residuals, sizes, z) for share, z in ((0.5, HALF), (0.9, WIDE))})


def law_of(sizes, signs):
    """(3, SIGNS): mean and spread of signs, and beta."""
    mean, spread = signs.mean(axis=0), np.maximum(signs.std(axis=0), 1e-9)
    X = (signs - mean) / spread
    y = np.log(sizes + LEAST * sizes.mean() + 1e-300)
    G = X.T @ X + RIDGE * len(y) * np.eye(SIGNS)
    return np.array([mean, spread, np.linalg.solve(G, X.T @ (y - y.mean()))])


def exponents(law, kinds, signs):
    """beta' (f - mean) / spread of values, within bounds."""
    mean, spread, beta = np.moveaxis(law[np.where(kinds == NEVER, 0, 1)], 1, 0)
    return np.clip(np.einsum("ij,ij->i", (signs - mean) / spread, beta), -WIDEST, WIDEST)


def scales(residuals, kinds):
    """(KINDS,) scales of residuals: of a kind where it has enough, else of all like it, else of all."""
    by_kind = np.full(KINDS, scale(residuals))
    for group in (kinds == NEVER, kinds != NEVER):
        if np.count_nonzero(group) >= ENOUGH:
            by_kind[NEVER if kinds[group][0] == NEVER else slice(NEVER + 1, None)] = scale(residuals[group])
    for kind in range(KINDS):
        if np.count_nonzero(kinds == kind) >= ENOUGH:
            by_kind[kind] = scale(residuals[kinds == kind])
    return by_kind


def scale(residuals):
    """The deviation with which the middle 90 % of a normal distribution has 90 % of the residuals."""
    return float(np.quantile(np.abs(residuals), 0.9)) / WIDE


def coverage(residuals, deviations, z):
    """The share of residuals within z deviations."""
    return float((np.abs(residuals) <= z * deviations).mean())
