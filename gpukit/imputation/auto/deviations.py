"""How far off a filled value is likely to be: a standard deviation, learned from what was hidden.

    deviation = scale of the kind * exp(strength * beta' (f - mean of f) / spread of f)

f: logarithms of what errors grow with (signs.py), beta by least squares of log |error|, one for vertices that are
hidden whole and one for all other values; the strength of each is the one that tells a fold's errors best when learned
on the other folds. The scale of a kind is such that the middle 90 % of a normal distribution has 90 % of its errors,
on folds that it was not learned on; of few vertices that are hidden whole a little more, as one more would need (Vovk
et al., Algorithmic Learning in a Random World, 2005). Runs in time need no more: of days to come, the folds farther in
err more than what they stand for. No deviation is 0: that nothing differed so far does not say that nothing will.
"""

from typing import NamedTuple

import numpy as np

from gpukit._pool import by_rows
from gpukit.imputation.auto.places import KINDS, NEVER
from gpukit.imputation.auto.signs import SIGNS

ENOUGH = 50  # errors of a kind
MANY = 400  # errors of a group, to learn beta from
RIDGE = 0.02  # of the errors' number
LEAST = 0.1  # of the mean |error|: smaller ones count as that
WIDEST = 2.0  # of the exponent
FARTHEST = 2.0  # spreads of a sign from its mean: beyond them nothing was learned
SAME = 1e-6  # of the values' size: a standard deviation below it is that of a constant
STRENGTHS = (1.0, 0.5, 0.0)
WIDENED = (0.7, 3.0)  # by how much scales may turn out too small on folds that they were not learned on
MOST = 20_000  # errors that this is told from
SHARE, MOST_SHARE = 0.9, 0.95  # of the errors on those folds, that are to lie within the intervals
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

    def some(self, chosen):
        """Those of an index or a mask."""
        return Errors(*(part[chosen] for part in self))


def together(parts):
    """Errors of all folds."""
    return Errors(*map(np.concatenate, zip(*parts)))


def constant(deviation):
    """Deviations that are one number everywhere."""
    return Deviations(np.full(KINDS, deviation), flat(), {})


def least_of(values, count):
    """What no scale is less than: what values usually differ by, or are, over the square of how many were found out."""
    size, usual = float(np.abs(values).mean()), float(values.std())
    usual = usual if usual > SAME * size else size or 1.0
    return usual / (1 + count) ** 2


def flat():
    """A law that says nothing."""
    law = np.zeros((2, 3, SIGNS))
    law[:, 1] = 1.0
    return law


def learned(parts, units=MANY, least=0.0):
    """Deviations of [Errors], a fold each; units: how many vertices were hidden whole; least: no scale is below it."""
    errors, step = together(parts), max(1, sum(len(part.residuals) for part in parts) // MOST)
    few = [part.some(slice(None, None, step)) for part in parts]
    if len(few) < 2:
        found, told, sizes = fitted(errors, (1.0, 1.0)), errors, None
    else:
        told, strengths = together(few), strengths_of(few)
        found, sizes = fitted(errors, strengths), left_out(few, strengths)
    sizes = found.at(told.kinds, told.signs) if sizes is None else sizes
    one_more = min(MOST_SHARE, SHARE * (1.0 + 1.0 / max(units, 1)))
    factors = [widened(told, sizes, told.kinds == NEVER, one_more), widened(told, sizes, told.kinds != NEVER, SHARE)]
    by_kind = found.by_kind * np.where(np.arange(KINDS) == NEVER, *factors)
    sizes = np.maximum(sizes * np.where(told.kinds == NEVER, *factors), least)
    shares = {share: coverage(told.residuals, sizes, z) for share, z in ((0.5, HALF), (0.9, WIDE))}
    return Deviations(np.maximum(by_kind, least), found.law, shares)


def fitted(errors, strengths):
    """Deviations of Errors without a coverage; strengths of the law, of vertices that are hidden whole and others."""
    law = flat()
    for group, strength in enumerate(strengths):
        some = (errors.kinds == NEVER) == (group == 0)
        if np.count_nonzero(some) >= MANY:
            law[group] = law_of(np.abs(errors.residuals[some]), errors.signs[some])
            law[group, 2] *= strength
    shrunk = np.exp(-exponents(law, errors.kinds, errors.signs)) * errors.residuals
    return Deviations(scales(shrunk, errors.kinds), law, {})


def left_out(parts, strengths):
    """(values,) deviations of the values of all folds, as learned on the others."""
    others = [together(parts[:at] + parts[at + 1 :]) for at in range(len(parts))]
    return np.concatenate([fitted(rest, strengths).at(part.kinds, part.signs) for rest, part in zip(others, parts)])


def strengths_of(parts):
    """The strengths with which the folds' errors are told best by the others."""
    told, best = together(parts), []
    tried = [left_out(parts, (strength, strength)) for strength in STRENGTHS]
    for group in (told.kinds == NEVER, told.kinds != NEVER):
        scores = [surprise(told.residuals[group], sizes[group]) for sizes in tried]
        best.append(STRENGTHS[int(np.argmin(scores))] if group.any() else 1.0)
    return tuple(best)


def surprise(residuals, deviations):
    """The mean width of 90 % intervals and, tenfold twice, how far beyond them errors lie (Gneiting and Raftery, JASA
    102, 2007)."""
    half = WIDE * deviations
    return float((half + 10.0 * np.maximum(np.abs(residuals) - half, 0.0)).mean()) if len(residuals) else 0.0


def widened(errors, sizes, some, share):
    """The factor by which deviations (values,) of some errors are to be multiplied, that intervals hold a share."""
    if np.count_nonzero(some) < ENOUGH:
        return 1.0
    needed = np.abs(errors.residuals[some]) / np.maximum(sizes[some], 1e-300)
    return float(np.clip(np.quantile(needed, share) / WIDE, *WIDENED))


def law_of(sizes, signs):
    """(3, SIGNS): mean and spread of signs, and beta."""
    mean, spread = signs.mean(axis=0), np.maximum(signs.std(axis=0), 1e-9)
    X = (signs - mean) / spread
    y = np.log(sizes + LEAST * sizes.mean() + 1e-300)
    G = X.T @ X + RIDGE * len(y) * np.eye(SIGNS)
    return np.array([mean, spread, np.linalg.solve(G, X.T @ (y - y.mean()))])


def exponents(law, kinds, signs):
    """beta' (f - mean) / spread of values, within bounds."""

    def told(rows):
        mean, spread, beta = np.moveaxis(law[np.where(kinds[rows] == NEVER, 0, 1)], 1, 0)
        away = np.clip((signs[rows] - mean) / spread, -FARTHEST, FARTHEST)
        return np.clip(np.einsum("ij,ij->i", away, beta), -WIDEST, WIDEST)

    return np.concatenate(by_rows(told, signs.shape)) if len(signs) else np.zeros(0)


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
    """The deviation with which the middle 90 % of a normal distribution has 90 % of the residuals; of residuals nearly
    all of which are 0 a share of their mean."""
    sizes = np.abs(residuals)
    return max(float(np.quantile(sizes, 0.9)) / WIDE, LEAST * float(sizes.mean()))


def coverage(residuals, deviations, z):
    """The share of residuals within z deviations."""
    return float((np.abs(residuals) <= z * deviations).mean())
