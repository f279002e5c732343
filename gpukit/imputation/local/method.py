"""The local regression among the methods."""

from gpukit.imputation.local import learning
from gpukit.imputation.local.plan import MOST
from gpukit.imputation.problem import Method


def suits(problem):
    """Series in time of two vertices at least."""
    return problem.ordered and len(problem.values) > 1


def settings(problem):
    """How many other series are looked at."""
    return [{"neighbors": MOST}]


METHOD = Method("local", suits, settings, learning.fill, ordered=True)
