"""What was decided, and a problem filled in by it."""

from typing import NamedTuple

import numpy as np

from gpukit.imputation.auto.deviations import Deviations
from gpukit.imputation.auto.judging import filled
from gpukit.imputation.auto.methods import BY_NAME
from gpukit.imputation.auto.mixing import combined
from gpukit.imputation.auto.places import kinds

MIX = "mix"


class Plan(NamedTuple):
    """members: [(name, setting)]; shares (KINDS, members); deviations; rows: [judging.Row], the best
    first; notes: [text]."""

    members: list
    shares: np.ndarray
    deviations: Deviations
    rows: list
    notes: list

    @property
    def method(self):
        """The name of what serves: a method's, or 'mix'."""
        return self.members[0][0] if len(self.members) == 1 else MIX


class Filled(NamedTuple):
    """estimate, deviation: (N, T) float64."""

    estimate: np.ndarray
    deviation: np.ndarray


def fill(problem, plan):
    """Filled of a problem by a plan."""
    estimates = [filled(BY_NAME[name], problem, setting) for name, setting in plan.members]
    found = kinds(problem)
    return Filled(combined(estimates, plan.shares, found), plan.deviations.by_kind[found])
