"""Standard deviations of imputed values, learned from hidden values.

    deviation = scale of the kind * exp(strength * beta' (f - mean of f) / spread of f)

f holds the logarithms of error_features.py. beta is fitted by least squares to log |error|, separately for vertices
hidden whole, for values beyond the ends of their series, and for all others. The strength of each group is the one with
the lowest interval score on folds left out of the fit. Values beyond an end are a kind of their own. Their deviation
grows with the distance as the series itself changes (growth.py), to a power selected in the same way.

The scale of a kind is chosen so that the central 90 % interval of a normal distribution contains 90 % of its errors on
folds left out of the fit. With few vertices hidden whole, or few folds with values beyond an end, the share is raised
to cover one more unit (Vovk et al., Algorithmic Learning in a Random World, 2005). No deviation is 0: equal hidden
values do not prove that the next one is equal too.
"""

from typing import NamedTuple

import numpy as np

from gpukit._pool import by_rows
from gpukit.imputation.auto.error_features import SIGNS
from gpukit.imputation.auto.gap_kinds import KINDS

BEYOND = KINDS  # the kind of values before the first and after the last of their series
WHOLE, INNER, ENDS = 0, 1, 2  # groups of kinds, each with a law
GROUPS = np.r_[WHOLE, np.full(KINDS - 1, INNER), ENDS]
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
    """by_kind (KINDS + 1,) float64; law (3, 3, SIGNS) float64: mean and spread of f, and beta, of the groups; coverage
    {0.5: share, 0.9: share} of hidden values within their intervals; growth (2,) float64: the usual change beyond ends,
    and the power of it that deviations there grow with; zeros where values beyond ends are like others."""

    by_kind: np.ndarray
    law: np.ndarray
    coverage: dict
    growth: np.ndarray

    def at(self, kinds, signs, changes=None):
        """Deviations of values of those kinds (values,) with signs (values, SIGNS); changes (values,): the usual change
        of values beyond an end, else 0."""
        if changes is None or self.growth[0] == 0:
            return self.by_kind[kinds] * np.exp(exponents(self.law, kinds, signs))
        kinds = np.where(changes > 0, BEYOND, kinds)
        return self.by_kind[kinds] * np.exp(exponents(self.law, kinds, signs)) * grown(changes, self.growth)


class Errors(NamedTuple):
    """Of hidden values: residuals (values,), kinds (values,), signs (values, SIGNS)."""

    residuals: np.ndarray
    kinds: np.ndarray
    signs: np.ndarray

    def some(self, chosen):
        """Those of an index or a mask."""
        return Errors(*(part[chosen] for part in self))

    def relative(self, changes, growth):
        """Errors with values beyond an end as that kind, their residuals relative to how they grow."""
        kinds = np.where(changes > 0, BEYOND, self.kinds)
        return self._replace(residuals=self.residuals / grown(changes, growth), kinds=kinds)


def together(parts):
    """Errors of all folds."""
    return Errors(*map(np.concatenate, zip(*parts)))


def constant(deviation):
    """Deviations that are one number everywhere."""
    return Deviations(np.full(KINDS + 1, deviation), flat(), {}, steady())


def steady():
    """The growth of deviations that do not differ beyond ends."""
    return np.zeros(2)


def grown(changes, growth):
    """Factors by which deviations grow with the changes (values,) beyond an end; 1 where a change is 0."""
    usual, power = growth
    return np.where(changes > 0, changes / usual, 1.0) ** power


def least_of(values, count):
    """What no scale is less than: what values usually differ by, or are, over the square of how many were found out."""
    largest = float(np.abs(values).max()) or 1.0
    values = values / largest  # whose squares may be summed
    size, usual = float(np.abs(values).mean()) * largest, float(values.std()) * largest
    usual = usual if usual > SAME * size else size or 1.0
    return usual / (1 + count) ** 2


def flat():
    """A law that says nothing."""
    law = np.zeros((3, 3, SIGNS))
    law[:, 1] = 1.0
    return law


def learn_growing(parts, changes, units=MANY, least=0.0):
    """Deviations of [Errors] and the [changes (values,)] of growth.py, a fold each; others as learned()."""
    above = np.concatenate(changes)
    count, above = len(above), above[above > 0]
    if len(above) < min(ENOUGH, max(1, count // 2)):
        return learned(parts, units, least)
    found, usual = [], np.exp(np.log(above).mean())
    for power in STRENGTHS if sum(bool((one > 0).any()) for one in changes) > 1 else STRENGTHS[:1]:
        growth = np.array([usual, power])
        relative = [part.relative(one, growth) for part, one in zip(parts, changes)]
        found.append((surprise_beyond(relative, changes, growth), growth, relative))
    _, growth, relative = min(found, key=lambda one: one[0])
    return learned(relative, units, least)._replace(growth=growth)


def surprise_beyond(parts, changes, growth):
    """The surprise of the errors beyond an end, as known from the other folds; 0 of one fold."""
    step = max(1, sum(len(part.residuals) for part in parts) // MOST)
    few = [part.some(slice(None, None, step)) for part in parts]
    beyond = [part.some(part.kinds == BEYOND) for part in few]
    if sum(bool(len(part.residuals)) for part in beyond) < 2:
        return 0.0
    factors = grown(np.concatenate([one[::step] for one in changes]), growth)[together(few).kinds == BEYOND]
    beyond = [part for part in beyond if len(part.residuals)]
    sizes = left_out(beyond, strengths_of(beyond))
    return surprise(factors * together(beyond).residuals, factors * sizes)


def learned(parts, units=MANY, least=0.0):
    """Deviations of [Errors], a fold each; units: how many vertices were hidden whole; least: no scale is below it."""
    errors, step = together(parts), max(1, sum(len(part.residuals) for part in parts) // MOST)
    few = [part.some(slice(None, None, step)) for part in parts]
    if len(few) < 2:
        found, told, sizes = fitted(errors, STRENGTHS[:1] * 3), errors, None
    else:
        told, strengths = together(few), strengths_of(few)
        found, sizes = fitted(errors, strengths), left_out(few, strengths)
    sizes = found.at(told.kinds, told.signs) if sizes is None else sizes
    ends = sum(bool((part.kinds == BEYOND).any()) for part in parts)
    wanted = one_more(units), SHARE, one_more(ends)
    factors = np.array([widened(told, sizes, GROUPS[told.kinds] == group, one) for group, one in enumerate(wanted)])
    by_kind, sizes = found.by_kind * factors[GROUPS], np.maximum(sizes * factors[GROUPS[told.kinds]], least)
    shares = {share: coverage(told.residuals, sizes, z) for share, z in ((0.5, HALF), (0.9, WIDE))}
    return Deviations(np.maximum(by_kind, least), found.law, shares, steady())


def one_more(count):
    """The share of `count` units that is to be held, that one more is held with the probability SHARE."""
    return min(MOST_SHARE, SHARE * (1.0 + 1.0 / max(count, 1)))


def fitted(errors, strengths):
    """Deviations of Errors without a coverage; strengths of the law, one a group."""
    law = flat()
    for group, strength in enumerate(strengths):
        some = GROUPS[errors.kinds] == group
        if np.count_nonzero(some) >= MANY:
            law[group] = law_of(np.abs(errors.residuals[some]), errors.signs[some])
            law[group, 2] *= strength
    shrunk = np.exp(-exponents(law, errors.kinds, errors.signs)) * errors.residuals
    return Deviations(scales(shrunk, errors.kinds), law, {}, steady())


def left_out(parts, strengths):
    """(values,) deviations of the values of all folds, as learned on the others."""
    others = [together(parts[:at] + parts[at + 1 :]) for at in range(len(parts))]
    return np.concatenate([fitted(rest, strengths).at(part.kinds, part.signs) for rest, part in zip(others, parts)])


def strengths_of(parts):
    """The strengths with which the folds' errors are told best by the others."""
    told, best = together(parts), []
    tried = [left_out(parts, (strength,) * 3) for strength in STRENGTHS]
    for group in (GROUPS[told.kinds] == number for number in (WHOLE, INNER, ENDS)):
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
    if np.count_nonzero(some) < ENOUGH and not (errors.kinds[some] == BEYOND).any():
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
        mean, spread, beta = np.moveaxis(law[GROUPS[kinds[rows]]], 1, 0)
        away = np.clip((signs[rows] - mean) / spread, -FARTHEST, FARTHEST)
        return np.clip(np.einsum("ij,ij->i", away, beta), -WIDEST, WIDEST)

    return np.concatenate(by_rows(told, signs.shape)) if len(signs) else np.zeros(0)


def scales(residuals, kinds):
    """(KINDS + 1,) scales of residuals: of a kind where it has enough, else of all of its group, else of all; of values
    beyond an end always their own, where there are any."""
    by_kind = np.full(KINDS + 1, scale(residuals))
    for group in (WHOLE, INNER):
        some = GROUPS[kinds] == group
        if np.count_nonzero(some) >= ENOUGH:
            by_kind[GROUPS == group] = scale(residuals[some])
    for kind in range(KINDS + 1):
        count = np.count_nonzero(kinds == kind)
        if count >= ENOUGH or (kind == BEYOND and count):
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
