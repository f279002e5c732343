"""The method 'local'."""

from gpukit.imputation.local import learning
from gpukit.imputation.problem import Method


def suits(problem):
    """Return True for series in time of two vertices at least."""
    return problem.ordered and len(problem.values) > 1


METHOD = Method("local", suits, learning.settings, learning.fill, ordered=True, long=True)
