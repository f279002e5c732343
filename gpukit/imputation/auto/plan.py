"""The plan of an imputation, and imputation by a plan."""

from typing import NamedTuple

import numpy as np

from gpukit._pool import by_rows
from gpukit.imputation.auto.calibration import apply_bends
from gpukit.imputation.auto.ensemble import weighted_mean
from gpukit.imputation.auto.error_features import compute_features
from gpukit.imputation.auto.gap_kinds import kinds
from gpukit.imputation.auto.growth import changes_beyond
from gpukit.imputation.auto.judging import filled, run_concurrently
from gpukit.imputation.auto.methods import BY_NAME
from gpukit.imputation.auto.uncertainty import Deviations

MIX = "mix"


class Plan(NamedTuple):
    """Selected methods and everything needed to impute with them.

    members: [(name, setting)]. shares (KINDS, members). bends (2, 2, KNOTS). deviations: Deviations. rows:
    [judging.Row], best first. notes: [text]. units: units.Units of the original problem, or None.
    """

    members: list
    shares: np.ndarray
    bends: np.ndarray
    deviations: Deviations
    rows: list
    notes: list
    units: object = None

    @property
    def method(self):
        """Name of the selected method, or 'mix' for a mean or corrected estimates."""
        alone = len(self.members) == 1 and not self.bends.any()
        return self.members[0][0] if alone else MIX


def attributes_of(plan):
    """Return {attribute: value} of a GraphImputer that report a Plan; None: of the method 'spectral' without one."""
    if plan is None:
        return {"method_": "spectral", "report_": [], "coverage_": {}, "notes_": []}
    coverage = plan.deviations.coverage
    return {"method_": plan.method, "report_": plan.rows, "coverage_": coverage, "notes_": plan.notes}


class Imputed(NamedTuple):
    """estimate, deviation: (N, T) float64."""

    estimate: np.ndarray
    deviation: np.ndarray


def estimates_of(problem, plan, known=None):
    """Return [(N, T)] estimates of the members; known: {name: (N, T)} of those computed before."""
    estimates = dict(known or {})
    remaining = [(BY_NAME[name], setting) for name, setting in plan.members if name not in estimates]
    computed = run_concurrently(
        problem,
        [method for method, _ in remaining],
        lambda index: filled(remaining[index][0], problem, remaining[index][1]),
    )
    estimates |= {method.name: estimate for (method, _), estimate in zip(remaining, computed)}
    return [estimates[name] for name, _ in plan.members]


def combine_members(problem, plan, estimates):
    """Return Imputed from the estimates of the members, in original units.

    The deviation of an observed value is 0.
    """
    kind, missing, deviation = kinds(problem), ~problem.seen, np.zeros(problem.seen.shape)
    estimate, field = np.empty(missing.shape), np.empty(missing.shape)

    def fill_rows(rows):
        mean = weighted_mean([one[rows] for one in estimates], plan.shares, kind[rows])
        estimate[rows] = apply_bends(plan.bends, mean, kind[rows])
        field[rows] = np.where(problem.seen[rows], problem.values[rows], estimate[rows])

    by_rows(fill_rows, missing.shape)
    features, changes = compute_features(problem, field, estimates, missing), changes_beyond(problem, missing)
    deviation[missing] = plan.deviations.at(kind[missing], features, changes)
    return Imputed(*((estimate, deviation) if problem.units is None else problem.units.back(estimate, deviation)))
