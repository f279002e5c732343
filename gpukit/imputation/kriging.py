"""Kriging: a Gaussian process over the graph, with a Matern covariance of its normalized Laplacian.

    K = (I + rho L)^-nu                                 L: the graph's normalized Laplacian; nu = 1, 2 or 4
    x = m + K_mo (K_oo + tau I)^-1 (y - m)              m: the mean by generalized least squares

rho, nu and tau minimize the leave-one-out errors, in closed form: with Q = A - A 1 1' A / 1' A 1 and
A = (K_oo + tau I)^-1 they are (Q y)_i / Q_ii. Series in time are transformed to frequencies by a cosine transform along
the columns. Each band of frequencies has its own rho, nu and tau, because slow changes have a longer correlation length
and a better signal-to-noise ratio. Unobserved vertices are then predicted from all others.

Matrices use LAPACK. Cost: an inverse of the observed vertices' matrix for each of GRID.
Source: Borovitskiy et al., "Matern Gaussian processes on graphs", AISTATS 2021; leave-one-out: Dubrule, Math. Geol. 15
(1983).
"""

import itertools
from typing import NamedTuple

import numpy as np

from gpukit._pool import parallel_map, single_threaded_blas
from gpukit.imputation.auto.judging import error_of, simple_estimate
from gpukit.imputation.constants import FEWEST_OBSERVED, KRIGING_GRID_VERTICES, KRIGING_VERTICES
from gpukit.imputation.problem import Method
from gpukit.imputation.simple import level

GRID = tuple(itertools.product((0.3, 1.0, 3.0, 10.0, 30.0), (1.0, 2.0, 4.0), (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)))
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


def solve_system(K, seen, tau):
    """Return Solved of the observed vertices (n,)."""
    A = np.linalg.inv(K[np.ix_(seen, seen)] + tau * np.eye(len(seen)))
    a = A.sum(axis=1)
    return Solved(A, a, A - np.outer(a, a) / a.sum())


def leave_one_out_errors(solution, values):
    """Return (n, columns): leave-one-out errors of values (n, columns)."""
    return (solution.Q @ values) / np.diag(solution.Q)[:, None]


def predict(K, solution, seen, values):
    """Return (N, columns): predictions at all vertices from values (n, columns) at the observed ones."""
    mean = solution.a @ values / solution.a.sum()
    return mean + K[:, seen] @ (solution.A @ (values - mean))


def variance(K, solution, seen, tau):
    """Return (N,) float64: variance of a new value at each vertex, relative to the field's mean variance."""
    part = K[:, seen]
    uncovered = 1.0 - part @ solution.a
    variances = np.diag(K) + tau - np.einsum("ij,ij->i", part @ solution.A, part) + uncovered**2 / solution.a.sum()
    return np.maximum(variances, 1e-12)


def best_parameters(laplacian, seen, bands, metric):
    """Return [(rho, nu, tau)] with the least leave-one-out error of each band; bands: [values (n, columns)]."""
    small = laplacian.shape[0] <= KRIGING_GRID_VERTICES
    laws = {}
    for rho, nu, tau in GRID if small else COARSE:
        laws.setdefault((rho, nu), []).append(tau)

    def errors(law):
        K = covariance(laplacian, *law)
        solution = (solve_system(K, seen, tau) for tau in laws[law])
        return [[error_of(leave_one_out_errors(value, values), metric) for values in bands] for value in solution]

    if small:  # a matrix per thread; for large matrices all threads per matrix
        with single_threaded_blas():
            table = parallel_map(errors, laws)
    else:
        table = [errors(law) for law in laws]
    grid = [(*law, tau) for law, taus in laws.items() for tau in taus]
    return [grid[row] for row in np.concatenate(table).argmin(axis=0)]


def suits(problem):
    """Return True for graphs that are not too large and have observed vertices."""
    alive = problem.seen.any(axis=1)
    if not FEWEST_OBSERVED <= alive.sum() or len(alive) > KRIGING_VERTICES:
        return False
    most_work = 1 << 36  # additions, for columns with different masks
    patterns = np.unique(np.packbits(problem.seen, axis=0), axis=1).shape[1]  # distinct columns of the mask
    return bool((problem.ordered and not alive.all()) or patterns * alive.sum() ** 3 < most_work)


def settings(problem):
    """Return the setting with the least leave-one-out errors: [{"bands": [[first, rho, nu, tau]]}]."""
    alive = np.flatnonzero(problem.seen.any(axis=1))
    whole, edges = complete_values(problem), bands(problem)
    rng = np.random.default_rng(problem.options.seed)
    parts = [slice(*pair) for pair in zip(edges, edges[1:])]
    samples = [whole[alive, part] for part in parts]
    samples = [part[:, np.sort(rng.permutation(part.shape[1])[:64])] for part in samples]
    metric = "squared" if problem.ordered else problem.options.metric
    laws = best_parameters(problem.place.basis.laplacian, alive, samples, metric)
    return [{"bands": [[int(edge), *parameters] for edge, parameters in zip(edges, laws)]}]


def complete_values(problem):
    """Return (N, T): the values filled in by a simple method; for series in time their cosine transform."""
    filled = np.where(problem.seen, problem.values, simple_estimate(problem))
    if not problem.ordered:
        return filled
    from scipy import fft

    return fft.dct(filled, axis=1, norm="ortho")


def bands(problem):
    """Return the first column of each band and the end; one band for columns without order."""
    count = problem.values.shape[1]
    if not problem.ordered:
        return [0, count]
    inner = 2.0 ** np.arange(3, np.log2(count), 1.5)
    return [0, 1, *(int(edge) for edge in inner if edge < 0.7 * count), count] if count > 1 else [0, 1]


def fill(problem, setting):
    """Return (N, T): for series in time predictions of unobserved vertices, else of each column's missing values."""
    return in_time(problem, setting) if problem.ordered else predict_by_column(problem, setting)


def in_time(problem, setting):
    """Predict each band of frequencies."""
    from scipy import fft

    alive, whole = np.flatnonzero(problem.seen.any(axis=1)), complete_values(problem)
    out, count = np.zeros(whole.shape), whole.shape[1]
    edges = [part[0] for part in setting["bands"]] + [count]
    bands = sorted(zip(setting["bands"], edges, edges[1:]), key=lambda band: band[0][1:])
    laplacian, law = problem.place.basis.laplacian, None
    for (_, rho, nu, tau), first, end in bands:  # bands are sorted by covariance
        if law != (rho, nu):
            K, law = covariance(laplacian, rho, nu), (rho, nu)
        out[:, first:end] = predict(K, solve_system(K, alive, tau), alive, whole[alive, first:end])
    out = fft.idct(out, axis=1, norm="ortho")
    out[alive] = np.nan
    return out


def predict_by_column(problem, setting):
    """Predict columns with equal masks together."""
    _, rho, nu, tau = setting["bands"][0]
    K, out = covariance(problem.place.basis.laplacian, rho, nu), np.full(problem.values.shape, np.nan)
    _, group = np.unique(np.packbits(problem.seen, axis=0), axis=1, return_inverse=True)
    base = level(problem, "both")
    for number in range(group.max() + 1):
        columns = np.flatnonzero(group == number)
        seen = np.flatnonzero(problem.seen[:, columns[0]])
        if len(seen) >= FEWEST_OBSERVED:
            rest = (problem.values - base)[np.ix_(seen, columns)]
            out[:, columns] = base[:, columns] + predict(K, solve_system(K, seen, tau), seen, rest)
    return out


NEEDS = (
    f"at most {KRIGING_VERTICES:,} vertices, {FEWEST_OBSERVED} or more of them observed, and without an order of time "
    "few different columns of the mask"
)
METHOD = Method("kriging", suits, settings, fill, host=True, needs=NEEDS)
