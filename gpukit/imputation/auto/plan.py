"""What was decided, and a problem filled in by it."""

from typing import NamedTuple

import numpy as np

from gpukit._pool import by_rows
from gpukit.imputation.auto.calibration import apply_bends
from gpukit.imputation.auto.deviations import Deviations
from gpukit.imputation.auto.error_features import compute_features
from gpukit.imputation.auto.gap_kinds import kinds
from gpukit.imputation.auto.growth import changes_beyond
from gpukit.imputation.auto.judging import filled, side_by_side
from gpukit.imputation.auto.methods import BY_NAME
from gpukit.imputation.auto.mixing import weighted_mean

MIX = "mix"


class Plan(NamedTuple):
    """members: [(name, setting)]; shares (KINDS, members); bends (2, 2, KNOTS); deviations; rows: [judging.Row], the
    best first; notes: [text]; units: units.Units of the problem that it was made for, or None."""

    members: list
    shares: np.ndarray
    bends: np.ndarray
    deviations: Deviations
    rows: list
    notes: list
    units: object = None

    @property
    def method(self):
        """The name of what serves: a method's, or 'mix', of one method too where it is bent."""
        alone = len(self.members) == 1 and not self.bends.any()
        return self.members[0][0] if alone else MIX


class Filled(NamedTuple):
    """estimate, deviation: (N, T) float64."""

    estimate: np.ndarray
    deviation: np.ndarray


def estimates_of(problem, plan, known=None):
    """[(N, T)]: what each member fills in; known: {name: (N, T)} of those that have done so."""
    found = dict(known or {})
    rest = [(BY_NAME[name], setting) for name, setting in plan.members if name not in found]
    more = side_by_side(problem, [method for method, _ in rest], lambda at: filled(rest[at][0], problem, rest[at][1]))
    found |= {method.name: estimate for (method, _), estimate in zip(rest, more)}
    return [found[name] for name, _ in plan.members]


def joined(problem, plan, estimates):
    """Filled of a problem, of its members' estimates, as values were given; the deviation is 0 where something is
    observed."""
    found, missing, deviation = kinds(problem), ~problem.seen, np.zeros(problem.seen.shape)
    estimate, field = np.empty(missing.shape), np.empty(missing.shape)

    def served(rows):
        whole = weighted_mean([one[rows] for one in estimates], plan.shares, found[rows])
        estimate[rows] = apply_bends(plan.bends, whole, found[rows])
        field[rows] = np.where(problem.seen[rows], problem.values[rows], estimate[rows])

    by_rows(served, missing.shape)
    features, changes = compute_features(problem, field, estimates, missing), changes_beyond(problem, missing)
    deviation[missing] = plan.deviations.at(found[missing], features, changes)
    return Filled(*((estimate, deviation) if problem.units is None else problem.units.back(estimate, deviation)))
