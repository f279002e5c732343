"""Covariances on a graph, their leave-one-out errors, and predictions of unobserved vertices."""

import itertools
from typing import NamedTuple

import numpy as np

from gpukit._pool import alone, shared_out
from gpukit.imputation.auto.judging import error_of
from gpukit.imputation.kriging.plan import MANY

RHOS, NUS, TAUS = (0.3, 1.0, 3.0, 10.0, 30.0), (1.0, 2.0, 4.0), (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
GRID = tuple(itertools.product(RHOS, NUS, TAUS))
COARSE = tuple(itertools.product((1.0, 3.0, 10.0), (2.0,), (0.01, 0.1)))


class Solved(NamedTuple):
    """A = (K_oo + tau I)^-1 (n, n); a = A 1 (n,); Q = A - a a' / 1' a."""

    A: np.ndarray
    a: np.ndarray
    Q: np.ndarray


def covariance(laplacian, rho, nu):
    """Return K (N, N) of a normalized Laplacian (N, N), dense or csr, mean variance 1; nu an integer."""
    dense = laplacian.toarray() if hasattr(laplacian, "toarray") else laplacian
    K = np.linalg.matrix_power(np.linalg.inv(np.eye(len(dense)) + rho * dense), int(nu))
    return K / np.mean(np.diag(K))


def solved(K, seen, tau):
    """Return Solved of the observed vertices (n,)."""
    A = np.linalg.inv(K[np.ix_(seen, seen)] + tau * np.eye(len(seen)))
    a = A.sum(axis=1)
    return Solved(A, a, A - np.outer(a, a) / a.sum())


def left_out(found, values):
    """Return (n, columns): leave-one-out errors of values (n, columns)."""
    return (found.Q @ values) / np.diag(found.Q)[:, None]


def predict(K, found, seen, values):
    """Return (N, columns): predictions at all vertices from values (n, columns) at the observed ones."""
    mean = found.a @ values / found.a.sum()
    return mean + K[:, seen] @ (found.A @ (values - mean))


def variance(K, found, seen, tau):
    """Return (N,) float64: variance of a new value at each vertex, relative to the field's mean variance."""
    part = K[:, seen]
    uncovered = 1.0 - part @ found.a
    variances = np.diag(K) + tau - np.einsum("ij,ij->i", part @ found.A, part) + uncovered**2 / found.a.sum()
    return np.maximum(variances, 1e-12)


def best(laplacian, seen, bands, metric):
    """Return [(rho, nu, tau)] with the least leave-one-out error of each band; bands: [values (n, columns)]."""
    small = laplacian.shape[0] <= MANY
    laws = {}
    for rho, nu, tau in GRID if small else COARSE:
        laws.setdefault((rho, nu), []).append(tau)

    def errors(law):
        K = covariance(laplacian, *law)
        found = (solved(K, seen, tau) for tau in laws[law])
        return [[error_of(left_out(solution, values), metric) for values in bands] for solution in found]

    if small:  # a matrix per thread; for large matrices all threads per matrix
        with alone():
            table = shared_out(errors, laws)
    else:
        table = [errors(law) for law in laws]
    grid = [(*law, tau) for law, taus in laws.items() for tau in taus]
    return [grid[row] for row in np.concatenate(table).argmin(axis=0)]
