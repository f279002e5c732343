"""The local regression among the methods."""

from gpukit.imputation.local import learning
from gpukit.imputation.problem import Method


def suits(problem):
    """Series in time of two vertices at least."""
    return problem.ordered and len(problem.values) > 1


METHOD = Method("local", suits, learning.settings, learning.fill, ordered=True, long=True)
